"""Overhead: a worker driven by the coordinator, against a plain script of its framework."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rosetta import environments
from rosetta.bench import conditions, launch
from rosetta.bench.participant import step_record
from rosetta.coordinator import Lease, Router, Session, SharedMemory, prepare_batch
from rosetta.errors import UserError
from rosetta.harness.blocks import interleaved, interval_of, per_second, speed_ratio
from rosetta.harness.companion import Companion
from rosetta.harness.extent import Series
from rosetta.harness.record import Overhead
from rosetta.harness.workload import Workload, workload
from rosetta.protocol.messages import Result
from rosetta.results import Phase, RunDirectory
from rosetta.workers import Worker

PLAIN = Path(__file__).with_name("plain")
_COMPARED_STEPS = 10
"""Later, rounding has its way, and right networks drift apart."""


def script_of(worker: Worker) -> Path:
    """The plain script of a worker's framework. Raises UserError where there is none."""
    script = PLAIN / f"train_{worker.name}.py"
    if not script.is_file():
        there = ", ".join(scripts())
        raise UserError(f"no plain script for {worker.name}: there is one for {there}")
    return script


def scripts() -> list[str]:
    """The workers that there is a plain script for."""
    return sorted(script.stem.removeprefix("train_") for script in PLAIN.glob("train_*.py"))


def measure(
    worker: Worker,
    task: str,
    series: Series,
    *,
    threads: int,
    seed: int,
    directory: RunDirectory,
    scratch: Path,
) -> Overhead:
    """Train `task` in both ways, in turns. The worker's environment must be there.

    Raises WorkerFailureError, CompanionError.
    """
    load = workload(task, (series.blocks + 1) * series.size, seed)
    router, shared = Router(), SharedMemory.where_possible()
    session = Session(router, worker.name, "harness", threads=threads, shared=shared)
    try:
        plain = Plain(worker, load, series.size, threads, directory, scratch)
        with plain.process:
            driven = Driven(session, load, series.size, shared, directory)
            driven.start(worker, scratch)
            plain.process.ready()
            contenders = {"driven": driven.block, "plain": plain.block}
            times = interleaved(contenders, series.blocks, seed)
            session.end()
            session.bye()
        own = [driven.own_ns[number] for number in range(1, series.blocks + 1)]
        difference = loss_difference(driven.losses, plain.losses)
        return result(times, own, difference, series, load.task.training.batch_size)
    finally:
        session.close()
        router.close()
        if shared:
            shared.close()


def result(
    times: dict[str, list[int]],
    own: Sequence[int],
    difference: float,
    series: Series,
    batch_size: int,
) -> Overhead:
    """The figures, from the nanoseconds of each block."""
    ratio = speed_ratio(times["driven"], times["plain"])
    samples = series.size * batch_size
    return Overhead(
        ratio=ratio.value,
        interval=interval_of(ratio),
        own_clock_ratio=speed_ratio(own, times["plain"]).value,
        driven_samples_per_s=per_second(times["driven"], samples),
        plain_samples_per_s=per_second(times["plain"], samples),
        blocks=series.blocks,
        steps_per_block=series.size,
        loss_difference=difference,
    )


def loss_difference(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Largest relative difference of the first losses: whether it is the same training at all."""
    compared = range(min(_COMPARED_STEPS, len(ours), len(theirs)))
    return max((abs(ours[i] - theirs[i]) / abs(theirs[i]) for i in compared), default=np.inf)


class Driven:
    """The worker in its session, as a bench drives it."""

    def __init__(
        self,
        session: Session,
        load: Workload,
        size: int,
        shared: SharedMemory | None,
        directory: RunDirectory,
    ) -> None:
        self.losses: list[float] = []
        self.own_ns: dict[int, int] = defaultdict(int)
        """copy_ns + step_ns of each block."""
        self._session = session
        self._load = load
        self._size = size
        self._shared = shared
        self._directory = directory

    def start(self, worker: Worker, scratch: Path) -> None:
        """Start its process and have the network built."""
        name, log = f"{worker.name}.{self._load.task.name}", self._directory.log(worker.name)
        started = time.monotonic()
        file = launch.launch(self._session, worker, name=name, scratch=scratch, log=log)
        self._session.await_hello(started)
        file.unlink()
        load = self._load
        self._session.setup(load.task, load.parameters, seed=load.seed, dropout=True)

    def block(self, number: int) -> int:
        """Nanoseconds of a block of steps from outside: first message to last answer."""
        load, router, shared = self._load, self._session.router, self._shared
        phase: Phase = "timed" if number else "warmup"

        def on_result(answer: Result) -> None:
            self._directory.add_step(
                step_record(load.task.name, self._session.name, answer, block=number, phase=phase)
            )
            self.losses.append(answer.loss)
            self.own_ns[number] += answer.copy_ns + answer.step_ns

        with Lease(shared) as lease:
            batches = [
                prepare_batch(
                    router.next_id(),
                    step,
                    lease.share(load.inputs[step]),
                    lease.share(load.labels[step]),
                    shared=shared,
                )
                for step in range(number * self._size, (number + 1) * self._size)
            ]
            started = time.perf_counter_ns()
            self._session.train(batches, on_result)
            return time.perf_counter_ns() - started


class Plain:
    """The plain script, under the same conditions: threads, variables, processors."""

    def __init__(
        self,
        worker: Worker,
        load: Workload,
        size: int,
        threads: int,
        directory: RunDirectory,
        scratch: Path,
    ) -> None:
        self.losses: list[float] = []
        self._size = size
        file = scratch / f"{load.task.name}.npz"
        load.save(file)
        interpreter = environments.status(worker).interpreter
        assert interpreter is not None  # its environment was made
        self.process = Companion(
            [interpreter, script_of(worker), file, load.task.name, str(threads), str(load.seed)],
            log=directory.log(f"{worker.name}.plain"),
            environment=launch.variables(threads, worker),
            processors=conditions.processors(threads, "cpu"),
        )

    def block(self, number: int) -> int:
        """Nanoseconds of a block of steps, by the script's own clock around its loop."""
        answer = self.process.ask(number * self._size, (number + 1) * self._size)
        self.losses += answer["losses"]
        return int(answer["ns"])
