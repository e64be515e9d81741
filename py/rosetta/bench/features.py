"""Features: what a forward-only task gives, and where they are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator import Session
from rosetta.datasets.images import blocks
from rosetta.errors import UserError
from rosetta.protocol.messages import Predictions, Result
from rosetta.tasks import Task


def as_step(number: int, answer: Predictions) -> Result:
    """A batch of features as step `number` of the task: it has no loss."""
    return Result(
        id=answer.id,
        re=answer.re,
        step=number,
        loss=float("nan"),
        wait_ns=answer.wait_ns,
        copy_ns=answer.copy_ns,
        step_ns=answer.predict_ns,
    )


class FeatureFile:
    """The features of every worker, gathered while a run goes on, and written as one .npz file.

    Arrays: `<worker>` float32 (images, features), in the order of `files`, the images' names.
    """

    def __init__(self, path: Path, files: Sequence[str]) -> None:
        self._path = path
        self._arrays: dict[str, NDArray[np.generic]] = {"files": np.array(files, np.str_)}

    def extract(self, session: Session, task: Task, images: NDArray[np.generic]) -> None:
        """Have a worker compute the features of all `images`, a batch at a time."""
        size = task.training.batch_size
        features = list(session.predict(blocks(images, size), task.outputs))
        self._arrays[session.name] = np.concatenate(features)

    def write(self) -> None:
        """Write what there is. Raises `UserError`."""
        try:
            with self._path.open("wb") as file:  # or NumPy would add a suffix of its own
                np.savez(file, **self._arrays)  # type: ignore[arg-type]  # its stubs expect a bool
        except OSError as error:
            raise UserError(f"--features {self._path}: {error.strerror or error}") from error
