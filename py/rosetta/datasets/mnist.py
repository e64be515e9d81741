"""MNIST (LeCun, Cortes, Burges): 60,000 + 10,000 handwritten digits of 28×28 grey pixels.

Read from the four original IDX files, gzipped or not. An IDX file is big-endian: a magic number
(0x0801 for a vector of bytes, 0x0803 for a stack of byte images), one length per axis, the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rosetta.datasets.archives import MIB, unzipped
from rosetta.datasets.files import Found
from rosetta.datasets.model import DamagedError, Split

CLASSES = 10
SIDE = 28
NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

_LIMIT_BYTES = 64 * MIB  # the training images have 47 MB


def locate(folder: Path) -> Found | None:
    """All four files in `folder`, each gzipped or not."""
    files = [_file(folder, name) for name in NAMES]
    present = {path.name: path for path in files if path}
    return Found("idx", folder, present) if len(present) == len(NAMES) else None


def missing(folder: Path) -> list[str]:
    """The files that `folder` lacks."""
    return [f"{name}.gz" for name in NAMES if _file(folder, name) is None]


def _file(folder: Path, name: str) -> Path | None:
    candidates = (folder / f"{name}.gz", folder / name)
    return next((path for path in candidates if path.is_file()), None)


def read(found: Found, task: Mapping[str, Any]) -> tuple[Split, Split]:
    """Training and test digits, (N, 784) uint8 and (N,) int32; raises what is in `DAMAGE`."""
    del task  # the pixels are the same for every task
    paths = list(found.files.values())
    return _split(paths[0], paths[1]), _split(paths[2], paths[3])


def _split(image_file: Path, label_file: Path) -> Split:
    images, labels = idx(image_file, 3), idx(label_file, 1)
    if images.shape[1:] != (SIDE, SIDE):
        raise DamagedError(f"the images of {image_file.name} have the shape {images.shape[1:]}")
    if len(images) != len(labels) or not len(labels):
        raise DamagedError(
            f"{len(images):,} images in {image_file.name},"
            f" but {len(labels):,} labels in {label_file.name}"
        )
    if labels.max() >= CLASSES:
        raise DamagedError(f"a label in {label_file.name} is {labels.max()}, not from 0 to 9")
    return Split(images.reshape(-1, SIDE * SIDE), labels.astype(np.int32))


def idx(path: Path, axes: int) -> npt.NDArray[np.uint8]:
    """The bytes of an IDX file with that many axes, in its shape; raises what is in `DAMAGE`."""
    with unzipped(path, _LIMIT_BYTES) as stream:
        header = stream.read(4 + 4 * axes)
        if len(header) < 4 + 4 * axes:
            raise DamagedError(f"{path.name} is cut off")
        magic, *shape = struct.unpack(f">{1 + axes}I", header)
        if magic != 0x0800 + axes:
            raise DamagedError(f"{path.name} begins with 0x{magic:08x}, not 0x{0x0800 + axes:08x}")
        size = int(np.prod([int(length) for length in shape], dtype=object))
        if size > _LIMIT_BYTES:
            raise DamagedError(f"{path.name} claims the shape {tuple(shape)}")
        content = stream.read(size + 1)
    if len(content) != size:
        relation = "more" if len(content) > size else "fewer"
        raise DamagedError(f"{path.name} has {relation} bytes than its shape {tuple(shape)} says")
    return np.frombuffer(content, np.uint8).reshape(shape)
