"""Messages encoded ahead, so that a batch is encoded once for all workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.protocol import encode
from rosetta.protocol.frames import Frames, describe
from rosetta.protocol.messages import Batch, Message, Predict, Setup
from rosetta.tasks import Task


@dataclass(frozen=True)
class PreparedMessage:
    """A message and its frames, to be sent to any number of workers."""

    message: Message
    frames: Frames


def prepare_setup(
    number: int,
    task: Task,
    parameters: Mapping[str, NDArray[np.float32]],
    *,
    seed: int,
    dropout: bool,
    threads: int,
) -> PreparedMessage:
    """A SETUP with id `number`."""
    message = Setup(
        id=number,
        task=task.to_wire(),
        batch_size=task.training.batch_size,
        seed=seed,
        dropout=dropout,
        threads=threads,
        arrays=describe(parameters),
    )
    return PreparedMessage(message, encode(message, parameters))


def prepare_batch(
    number: int,
    step: int,
    inputs: NDArray[Any],
    labels: NDArray[np.int32],
    learning_rate: float | None = None,
) -> PreparedMessage:
    """A BATCH with id `number`, with a new learning rate where one is given.

    The arrays must not be changed afterwards: they aren't copied.
    """
    arrays = {"inputs": inputs, "labels": labels}
    message = Batch(id=number, step=step, learning_rate=learning_rate, arrays=describe(arrays))
    return PreparedMessage(message, encode(message, arrays))


def prepare_predict(number: int, inputs: NDArray[Any]) -> PreparedMessage:
    """A PREDICT with id `number` for some inputs, which aren't copied either."""
    arrays = {"inputs": inputs}
    message = Predict(id=number, arrays=describe(arrays))
    return PreparedMessage(message, encode(message, arrays))
