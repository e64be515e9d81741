"""One task of a run: prove the workers, then train them, as often as asked."""

from __future__ import annotations

from rosetta.bench import schedule
from rosetta.bench.context import Context
from rosetta.bench.participant import Participant
from rosetta.bench.plan import TaskPlan
from rosetta.bench.proving import prove_in_own_process
from rosetta.bench.training import Training, new_session, recording_failure
from rosetta.coordinator import WorkerFailureError
from rosetta.results import Row


class TaskRun:
    """Drives every worker through one task. Processes are fresh for each task and repeat."""

    def __init__(self, context: Context, task: TaskPlan) -> None:
        self.participants = [Participant(worker) for worker in context.plan.workers]
        self._context = context
        self._plan = context.plan
        self._task = task

    def run(self) -> None:
        """Run the task. On any exception, Ctrl-C included, no process is left behind."""
        chosen = [p for p in self.participants if not self._skip(p)]
        name, label = self._task.task.name, self._task.dataset.label
        reporter, repeats = self._context.reporter, self._plan.repeats
        reporter.begin(
            name,
            label,
            [p.name for p in chosen],
            self._task.steps,
            trains=self._task.task.trains,
        )
        try:
            self._prove(chosen)
            for repeat in range(1, repeats + 1):
                if repeat > 1:
                    reporter.note(f"{name}: repeat {repeat} of {repeats}")
                self._train(chosen, repeat)
            for participant in chosen:
                participant.finished()
        finally:
            reporter.end(self.rows())

    def rows(self) -> list[Row]:
        """The rows as they stand now."""
        plan, peak = self._plan, self._context.matrix_peak
        return [p.row(self._task, plan.device, plan.threads, peak) for p in self.participants]

    # --- before -----------------------------------------------------------------------------------

    def _skip(self, participant: Participant) -> bool:
        task, worker = self._task.task, participant.worker
        unavailable = self._context.unavailable
        if task.name not in worker.tasks:
            participant.skipped(f"has no task {task.name}: it has {', '.join(worker.tasks)}")
        elif worker.name in unavailable:
            participant.skipped(unavailable[worker.name])
        return participant.status == "skipped"

    def _prove(self, chosen: list[Participant]) -> None:
        """Each in a process of its own, so that nothing is warm when the clocks start.

        A worker that is started by hand can't be started twice: it stays unproved.
        """
        if not self._plan.prove:
            return
        for participant in chosen:
            if participant.worker.harness or participant.name in self._plan.joining:
                continue
            self._context.reporter.state(participant.name, "proving that it is the same network")
            with recording_failure(participant):
                session = new_session(self._context, participant)
                log = self._context.directory.log(participant.name)
                participant.proved(
                    prove_in_own_process(
                        session,
                        participant.worker,
                        self._task.task,
                        scratch=self._context.scratch,
                        log=log,
                    )
                )
                if participant.proof == "different" and not self._plan.allow_unproved:
                    sentence = f"not the same network: {participant.proof_detail}"
                    raise WorkerFailureError("failed", sentence)

    def _train(self, chosen: list[Participant], repeat: int) -> None:
        """Whoever has failed takes no further part."""
        able = [p for p in chosen if p.status is None]
        for group in schedule.groups(able, self._plan.schedule, repeat, self._plan.seed):
            Training(self._context, self._task, group, repeat).run()
