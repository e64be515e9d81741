"""CIFAR-10 (Krizhevsky, 2009): 50,000 + 10,000 colour images of 32×32 pixels in ten classes.

Read from the original `cifar-10-python.tar.gz`, or from the folder `cifar-10-batches-py` that it
unpacks to. Each batch in it is a pickled dictionary: `data`, (images, 3072) uint8, red, green and
blue planes row by row; and `labels`, a list of integers.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from rosetta.datasets import pickles
from rosetta.datasets.archives import MIB, read_file, tar_files
from rosetta.datasets.files import Found
from rosetta.datasets.model import DamagedError, Split

TARBALL = "cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
CLASSES = 10
SHAPE = (3, 32, 32)

_TEST = "test_batch"
_BATCH = re.compile(r"data_batch_([1-9][0-9]?)")
_MEMBER_BYTES = 48 * MIB  # a batch of 10,000 images has 31 MB
_TOTAL_BYTES = 400 * MIB

_Batch = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]


def locate(folder: Path) -> Found | None:
    """The tarball in `folder`, or else the unpacked batches in it or in its `FOLDER`."""
    tarball = folder / TARBALL
    if tarball.is_file():
        return Found("tar", tarball, {TARBALL: tarball})
    for batches in (folder / FOLDER, folder):
        if (batches / _TEST).is_file() and (batches / "data_batch_1").is_file():
            parts = (path for path in batches.iterdir() if path.is_file())  # no pipes, no devices
            names = [path.name for path in parts if _is_batch(path.name)]
            return Found("folder", batches, {name: batches / name for name in sorted(names)})
    return None


def missing(folder: Path) -> list[str]:
    """The files that `folder` lacks."""
    del folder  # one file is all that is needed
    return [TARBALL]


def read(found: Found, task: Mapping[str, Any]) -> tuple[Split, Split]:
    """Training and test images, (N, 3, 32, 32) uint8 and (N,) int32; raises what is in `DAMAGE`.

    How many batches there are, and how many images in each, is what the files say.
    """
    del task  # the pixels are the same for every task
    batches = {}
    for path, content in _contents(found):
        name = PurePosixPath(path).name
        batches[name] = _set_aside(*_batch(name, content))
        del content  # or it would still be there while the next one is read
    test = batches.pop(_TEST, None)
    if test is None:
        raise DamagedError(f"there is no {_TEST} in it")
    if not batches or set(batches) != {f"data_batch_{k + 1}" for k in range(len(batches))}:
        raise DamagedError(
            f"of the training batches it has only {', '.join(sorted(batches)) or 'none'}"
        )
    return _joined(batches), Split(test[0].reshape(-1, *SHAPE), test[1])


def _is_batch(name: str) -> bool:
    return name == _TEST or _BATCH.fullmatch(name) is not None


def _is_batch_path(path: str) -> bool:
    return _is_batch(PurePosixPath(path).name)


def _contents(found: Found) -> Iterator[tuple[str, bytes]]:
    """Name (in the tarball: path) and content of each batch."""
    if found.layout == "tar":
        return tar_files(
            found.path, _is_batch_path, member_bytes=_MEMBER_BYTES, total_bytes=_TOTAL_BYTES
        )
    return ((name, read_file(path, _MEMBER_BYTES)) for name, path in found.files.items())


def _batch(name: str, content: bytes) -> _Batch:
    """Pixels (N, 3072) uint8 and labels (N,) int32 of one pickled batch."""
    table = pickles.loads(content)
    if not isinstance(table, dict):
        raise DamagedError(f"{name} in it is no dictionary")
    pixels, labels = _field(table, "data"), _field(table, "labels")
    if isinstance(pixels, pickles.ArrayValue):
        pixels = pixels.value
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.ndim != 2:
        raise DamagedError(f"the pixels of {name} aren't a table of bytes")
    if pixels.shape[1] != np.prod(SHAPE):
        raise DamagedError(f"the images of {name} have {pixels.shape[1]} values, not 3,072")
    if not isinstance(labels, list) or len(labels) != len(pixels) or not labels:
        raise DamagedError(f"{name} has other labels than images")
    if not all(type(label) is int and 0 <= label < CLASSES for label in labels):
        raise DamagedError(f"a label of {name} isn't from 0 to 9")
    return pixels, np.array(labels, np.int32)


def _set_aside(pixels: npt.NDArray[np.uint8], labels: npt.NDArray[np.int32]) -> _Batch:
    """The batch in pages of its own, which go back to the machine as soon as it is given up.

    Blocks just below 32 MiB are where glibc's allocator starts to keep what is freed: how much
    memory loading took would depend on what the process had allocated before.
    """
    kept = np.frombuffer(mmap.mmap(-1, pixels.nbytes), np.uint8).reshape(pixels.shape)
    kept[:] = pixels
    return kept, labels


def _field(table: dict[Any, Any], key: str) -> Any:
    """Python 2 wrote the keys as bytes; a copy pickled again by Python 3 has strings."""
    return table.get(key.encode(), table.get(key))


def _joined(batches: dict[str, _Batch]) -> Split:
    """The batches in the order of their numbers; each is given up as soon as it has been copied."""
    names = sorted(batches, key=lambda name: int(name.rpartition("_")[2]))
    count = sum(len(batches[name][1]) for name in names)
    pixels = np.empty((count, int(np.prod(SHAPE))), np.uint8)
    labels = np.empty(count, np.int32)
    start = 0
    for name in names:
        part, part_labels = batches.pop(name)
        end = start + len(part)
        pixels[start:end], labels[start:end] = part, part_labels
        start = end
        del part
    return Split(pixels.reshape(-1, *SHAPE), labels)
