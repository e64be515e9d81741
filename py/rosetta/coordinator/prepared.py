"""Messages encoded ahead, so that a batch is encoded once for all workers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator.shared_memory import SharedMemory
from rosetta.protocol import Arrays, encode
from rosetta.protocol.frames import Frames, describe
from rosetta.protocol.messages import Batch, Message, Predict, Setup
from rosetta.tasks import Task

Plane = Literal["inline", "shm"]


class PreparedMessage:
    """A message and its frames, to be sent to any number of workers."""

    def __init__(
        self, message: Message, arrays: Arrays, shared_frames: Frames | None = None
    ) -> None:
        """`shared_frames`: the same with arrays left in memory that the workers have mapped, too.

        Where there are none everything travels inline. Otherwise those are encoded when they are
        first asked for: most runs have no worker that does.
        """
        self.message = message
        self._arrays = arrays
        self._shared_frames = shared_frames
        if shared_frames is None:
            self.frames  # noqa: B018  encoded now, and not while a worker's clock runs

    @cached_property
    def frames(self) -> Frames:
        """The frames with all arrays in them."""
        return encode(self.message, self._arrays)

    def frames_on(self, plane: Plane) -> Frames:
        """The frames for a worker on `plane`."""
        return self._shared_frames if plane == "shm" and self._shared_frames else self.frames


def prepare_setup(
    number: int,
    task: Task,
    parameters: Mapping[str, NDArray[np.float32]],
    *,
    seed: int,
    dropout: bool,
    threads: int,
    shared: SharedMemory | None = None,
) -> PreparedMessage:
    """A SETUP with id `number`; parameters that lie in `shared` may be left there."""
    message = Setup(
        id=number,
        task=task.to_wire(),
        batch_size=task.training.batch_size,
        seed=seed,
        dropout=dropout,
        threads=threads,
        arrays=describe(parameters),
    )
    return _prepared(message, parameters, shared)


def prepare_batch(
    number: int,
    step: int,
    inputs: NDArray[Any],
    labels: NDArray[np.int32],
    learning_rate: float | None = None,
    *,
    shared: SharedMemory | None = None,
) -> PreparedMessage:
    """A BATCH with id `number`, with a new learning rate where one is given.

    The arrays must not be changed afterwards: they aren't copied. Those that lie in `shared` are
    not even sent to workers on the `shm` plane.
    """
    arrays = {"inputs": inputs, "labels": labels}
    message = Batch(id=number, step=step, learning_rate=learning_rate, arrays=describe(arrays))
    return _prepared(message, arrays, shared)


def prepare_predict(
    number: int, inputs: NDArray[Any], *, shared: SharedMemory | None = None
) -> PreparedMessage:
    """A PREDICT with id `number` for some inputs, which aren't copied either."""
    arrays = {"inputs": inputs}
    message = Predict(id=number, arrays=describe(arrays))
    return _prepared(message, arrays, shared)


def _prepared(
    message: Setup | Batch | Predict,
    arrays: Arrays,
    shared: SharedMemory | None,
) -> PreparedMessage:
    offsets = {name: shared.offset_of(array) for name, array in arrays.items()} if shared else {}
    if all(offset is None for offset in offsets.values()):
        return PreparedMessage(message, arrays)
    described = [
        msgspec.structs.replace(array, offset_bytes=offsets[array.name]) for array in message.arrays
    ]
    sent = {name: array for name, array in arrays.items() if offsets[name] is None}
    elsewhere = msgspec.structs.replace(message, arrays=described)
    return PreparedMessage(message, arrays, encode(elsewhere, sent))
