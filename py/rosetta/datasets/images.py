"""Images for feature extraction: a folder of JPEGs and PNGs, or synthetic ones, normalised.

The preparation is the usual one of networks trained on ImageNet (torchvision's evaluation
transform): the shorter side is resized to 256 pixels, the centre of 224×224 is cut out, values are
divided by 255, and each channel is normalised with the mean and deviation of ImageNet's training
set. It is done once, here: what the workers get is the same float32 array for all.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from PIL import Image, UnidentifiedImageError

from rosetta.datasets.model import DataError, Dataset, Source, Split

SUFFIXES = (".jpeg", ".jpg", ".png")
FORMATS = ("JPEG", "PNG")
UNREADABLE = (
    *(OSError, ValueError, SyntaxError, UnidentifiedImageError),
    *(Image.DecompressionBombError, Image.DecompressionBombWarning),
)
"""What Pillow raises for files that it can't or shouldn't read."""
MOST_PIXELS = 2**26
"""Of a resized image, before its middle is cut out: a third of a gigabyte."""
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Of red, green and blue, from 0 to 1 (the numbers that torchvision's weights are trained with)."""

RESIZED_TO = 256 / 224
"""The shorter side, relative to the side of the square that is cut out."""

Floats = npt.NDArray[np.float32]


def load(folder: Path, task: Mapping[str, Any]) -> Dataset:
    """Every image of `folder`, by name; `Dataset.train` and `.test` both hold all of them.

    inputs: (images, 3, rows, columns) float32, normalised. Raises `DataError` naming the file that
    can't be read, and for a folder without images.
    """
    shape = tuple(task["input"]["shape"])
    files = files_in(folder)
    _check_memory(folder, len(files) * math.prod(shape) * 4)
    inputs = np.empty((len(files), *shape), np.float32)
    digests = {}
    for row, file in enumerate(files):
        pixels = _read(file, shape[1:])
        inputs[row] = normalise(pixels.transpose(2, 0, 1)[np.newaxis])[0]
        digests[file.name] = hashlib.sha256(pixels.tobytes()).hexdigest()
    images = Split(inputs, np.zeros(len(files), np.int32))
    source = Source("directory", str(folder.absolute()), digests)
    return Dataset("images", images, images, 0, source)


def files_in(folder: Path) -> list[Path]:
    """The images in `folder`, in the order of their names: the rows of the features."""
    try:
        files = sorted(
            path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file()
        )
    except OSError as error:
        raise DataError(f"--images {folder}: {error.strerror}: give a folder of images") from error
    if not files:
        raise DataError(f"--images {folder}: no {', '.join(SUFFIXES)} in it")
    for path in files:
        try:
            path.name.encode()
        except UnicodeEncodeError:
            raise DataError(f"--images {folder}: {path.name!a} isn't UTF-8: rename it") from None
    return files


def normalise(pixels: npt.NDArray[np.uint8]) -> Floats:
    """Pixels (images, 3, rows, columns) from 0 to 255, as float32 around 0."""
    axes = (3, 1, 1)
    mean = np.array(MEAN, np.float32).reshape(axes)
    deviation = np.array(DEVIATION, np.float32).reshape(axes)
    return (pixels.astype(np.float32) / np.float32(255) - mean) / deviation


def resized_to(width: int, height: int, rows: int, columns: int) -> tuple[int, int]:
    """Width and height before the middle of `rows` and `columns` is cut out.

    The longer side is rounded down, as torchvision does.
    """
    if rows * width >= columns * height:
        high = round(rows * RESIZED_TO)
        return high * width // height, high
    wide = round(columns * RESIZED_TO)
    return wide, wide * height // width


def _check_memory(folder: Path, needed_bytes: int) -> None:
    there_bytes = psutil.virtual_memory().available
    if needed_bytes > there_bytes // 2:
        raise DataError(
            f"--images {folder}: its images take {needed_bytes >> 20:,} MB of memory, and "
            f"{there_bytes >> 20:,} MB are free: split the folder"
        )


def _read(file: Path, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """The middle of an image, (rows, columns, 3)."""
    try:
        with warnings.catch_warnings(), Image.open(file, formats=FORMATS) as opened:
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            if opened.mode.startswith(("I", "F")):
                raise ValueError("more than 8 bits a channel")
            image = opened.convert("RGB")
    except UNREADABLE as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{file} can't be read as an image ({reason}): mend it or take it out"
        ) from error
    rows, columns = size
    wide, high = resized_to(image.width, image.height, rows, columns)
    if wide * high > MOST_PIXELS:
        raise DataError(
            f"{file} is {image.width}×{image.height}: too narrow for a square: take it out"
        )
    resized = image.resize((wide, high), Image.Resampling.BILINEAR)
    left, top = round((wide - columns) / 2), round((high - rows) / 2)
    return np.asarray(resized.crop((left, top, left + columns, top + rows)))


def blocks(images: npt.NDArray[Any], size: int) -> Iterator[npt.NDArray[Any]]:
    """`images` in order, `size` at a time; the last ones may be fewer."""
    return (images[start : start + size] for start in range(0, len(images), size))
