"""Synthetic data: of the shape that a task takes, and learnable, so that everything works offline.

Pixels: each class has a smooth pattern (a coarse grid of grey values, blown up), of which an image
shows a random share of the contrast under noise. Tokens: reviews of random length, zeros in front,
with the usual skewed word frequencies, in which the words of the class are sprinkled. A few labels
are wrong on purpose: no network reaches an accuracy of 1.

Everything is integer arithmetic on the raw output of PCG64, which NumPy promises not to change: a
seed gives the same bytes with every version and on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rosetta.datasets import images
from rosetta.datasets.cache import digest
from rosetta.datasets.model import DataError, Dataset, Source, Split

TRAIN, TEST = 10_000, 2_000
MAX_TRAIN_BYTES = 32 << 20  # of large images there are fewer: 222 of 3×224×224 in uint8
WRONG_LABELS_IN_256 = 10  # 4 %

_GRID = 4  # cells of a pattern along a side
_BLOCK_VALUES = 1 << 20  # made at a time: bounds the memory for intermediate values
_CLASS_WORDS = 16
_CLASS_WORDS_IN_256 = 77  # 30 %
_RESERVED = 4  # padding, start, out-of-vocabulary, and the unused 3 of Keras's numbering

Integers = npt.NDArray[np.int64]


def make(task: Mapping[str, Any], seed: int) -> Dataset:
    """The data set of that seed; raises `DataError` if the input is neither pixels nor tokens.

    A task without classes (feature extraction) gets the label 0 everywhere.
    """
    form = task["input"]
    shape = tuple(int(length) for length in form["shape"])
    classes = int(task.get("classes", 0))
    random = _Random(seed)
    if form["dtype"] == "uint8":
        splits = _pixels(random, shape, max(classes, 1), MAX_TRAIN_BYTES)
    elif form["dtype"] == "float32" and len(shape) == 3 and shape[0] == 3:
        splits = _normalised(_pixels(random, shape, max(classes, 1), MAX_TRAIN_BYTES // 2))
    elif form["dtype"] == "int32" and len(shape) == 1 and "vocabulary" in form:
        splits = _tokens(random, shape[0], int(form["vocabulary"]), max(classes, 1))
    else:
        raise DataError(
            f"there are no synthetic data for the task {task.get('name')!r}"
            f" ({form['dtype']} {shape}): its input has to be uint8 pixels, int32 tokens, or"
            " float32 pixels of three channels"
        )
    return Dataset("synthetic", *splits, classes, Source("synthetic", None, _digests(*splits)))


def _digests(train: Split, test: Split) -> dict[str, str]:
    parts = {"train": train, "test": test}
    return {
        f"{name}.{field}": digest(getattr(split, field))
        for name, split in parts.items()
        for field in ("inputs", "labels")
    }


class _Random:
    """Integers from the raw 64-bit words of PCG64."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def bytes(self, *shape: int) -> npt.NDArray[np.uint8]:
        """Uniform bytes; little-endian pieces of the words on every machine."""
        size = math.prod(shape)
        words = self._bits.random_raw(-(-size // 8))
        return words.astype("<u8").view(np.uint8)[:size].reshape(shape)

    def below(self, bound: int, *shape: int) -> Integers:
        """Integers in [0, bound), bound ≤ 2³¹; uneven by less than bound / 2³²."""
        words = self._bits.random_raw(math.prod(shape)) >> np.uint64(32)
        scaled: npt.NDArray[np.uint64] = (words * np.uint64(bound)) >> np.uint64(32)
        return scaled.astype(np.int64).reshape(shape)


def _blocks(array: npt.NDArray[Any]) -> Iterator[slice]:
    """Cuts the samples into blocks of about `_BLOCK_VALUES` values."""
    step = max(1, _BLOCK_VALUES // math.prod(array.shape[1:]))
    return (slice(start, start + step) for start in range(0, len(array), step))


def _labels(random: _Random, count: int, classes: int) -> tuple[Integers, npt.NDArray[np.int32]]:
    """The classes that the samples are made of, and the labels, a few of which are others."""
    made = random.below(classes, count)
    wrong = random.bytes(count) < WRONG_LABELS_IN_256
    shift = 1 + random.below(max(classes - 1, 1), count)
    return made, np.where(wrong, (made + shift) % classes, made).astype(np.int32)


def _normalised(splits: tuple[Split, Split]) -> tuple[Split, Split]:
    """The same images as float32, as those of a folder would come."""
    train, test = (Split(images.normalise(s.inputs), s.labels) for s in splits)  # type: ignore[arg-type]
    return train, test


def _pixels(
    random: _Random, shape: tuple[int, ...], classes: int, most_bytes: int
) -> tuple[Split, Split]:
    """Images of that shape, uint8."""
    train_count = min(TRAIN, max(most_bytes // math.prod(shape), 10))
    patterns = np.stack([_pattern(random, shape) for _ in range(classes)])
    train, test = (
        _images(random, patterns, count) for count in (train_count, train_count * TEST // TRAIN)
    )
    return train, test


def _pattern(random: _Random, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """A smooth picture of values from -128 to 127, in the shape of an image."""
    channels, rows, columns = _plane(shape)
    grid = random.below(256, channels, _GRID, _GRID) - 128
    smooth = _stretch(_stretch(grid, rows, 1), columns, 2)
    return smooth.astype(np.int32).reshape(shape)


def _plane(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Channels, rows and columns; a vector is taken as a square picture if it can be one."""
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    size = math.prod(shape)
    side = math.isqrt(size)
    return (1, side, side) if side * side == size else (1, 1, size)


def _stretch(grid: Integers, length: int, axis: int) -> Integers:
    """Blows an axis up to `length` by linear interpolation, in integers."""
    last = grid.shape[axis] - 1
    steps = max(length - 1, 1)
    position = np.arange(length) * last
    cell = np.minimum(position // steps, last - 1)
    shape = [1] * grid.ndim
    shape[axis] = length
    weight = (position - cell * steps).reshape(shape)
    lower, upper = np.take(grid, cell, axis), np.take(grid, cell + 1, axis)
    stretched: Integers = (lower * (steps - weight) + upper * weight) // steps
    return stretched


def _images(random: _Random, patterns: npt.NDArray[np.int32], count: int) -> Split:
    made, labels = _labels(random, count, len(patterns))
    images = np.empty((count, *patterns.shape[1:]), np.uint8)
    axes = (-1, *[1] * (patterns.ndim - 1))
    for block in _blocks(images):
        part = images[block]
        contrast = (64 + random.below(128, len(part))).astype(np.int32).reshape(axes)
        noise = random.bytes(*part.shape).astype(np.int32) - 128
        shown = patterns[made[block]] * contrast // 256
        part[...] = np.clip(128 + shown + noise // 2, 0, 255)
    return Split(images, labels)


def _tokens(random: _Random, length: int, vocabulary: int, classes: int) -> tuple[Split, Split]:
    """Reviews (N, length) int32, with zeros in front of short ones."""
    if vocabulary < _RESERVED + 2 * classes:
        raise DataError(f"there are no synthetic data for a vocabulary of {vocabulary} words")
    per_class = min(_CLASS_WORDS, (vocabulary - _RESERVED) // (2 * classes))
    words = _RESERVED + np.arange(classes * per_class).reshape(per_class, classes).T
    train, test = (_reviews(random, count, length, vocabulary, words) for count in (TRAIN, TEST))
    return train, test


def _reviews(
    random: _Random, count: int, length: int, vocabulary: int, class_words: Integers
) -> Split:
    made, labels = _labels(random, count, len(class_words))
    reviews = np.empty((count, length), np.int32)
    for block in _blocks(reviews):
        part = reviews[block]
        classes = made[block, np.newaxis]
        common = _skewed(random, vocabulary, part.shape)
        telling = class_words[classes, random.below(class_words.shape[1], *part.shape)]
        tells = random.bytes(*part.shape) < _CLASS_WORDS_IN_256
        part[...] = np.where(tells, telling, common)
        _pad(part, random.below(2 * length, len(part)) + length // 4)
    return Split(reviews, labels)


def _skewed(random: _Random, vocabulary: int, shape: tuple[int, ...]) -> Integers:
    """Words whose frequency falls with their number; the rarest are out of vocabulary (2)."""
    uniform = random.below(1 << 16, *shape)
    cubed = uniform * uniform * uniform >> 32  # below 2¹⁶, small numbers more often
    words = _RESERVED + (cubed * (vocabulary - _RESERVED) >> 16)
    return np.where(uniform >= (1 << 16) - 300, 2, words)


def _pad(reviews: npt.NDArray[np.int32], lengths: Integers) -> None:
    """Gives each review its length, in place: zeros in front, and a 1 where it begins.

    Of a review longer than the row only the end is there, so it shows no beginning.
    """
    length = reviews.shape[1]
    begin = (length - lengths)[:, np.newaxis]
    position = np.arange(length)
    reviews[position < begin] = 0
    reviews[position == begin] = 1
