"""Features: what a forward-only task gives, and where they are written."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator import Session, WorkerFailureError
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


def check_target(path: Path) -> None:
    """Raise `UserError` for a place where no features can be written, before any are computed."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UserError(f"--features {path}: no folder {path.parent}: make it first")
    if path.exists() and not path.is_file():
        raise UserError(f"--features {path}: is no regular file: choose another")
    if not os.access(folder, os.W_OK):
        raise UserError(f"--features {path}: nothing can be written there: choose another")


class FeatureFile:
    """The features of every worker, gathered while a run goes on, and written as one .npz file.

    Arrays: `<worker>` float32 (images, features), in the order of `files`, the images' names.
    """

    def __init__(self, path: Path, files: Sequence[str], run: str, *, resume: bool = False) -> None:
        """`resume`: keep what an earlier attempt of the same `run` has written."""
        self._path = path
        self._run = run.encode()
        self._files = np.array(files, np.str_)
        self._arrays: dict[str, NDArray[np.generic]] = self._earlier() if resume else {}

    def extract(self, session: Session, task: Task, images: NDArray[np.generic]) -> None:
        """Have a worker compute the features of all `images`, a batch at a time.

        Raises `WorkerFailureError` for features that aren't numbers.
        """
        size = task.training.batch_size
        features = np.concatenate(list(session.predict(blocks(images, size), task.outputs)))
        if not np.isfinite(features).all():
            raise WorkerFailureError("failed", "features that aren't finite numbers")
        self._arrays[session.name] = features

    def write(self) -> None:
        """Write what there is, if there is anything: the whole file, or the one before stays.

        Raises `UserError`.
        """
        if not self._arrays:
            return
        temporary = self._path.with_name(f".{self._path.name}.part")
        try:
            with zipfile.ZipFile(temporary, "w") as archive:
                archive.comment = self._run
                for name, array in {**self._arrays, "files": self._files}.items():
                    # Not by np.savez, whose own parameters can't be names of arrays.
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
            temporary.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise UserError(f"--features {self._path}: {error.strerror or error}") from error

    def _earlier(self) -> dict[str, NDArray[np.generic]]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                if archive.comment != self._run:
                    return {}
            with np.load(self._path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except (OSError, EOFError, ValueError, zipfile.BadZipFile):
            return {}
        arrays.pop("files", None)
        return arrays
