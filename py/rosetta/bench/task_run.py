"""One task of a run: start the workers, train them block by block in turn, examine them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from rosetta import environments, tasks
from rosetta.bench import conditions, schedule
from rosetta.bench.accuracy import Examination
from rosetta.bench.participant import Participant, step_record
from rosetta.bench.plan import Plan, TaskPlan
from rosetta.bench.progress import Reporter
from rosetta.coordinator import (
    PreparedMessage,
    Process,
    Router,
    Session,
    WorkerFailureError,
    connection_file,
    prepare_batch,
)
from rosetta.protocol.messages import Result
from rosetta.results import Evaluation, Row, RunDirectory


class TaskRun:
    """Drives every worker through one task. Processes are fresh for each task."""

    def __init__(
        self,
        plan: Plan,
        task: TaskPlan,
        router: Router,
        directory: RunDirectory,
        reporter: Reporter,
        scratch: Path,
        unavailable: dict[str, str],
    ) -> None:
        self.participants = [Participant(worker) for worker in plan.workers]
        self._plan = plan
        self._task = task
        self._router = router
        self._directory = directory
        self._reporter = reporter
        self._scratch = scratch
        self._unavailable = unavailable
        self._connection_files: list[Path] = []

    def run(self) -> None:
        """Run the task. On any exception, Ctrl-C included, no process is left behind."""
        running = [p for p in self.participants if not self._skip(p)]
        name, label = self._task.task.name, self._task.dataset.label
        self._reporter.begin(name, label, [p.name for p in running], self._task.steps)
        try:
            self._start(running)
            self._train()
            self._part()
        finally:
            for participant in running:
                self._close(participant)
            self._reporter.end(self.rows())

    def rows(self) -> list[Row]:
        """The rows as they stand now."""
        plan = self._plan
        return [p.row(self._task, plan.device, plan.threads) for p in self.participants]

    # --- before -----------------------------------------------------------------------------------

    def _skip(self, participant: Participant) -> bool:
        task, worker = self._task.task, participant.worker
        if task.name not in worker.tasks:
            participant.skipped(f"has no task {task.name}: it has {', '.join(worker.tasks)}")
        elif worker.name in self._unavailable:
            participant.skipped(self._unavailable[worker.name])
        return participant.status == "skipped"

    def _start(self, running: list[Participant]) -> None:
        """Start all processes, so that imports overlap; then greet and set up one by one."""
        since = time.monotonic()
        for participant in running:
            with _recording(participant):
                participant.session = self._launch(participant)
        parameters = tasks.initial_parameters(self._task.task, self._plan.seed)
        for participant in self._still_running():
            with _recording(participant):
                session = _session(participant)
                session.await_hello(since)
                self._reporter.state(participant.name, "building the network")
                participant.ready = session.setup(
                    self._task.task,
                    parameters,
                    seed=self._plan.seed,
                    dropout=True,
                    threads=self._plan.threads,
                )

    def _launch(self, participant: Participant) -> Session:
        plan, worker = self._plan, participant.worker
        session = Session(
            self._router, worker.name, plan.run, deadlines=plan.deadlines, credit=plan.credit
        )
        joins = worker.name in plan.joining
        folder = self._directory.path if joins else self._scratch
        file = folder / f"{worker.name}.{self._task.task.name}.connection.json"
        connection_file.write(
            file,
            endpoint=self._router.endpoint,
            run=plan.run,
            key=session.key,
            worker=worker.name,
            device=plan.device,
            threads=plan.threads,
        )
        self._connection_files.append(file)
        if joins:
            command = f"rosetta worker {worker.name} --connect {file}"
            self._reporter.state(worker.name, f"waiting for you to start it: {command}")
            return session
        python = environments.status(worker).python
        assert python is not None  # a worker without an environment was skipped
        session.process = Process(
            worker.command(python, file),
            environments.clean_environment(conditions.variables(plan.threads)),
            self._directory.log(worker.name),
            self._scratch,
        )
        return session

    # --- training ---------------------------------------------------------------------------------

    def _train(self) -> None:
        plan, task = self._plan, self._task
        data, batch_size = task.dataset, task.task.training.batch_size
        order = tasks.Order(len(data.train), batch_size, plan.seed)
        examination = Examination(
            data.test, samples=task.test_samples, batch_size=batch_size, seed=plan.seed
        )
        epoch = task.steps_per_epoch if task.epochs else None
        for block in schedule.blocks(task.steps, warmup=plan.warmup, size=plan.block, epoch=epoch):
            # Gathered and encoded before anybody's clock runs, once for all workers.
            batches = [self._batch(order, step) for step in block.steps]
            # Only those that run take turns: whoever came after an absent one would be first twice.
            running = list(self._still_running())
            for participant in schedule.turns(running, block.number, plan.seed):
                with _recording(participant):
                    self._train_block(participant, block, batches)
                    if block.evaluate:
                        self._examine(participant, examination, block)

    def _batch(self, order: tasks.Order, step: int) -> PreparedMessage:
        rows, train = order.rows(step), self._task.dataset.train
        inputs, labels = train.inputs[rows], train.labels[rows]
        return prepare_batch(self._router.next_id(), step, inputs, labels)

    def _train_block(
        self, participant: Participant, block: schedule.Block, batches: list[PreparedMessage]
    ) -> None:
        task = self._task.task

        def took(result: Result) -> None:
            phase = schedule.phase(result.step, self._plan.warmup)
            step = step_record(task.name, participant.name, result, block=block.number, phase=phase)
            self._directory.add_step(step)
            participant.add(step, result)
            work_ns = max(1, result.copy_ns + result.step_ns)
            speed = task.training.batch_size * 1e9 / work_ns
            self._reporter.step(participant.name, step, speed)

        _session(participant).train(batches, took)

    def _examine(
        self, participant: Participant, examination: Examination, block: schedule.Block
    ) -> None:
        self._reporter.state(participant.name, "predicting the test set")
        accuracy = examination.accuracy(_session(participant), self._task.task.classes)
        samples = len(examination.labels)
        participant.evaluations.append(
            Evaluation(after_step=block.stop, samples=samples, accuracy=accuracy)
        )
        words = f"accuracy {accuracy:.3f} on {samples:,} test samples after step {block.stop}"
        self._reporter.state(participant.name, words)

    # --- after ------------------------------------------------------------------------------------

    def _part(self) -> None:
        for participant in self._still_running():
            with _recording(participant):
                session = _session(participant)
                session.sample_memory()
                session.end()
                session.bye()
                participant.status = "ok"

    def _close(self, participant: Participant) -> None:
        if participant.session:
            participant.session.close()
        while self._connection_files:
            self._connection_files.pop().unlink(missing_ok=True)

    def _still_running(self) -> Iterator[Participant]:
        return (p for p in self.participants if p.running)


class _recording:  # noqa: N801 - reads as a verb where it is used
    """Turns a worker's failure into its row's status; everything else passes through."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, WorkerFailureError):
            return False
        self._participant.failed(error)
        if self._participant.session:
            self._participant.session.close()
        return True


def _session(participant: Participant) -> Session:
    assert participant.session is not None
    return participant.session
