"""One worker in one task: its session, its steps so far, and the row that comes of them."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median_low

from rosetta.bench.equality import ECHOED, differences
from rosetta.bench.plan import TaskPlan
from rosetta.coordinator import Session, WorkerFailureError
from rosetta.proof import Verdict
from rosetta.protocol.messages import Hello, Ready, Result
from rosetta.results import Evaluation, Phase, Row, Step, median_and_mad, quantile
from rosetta.results.drift import Seen
from rosetta.results.records import Proof, ProofMeasurement, RowStatus
from rosetta.tasks.forms import unusual
from rosetta.tasks.operations import step_operations
from rosetta.workers import Worker


@dataclass
class Participant:
    """Mutable record of one worker while its task runs."""

    worker: Worker
    session: Session | None = None
    status: RowStatus | None = None
    """None as long as it takes part."""
    reason: str | None = None
    proof: Proof = "unproved"
    proof_detail: str | None = None
    proof_measurements: list[ProofMeasurement] = field(default_factory=list)
    training: bool = False
    """A process of its own is in training."""
    repeats: int = 0
    """Trainings that were begun."""
    ready: Ready | None = None
    steps: int = 0
    final_loss: float | None = None
    first_steps_ns: list[int] = field(default_factory=list)
    """copy_ns + step_ns of the first step of each repeat."""
    work_ns: dict[tuple[int, int], array[int]] = field(
        default_factory=lambda: defaultdict(lambda: array("Q"))
    )
    """copy_ns + step_ns of the timed steps, by repeat and block; a sum needs the 64th bit."""
    step_ns: array[int] = field(default_factory=lambda: array("q"))
    copy_ns: array[int] = field(default_factory=lambda: array("q"))
    wait_ns: array[int] = field(default_factory=lambda: array("q"))
    """Without the first step of each turn, which waited for the others' turns."""
    cpu_ns: int = 0
    """Processor time of the turns whose steps are all timed, …"""
    cpu_steps: int = 0
    """… and how many steps they had."""
    seen: dict[tuple[int, int], Seen] = field(default_factory=dict)
    """What was seen of the timed turns, by repeat and block."""
    differences: dict[str, None] = field(default_factory=dict)
    """Sentences about conditions that aren't those that were set, each once."""
    evaluations: list[Evaluation] = field(default_factory=list)
    """Of the last repeat."""
    peak_memory_bytes: int = 0
    peak_device_memory_bytes: int = 0
    device_looked_at_s: float = -math.inf
    """When its memory on the device was last looked at, by the monotonic clock."""

    @property
    def name(self) -> str:
        """The worker's name."""
        return self.worker.name

    @property
    def running(self) -> bool:
        """It takes part: it was started, and has neither failed nor finished."""
        return self.training and self.session is not None and self.status is None

    def check_conditions(self) -> None:
        """Keep what isn't as it was set; looking through its threads takes a millisecond."""
        if self.session:
            self.differences |= dict.fromkeys(differences(self.session, self.ready))

    def begins(self) -> None:
        """A training in a fresh process begins."""
        self.training, self.evaluations = True, []
        self.repeats += 1

    def ends(self) -> None:
        """The process has left in good order."""
        self.training = False

    def finished(self) -> None:
        """All repeats are done."""
        if self.status is None:
            self.status = "ok"

    def failed(self, failure: WorkerFailureError) -> None:
        """It can't go on; what it did so far is kept."""
        self.status, self.reason = failure.status, failure.reason

    def skipped(self, reason: str) -> None:
        """It never started."""
        self.status, self.reason = "skipped", reason

    def proved(self, verdict: Verdict) -> None:
        """The proof has ended; a network that isn't the same doesn't go on unless allowed to."""
        if verdict.unproved:
            self.proof_detail = verdict.unproved
            return
        self.proof_measurements = [
            ProofMeasurement(
                quantity=one.quantity,
                deviation=one.deviation if math.isfinite(one.deviation) else None,
                tolerance=one.tolerance,
            )
            for one in verdict.measurements
        ]
        failure = verdict.first_failure
        self.proof = "different" if failure else "same"
        self.proof_detail = str(failure) if failure else None

    def add(self, step: Step, result: Result, *, opens_turn: bool) -> None:
        """Count one step; `opens_turn` for the first one after other workers had theirs."""
        self.steps += 1
        self.final_loss = step.loss
        if step.phase == "first":
            self.first_steps_ns.append(result.copy_ns + result.step_ns)
        if step.phase == "timed":
            self.work_ns[step.repeat, step.block].append(result.copy_ns + result.step_ns)
            self.step_ns.append(result.step_ns)
            self.copy_ns.append(result.copy_ns)
            if not opens_turn:
                self.wait_ns.append(result.wait_ns)

    def row(self, plan: TaskPlan, device: str, threads: int, peak: float | None = None) -> Row:
        """The row as it stands now; ratios come later, when all rows are there.

        `peak`: floating-point operations a second of matrix products on those threads.
        """
        hello = self.session.hello if self.session else None
        batch_size = plan.task.training.batch_size
        step_median, step_mad = _median_and_mad(self.step_ns)
        work_median, _ = _median_and_mad(array("Q", (t for b in self.work_ns.values() for t in b)))
        return Row(
            worker=self.name,
            task=plan.task.name,
            data=plan.dataset.label,
            device=hello.device if hello else device,
            threads=self.ready.threads if self.ready else threads,
            plane=self.session.plane if self.session and hello else None,
            status=self.status or "interrupted",
            reason=self.reason,
            proof=self.proof,
            proof_detail=self.proof_detail,
            proof_measurements=self.proof_measurements,
            harness=self.worker.harness,
            tuned=self.worker.tuned,
            forward_only=not plan.task.trains,
            steps=self.steps,
            timed_steps=len(self.step_ns),
            repeats=max(1, self.repeats),
            batch_size=batch_size,
            samples_per_s=batch_size * 1e9 / work_median if work_median else None,
            step_ns_median=step_median,
            step_ns_mad=step_mad,
            step_ns_p90=quantile(self.step_ns, 0.9),
            step_ns_p99=quantile(self.step_ns, 0.99),
            cpu_ns_per_step=self.cpu_ns // self.cpu_steps if self.cpu_steps else None,
            peak_share=self._peak_share(plan, work_median, peak),
            wait_ns_median=_median_and_mad(self.wait_ns)[0],
            copy_ns_median=_median_and_mad(self.copy_ns)[0],
            first_step_ns=median_low(self.first_steps_ns) if self.first_steps_ns else None,
            setup_ns=self.ready.setup_ns if self.ready else None,
            accuracy=self.evaluations[-1].accuracy if self.evaluations else None,
            evaluations=self.evaluations,
            final_loss=self.final_loss,
            peak_memory_bytes=self.peak_memory_bytes or None,
            peak_device_memory_bytes=self.peak_device_memory_bytes or None,
            framework=hello.framework if hello else None,
            framework_version=hello.framework_version if hello else None,
            language=hello.language if hello else self.worker.language,
            language_version=hello.language_version if hello else None,
            forms=hello.forms if hello else {},
            unusual_forms=unusual(plan.task, hello.forms) if hello else [],
            disclosures=_what_computes(hello) if hello else {},
        )

    def _peak_share(self, plan: TaskPlan, work_ns: int | None, peak: float | None) -> float | None:
        """Of a framework on a CPU; the peak of other devices isn't measured."""
        hello = self.session.hello if self.session else None
        if not (work_ns and peak and hello) or hello.device != "cpu" or self.worker.harness:
            return None
        operations = plan.task.training.batch_size * step_operations(plan.task)
        share = operations / (work_ns / 1e9) / peak
        # More than all of it: something else took the processors while the peak was measured, or
        # its convolutions need fewer operations than are counted (Winograd's).
        return share if share <= 1 else None


def _what_computes(hello: Hello) -> dict[str, str]:
    """What it discloses, without the echo of the conditions, which `run.json` has."""
    return {name: text for name, text in hello.disclosures.items() if name not in ECHOED}


def step_record(
    task: str,
    worker: str,
    result: Result,
    *,
    block: int,
    phase: Phase,
    attempt: int = 1,
    repeat: int = 1,
) -> Step:
    """A RESULT as one line of `steps.jsonl`."""
    return Step(
        task=task,
        worker=worker,
        step=result.step,
        phase=phase,
        block=block,
        attempt=attempt,
        repeat=repeat,
        loss=result.loss if math.isfinite(result.loss) else None,
        wait_ns=result.wait_ns,
        copy_ns=result.copy_ns,
        step_ns=result.step_ns,
        forward_ns=result.forward_ns,
        backward_ns=result.backward_ns,
    )


def _median_and_mad(values: array[int]) -> tuple[int | None, int | None]:
    return median_and_mad(values) if values else (None, None)
