"""Tapes made ahead: what a coordinator would send, so that a worker can run alone."""

from __future__ import annotations

import itertools
from pathlib import Path

from rosetta import tasks
from rosetta.coordinator import prepare_batch, prepare_setup
from rosetta.datasets import Split
from rosetta.protocol import VERSION, encode
from rosetta.protocol.messages import Bye, End, Welcome
from rosetta.protocol.tape import FROM_COORDINATOR, TapeWriter
from rosetta.tasks import Task


def make_tape(path: Path, task: Task, train: Split, *, steps: int, seed: int, threads: int) -> None:
    """Write WELCOME, SETUP, `steps` BATCHes, END and BYE to `path`.

    The parameters and the order of the batches are those of a run with the same seed.
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
            batch = prepare_batch(next(numbers), step, train.inputs[rows], train.labels[rows])
            tape.write(FROM_COORDINATOR, batch.frames)
        tape.write(FROM_COORDINATOR, encode(End(id=next(numbers))))
        tape.write(FROM_COORDINATOR, encode(Bye(id=next(numbers))))
