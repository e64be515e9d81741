"""One training of one task: workers are started, greeted, trained in turn, evaluated, and left.

Those that take part are alive together, and one computes at a time.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rosetta import tasks
from rosetta.bench import conditions, observing, schedule
from rosetta.bench.context import Context
from rosetta.bench.evaluation import Evaluator
from rosetta.bench.features import as_step
from rosetta.bench.launch import launch
from rosetta.bench.participant import Participant, step_record
from rosetta.bench.plan import TaskPlan
from rosetta.coordinator import (
    Lease,
    PreparedMessage,
    Session,
    WorkerFailureError,
    prepare_batch,
    prepare_predict,
)
from rosetta.protocol.messages import Result
from rosetta.results import Evaluation
from rosetta.tasks.forms import in_form

JOIN_SECONDS = 600.0
"""How long to wait for a worker that somebody starts by hand, its environment included."""


class Training:
    """Drives `participants` through one task, in fresh processes."""

    def __init__(
        self, context: Context, task: TaskPlan, participants: Sequence[Participant], repeat: int
    ) -> None:
        """`repeat`: the how many-th training of these workers this is, from 1."""
        self._context = context
        self._plan = context.plan
        self._task = task
        self._participants = participants
        self._repeat = repeat
        self._processors = conditions.processors(self._plan.threads, self._plan.device)
        self._connection_files: list[Path] = []

    def run(self) -> None:
        """Train. On any exception, Ctrl-C included, no process is left behind."""
        try:
            self._start()
            self._greet()
            self._set_up()
            self._train()
            self._say_bye()
        finally:
            self._close()

    # --- before -----------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start all processes before waiting for any, so that the imports overlap."""
        for participant in self._participants:
            with recording_failure(participant):
                participant.begins()
                self._launch(participant)

    def _launch(self, participant: Participant) -> None:
        worker = participant.worker
        session = participant.session = new_session(self._context, participant)
        name = f"{worker.name}.{self._task.task.name}"
        name += f".{self._repeat}" if self._repeat > 1 else ""
        if worker.name in self._plan.joining:
            file = self._context.directory.path.resolve() / f"{name}.connection.json"
            session.write_connection_file(file, elsewhere=True)
            program = Path(sys.executable).with_name("rosetta")
            command = f"{program} worker {worker.word} --connect {file}"
            self._context.reporter.note(f"{worker.name} waits for you to start it: {command}")
        else:
            log = self._context.directory.log(worker.name)
            scratch = self._context.scratch
            file = launch(session, worker, name=name, scratch=scratch, log=log)
        self._connection_files.append(file)

    def _greet(self) -> None:
        """Wait until all are there: what follows is timed, and imports would disturb it."""
        since = time.monotonic()
        for participant in self._running():
            with recording_failure(participant):
                _session(participant).await_hello(since)

    def _set_up(self) -> None:
        """The parameters are copied to where workers can read them once, whatever their number."""
        with Lease(self._context.shared) as lease:
            shared: dict[str, Mapping[str, NDArray[np.float32]]] = {}
            for participant in self._running():
                self._context.reporter.state(participant.name, "building the network")
                with recording_failure(participant):
                    session = _session(participant)
                    assert session.hello is not None  # it was greeted
                    task = in_form(self._task.task, session.hello.forms)
                    digest = task.digest()
                    if digest not in shared:
                        values = self._task.weights or tasks.initial_parameters(
                            task, self._plan.seed
                        )
                        shared[digest] = {n: lease.share(v) for n, v in values.items()}
                    participant.ready = session.setup(
                        task, shared[digest], seed=self._plan.seed, dropout=True
                    )
                    participant.check_conditions()

    # --- training ---------------------------------------------------------------------------------

    def _train(self) -> None:
        plan, task = self._plan, self._task
        evaluator = Evaluator(
            task.dataset.test,
            samples=task.test_samples,
            batch_size=task.task.training.batch_size,
            seed=plan.seed,
        )
        epoch = task.order.steps_per_epoch if task.epochs else None
        with Lease(self._context.shared) as lasting:
            if task.task.trains:
                evaluator.share(lasting)
            for block in schedule.blocks(
                task.steps, warmup=task.warmup, size=task.block, epoch=epoch
            ):
                with Lease(self._context.shared) as lease:
                    self._train_block(block, lease, evaluator)

    def _train_block(self, block: schedule.Block, lease: Lease, evaluator: Evaluator) -> None:
        # Gathered and encoded before anybody's clock runs, once for all workers.
        batches = [self._batch(step, lease) for step in block.steps]
        for plane in {_session(participant).plane for participant in self._running()}:
            for batch in batches:
                batch.frames_on(plane)
        for participant in schedule.turns(
            list(self._running()), block.number + self._repeat - 1, self._plan.seed
        ):
            with recording_failure(participant):
                self._take_turn(participant, block, batches)
                if block.evaluate and self._task.task.trains:
                    self._evaluate(participant, evaluator, block)
                elif block.evaluate and self._context.features and self._repeat == 1:
                    self._extract(participant)

    def _batch(self, step: int, lease: Lease) -> PreparedMessage:
        router, shared = self._context.router, self._context.shared
        router.pump(0)  # a signal counts here too
        rows, train = self._task.order.rows(step), self._task.dataset.train
        inputs = lease.gather(train.inputs, rows)
        if not self._task.task.trains:
            return prepare_predict(router.next_id(), inputs, shared=shared)
        labels = lease.gather(train.labels, rows)
        return prepare_batch(router.next_id(), step, inputs, labels, shared=shared)

    def _take_turn(
        self, participant: Participant, block: schedule.Block, batches: list[PreparedMessage]
    ) -> None:
        plan, task, earlier = self._task, self._task.task, self._plan.earlier
        session = _session(participant)
        attempt = earlier.attempt if earlier else 1

        def on_result(result: Result) -> None:
            # The worker computes its next step meanwhile: only what must not be lost is done here.
            phase = schedule.phase(result.step, plan.warmup)
            step = step_record(
                task.name,
                participant.name,
                result,
                block=block.number,
                phase=phase,
                attempt=attempt,
                repeat=self._repeat,
            )
            self._context.directory.add_step(step)
            participant.add(step, result, opens_turn=result.step == block.start)
            work_ns = max(1, result.copy_ns + result.step_ns)
            speed = task.training.batch_size * 1e9 / work_ns
            self._context.reporter.step(participant.name, step, speed)

        timed = schedule.phase(block.start, plan.warmup) == "timed"
        key = self._repeat, block.number
        with observing.turn(participant, key, len(batches), self._processors, timed=timed):
            if task.trains:
                session.train(batches, on_result)
            else:
                answers = session.answer_each(batches, task.outputs)
                for number, (answer, _) in zip(block.steps, answers, strict=True):
                    on_result(as_step(number, answer))
        self._context.reporter.rest()

    def _evaluate(
        self, participant: Participant, evaluator: Evaluator, block: schedule.Block
    ) -> None:
        self._context.reporter.state(participant.name, "predicting the test set")
        accuracy = evaluator.accuracy(_session(participant), self._task.task.classes)
        samples = len(evaluator.labels)
        participant.evaluations.append(
            Evaluation(after_step=block.stop, samples=samples, accuracy=accuracy)
        )
        words = f"accuracy {accuracy:.3f} on {samples:,} test samples after step {block.stop}"
        self._context.reporter.state(participant.name, words)

    def _extract(self, participant: Participant) -> None:
        self._context.reporter.state(participant.name, "features of all images")
        assert self._context.features is not None
        images = self._task.dataset.train.inputs
        self._context.features.extract(_session(participant), self._task.task, images)

    # --- after ------------------------------------------------------------------------------------

    def _say_bye(self) -> None:
        for participant in self._running():
            with recording_failure(participant):
                session = _session(participant)
                observing.sample_memory(participant, last=True)
                participant.check_conditions()
                session.end()
                session.bye()
                participant.ends()
                if session.process and session.process.exit_status():
                    participant.reason = f"{session.process.exit_reason()} (after BYE)"

    def _close(self) -> None:
        sessions = [p.session for p in self._participants if p.session]
        for session in sessions:  # all are asked before any is waited for
            if session.process:
                session.process.terminate()
        for session in sessions:
            session.close()
        for file in self._connection_files:
            file.unlink(missing_ok=True)

    def _running(self) -> Iterator[Participant]:
        return (p for p in self._participants if p.running)


def new_session(context: Context, participant: Participant) -> Session:
    """A session for a process of `participant`, with what the plan says."""
    plan = context.plan
    deadlines = plan.deadlines
    if participant.name in plan.joining:
        deadlines = dataclasses.replace(deadlines, start=max(deadlines.start, JOIN_SECONDS))
    return Session(
        context.router,
        participant.name,
        plan.run,
        device=plan.device,
        threads=plan.threads,
        deadlines=deadlines,
        credit=plan.credit,
        shared=context.shared,
    )


@contextmanager
def recording_failure(participant: Participant) -> Iterator[None]:
    """A worker's failure becomes its row's status; everything else passes through."""
    try:
        yield
    except WorkerFailureError as failure:
        participant.failed(failure)
        if participant.session:
            participant.session.close()


def _session(participant: Participant) -> Session:
    assert participant.session is not None
    return participant.session
