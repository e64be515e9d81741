"""Several `null` workers behind one coordinator's socket, on one data plane."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from numpy.typing import NDArray

from rosetta import tasks, workers
from rosetta.bench.launch import launch
from rosetta.coordinator import Lease, PreparedMessage, Router, Session, SharedMemory, prepare_batch
from rosetta.errors import UserError
from rosetta.protocol.messages import Result
from rosetta.tasks import Task

PlaneName = Literal["inline_tcp", "inline_ipc", "shm"]
TURN = 20
"""Batches that one worker gets before the next has its turn."""

Arrays = tuple[NDArray[Any], NDArray[Any]]
"""Inputs and labels of a batch."""


class Crew:
    """Real sessions with real processes. A context manager: none is left behind."""

    def __init__(
        self, plane: PlaneName, count: int, *, scratch: Path, log: Path, credit: int | None = None
    ) -> None:
        """Start `count` workers. Raises UserError where `plane` can't be had here."""
        self.plane = plane
        self.sessions: list[Session] = []
        self._under_way = False
        self._step = 0
        self.shared = SharedMemory.where_possible() if plane == "shm" else None
        if plane == "shm" and self.shared is None:
            raise UserError("this system has no shared memory of the kind that is needed")
        self.router = Router("tcp://127.0.0.1:*" if plane == "inline_tcp" else None)
        try:
            self._start(count, scratch, log, credit)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        for session in self.sessions:  # all are asked before any is waited for
            if session.process:
                session.process.terminate()
        for session in self.sessions:
            session.close()
        self.router.close()
        if self.shared:
            self.shared.close()

    def setup(self, task: Task) -> None:
        """Have every worker take up `task`; their earlier one ends."""
        parameters = tasks.initial_parameters(task, 1)
        for session in self.sessions:
            if self._under_way:
                session.end()
            session.setup(task, parameters, seed=1, dropout=True)
        self._under_way = True

    def carry(self, batches: Sequence[Arrays], count: int, workers: int) -> int:
        """Nanoseconds until `count` batches, `batches` in rotation, were answered by `workers`.

        The time begins with arrays in ordinary memory and holds all that is done for each batch:
        the copy into shared memory, the headers, the messages, the answers.
        """
        started = time.perf_counter_ns()
        for first in range(0, count, TURN):
            chosen = [batches[n % len(batches)] for n in range(first, min(first + TURN, count))]
            with Lease(self.shared) as lease:
                # The first worker has each as soon as it is ready, the others find all of them.
                turn: list[PreparedMessage] = []
                made = (self.prepare(batch, lease) for batch in chosen)
                for number, session in enumerate(self.sessions[:workers]):
                    session.train(turn if number else _kept(made, turn), _nothing)
        return time.perf_counter_ns() - started

    def prepare(self, batch: Arrays, lease: Lease) -> PreparedMessage:
        """The next step's message, its arrays in shared memory where there is some."""
        inputs, labels = map(lease.share, batch)
        self._step += 1
        number = self.router.next_id()
        return prepare_batch(number, self._step, inputs, labels, shared=self.shared)

    def _start(self, count: int, scratch: Path, log: Path, credit: int | None) -> None:
        worker = workers.get("null")
        for number in range(1, count + 1):
            name = f"null-{self.plane}-{number}"
            session = Session(self.router, name, "harness", credit=credit, shared=self.shared)
            self.sessions.append(session)
            launch(session, worker, name=name, scratch=scratch, log=log)
        since = time.monotonic()
        for session in self.sessions:
            session.await_hello(since)


def _kept(
    messages: Iterable[PreparedMessage], into: list[PreparedMessage]
) -> Iterator[PreparedMessage]:
    for message in messages:
        into.append(message)
        yield message


def _nothing(result: Result) -> None:
    """Nobody wants to know what a worker says that computes nothing."""
