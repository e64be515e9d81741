"""Tapes: what a coordinator would send, made ahead, and whole sessions, recorded as they happen."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rosetta import tasks
from rosetta.bench.interrupts import orderly
from rosetta.bench.launch import launch
from rosetta.coordinator import Router, Session, prepare_batch, prepare_predict, prepare_setup
from rosetta.datasets import Split
from rosetta.protocol import VERSION, Arrays, encode
from rosetta.protocol.frames import Frames
from rosetta.protocol.messages import Bye, End, Hello, Message, Welcome
from rosetta.protocol.tape import FROM_COORDINATOR, FROM_WORKER, TapeWriter
from rosetta.scratch import ScratchFolder
from rosetta.tasks import Task
from rosetta.workers import Worker

READ_AFTER = (1, 4)
"""Steps after which a recorded session asks for logits and parameters: no later ones are compared.
"""


def make_tape(path: Path, task: Task, train: Split, *, steps: int, seed: int, threads: int) -> None:
    """Write WELCOME, SETUP, `steps` BATCHes, END and BYE to `path`.

    A task that goes forward only has PREDICTs instead of BATCHes. The parameters and the order of
    the batches are those of a run with the same seed.
    """
    numbers = itertools.count()
    parameters = tasks.initial_parameters(task, seed)
    order = tasks.Order(len(train), task.training.batch_size, seed)
    with TapeWriter(path) as tape:
        welcome = Welcome(id=next(numbers), re=0, protocol=VERSION, credit=1, reconnect_ns=0)
        tape.write(FROM_COORDINATOR, encode(welcome))
        setup = prepare_setup(
            next(numbers), task, parameters, seed=seed, dropout=True, threads=threads
        )
        tape.write(FROM_COORDINATOR, setup.frames)
        for step in range(steps):
            rows = order.rows(step)
            if task.trains:
                batch = prepare_batch(next(numbers), step, train.inputs[rows], train.labels[rows])
            else:
                batch = prepare_predict(next(numbers), train.inputs[rows])
            tape.write(FROM_COORDINATOR, batch.frames)
        tape.write(FROM_COORDINATOR, encode(End(id=next(numbers))))
        tape.write(FROM_COORDINATOR, encode(Bye(id=next(numbers))))


def record_tape(
    path: Path,
    worker: Worker,
    task: Task,
    train: Split,
    *,
    steps: int,
    seed: int,
    threads: int,
    device: str = "cpu",
    dropout: bool = False,
    on_loss: Callable[[int, float], None] = lambda step, loss: None,
) -> None:
    """Have `worker` train, and write what both sides said to `path`.

    The parameters and the order of the batches are those of a run with the same seed. The logits of
    the first batch are asked for before the first step, logits and parameters after `READ_AFTER`
    steps. Raises `WorkerFailureError`, and leaves no tape then.
    """
    with ScratchFolder() as scratch, TapeWriter(path) as tape:
        router = Router()
        session = RecordedSession(tape, router, worker.name, device=device, threads=threads)
        try:
            with orderly(router):
                launch(session, worker, name="worker", scratch=scratch, log=scratch / "log")
                session.await_hello(time.monotonic())
                _train(session, task, train, steps, seed, dropout, on_loss)
                session.bye()
        finally:
            session.close()
            router.close()


def _train(
    session: Session,
    task: Task,
    train: Split,
    steps: int,
    seed: int,
    dropout: bool,
    on_loss: Callable[[int, float], None],
) -> None:
    order = tasks.Order(len(train), task.training.batch_size, seed)
    first = train.inputs[order.rows(0)]
    session.setup(task, tasks.initial_parameters(task, seed), seed=seed, dropout=dropout)
    list(session.predict([first], task.classes))
    for step in range(steps):
        rows = order.rows(step)
        inputs, labels = train.inputs[rows], train.labels[rows]
        batch = prepare_batch(session.router.next_id(), step, inputs, labels)
        session.train([batch], lambda result: on_loss(result.step, result.loss))
        if step + 1 in READ_AFTER:
            list(session.predict([first], task.classes))
            session.parameters()
    session.end()


class RecordedSession(Session):
    """A session that writes to a tape whatever either side says.

    All arrays are frames, and one question is under way at a time. What only this session's
    coordinator needs to know of the worker is left out: its key and its machine's name.
    """

    def __init__(self, tape: TapeWriter, router: Router, name: str, **more: Any) -> None:
        super().__init__(router, name, "tape", credit=1, **more)
        self._tape = tape

    def greeted(self, identity: bytes, hello: Hello) -> None:
        """The worker's HELLO came."""
        kept = msgspec.structs.replace(hello, key="", host="")
        self._tape.write(FROM_WORKER, encode(kept))
        super().greeted(identity, hello)

    def deliver(self, message: Message, arrays: Arrays) -> None:
        """An answer came."""
        self._tape.write(FROM_WORKER, encode(message, arrays))
        super().deliver(message, arrays)

    def send(self, frames: Frames) -> None:
        """Send one message."""
        self._tape.write(FROM_COORDINATOR, frames)
        super().send(frames)
