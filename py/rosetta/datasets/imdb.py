"""IMDB reviews (Maas and others, 2011): 25,000 + 25,000 film reviews, negative (0) or positive (1).

Read from Keras's `imdb.npz` (each review a list of word ranks, 1 for the most frequent word), or
from the texts themselves (`imdb_text`). The numbers are those of `keras.datasets.imdb.load_data`
with num_words = the task's vocabulary and Keras's defaults start_char=1, oov_char=2, index_from=3:
a review is a 1 followed by rank + 3 for each word, where a result not below the vocabulary is
replaced by 2. Of that sequence the last tokens are kept, and a shorter one gets zeros in front.

The order is that of the source, in which all positive reviews may come first; Keras shuffles on
loading, here the coordinator shuffles.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rosetta.datasets import imdb_text, pickles
from rosetta.datasets.archives import MIB, zip_member
from rosetta.datasets.files import Found
from rosetta.datasets.model import DamagedError, Split

ARCHIVE = "imdb.npz"
CLASSES = 2
START, OUT_OF_VOCABULARY, INDEX_FROM = 1, 2, 3

_MEMBER_BYTES = 64 * MIB  # x_train.npy has 14 MB
_MAX_RANK = 1 << 31

Ranks = Sequence[int] | npt.NDArray[np.int64]


def locate(folder: Path) -> Found | None:
    """Keras's archive in `folder`, or else the texts."""
    archive = folder / ARCHIVE
    if archive.is_file():
        return Found("npz", archive, {ARCHIVE: archive})
    return imdb_text.locate(folder)


def missing(folder: Path) -> list[str]:
    """The files that `folder` lacks."""
    del folder  # one file is all that is needed
    return [f"{ARCHIVE} (or {imdb_text.TARBALL})"]


def read(found: Found, task: Mapping[str, Any]) -> tuple[Split, Split]:
    """Training and test reviews, (N, length) and (N,) int32; raises what is in `DAMAGE`."""
    vocabulary, length = parameters(task)
    parts = _from_npz(found.path) if found.layout == "npz" else imdb_text.read(found)
    train, test = (Split(encode(reviews, vocabulary, length), labels) for reviews, labels in parts)
    return train, test


def parameters(task: Mapping[str, Any]) -> tuple[int, int]:
    """Vocabulary and length of the task."""
    return int(task["input"]["vocabulary"]), int(task["input"]["shape"][0])


def encode(reviews: Sequence[Ranks], vocabulary: int, length: int) -> npt.NDArray[np.int32]:
    """Word ranks → tokens, (reviews, length) int32, as the head of this file says."""
    tokens = np.zeros((len(reviews), length), np.int32)
    for row, review in zip(tokens, reviews, strict=True):
        ranks = np.asarray(review[-length:], np.int64)
        if len(ranks) and (ranks.min() < 0 or ranks.max() > _MAX_RANK):
            raise DamagedError("a word rank in it is no rank")
        words = ranks + INDEX_FROM
        words[words >= vocabulary] = OUT_OF_VOCABULARY
        row[length - len(words) :] = words
        if len(words) < length:
            row[length - len(words) - 1] = START
    return tokens


def _from_npz(path: Path) -> Iterable[tuple[list[Any], npt.NDArray[np.int32]]]:
    """The lists of ranks and the labels, (N,) int32: of the training reviews, then of the test."""
    with zipfile.ZipFile(path) as archive:
        for part in ("train", "test"):
            reviews = _reviews(zip_member(archive, f"x_{part}.npy", _MEMBER_BYTES), part)
            labels = _labels(zip_member(archive, f"y_{part}.npy", _MEMBER_BYTES), part)
            if len(reviews) != len(labels) or not reviews:
                raise DamagedError(f"{len(reviews):,} reviews and {len(labels):,} labels in {part}")
            yield reviews, labels


def _header(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], bytes]:
    """Shape, dtype and what follows the header of a .npy file."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    return shape, dtype, content[stream.tell() :]


def _reviews(content: bytes, part: str) -> list[Any]:
    """The lists in an object array; what follows the header of its .npy file is a pickle."""
    shape, dtype, data = _header(content)
    if dtype != np.dtype(object) or len(shape) != 1:
        raise DamagedError(f"x_{part} in it isn't an array of lists")
    array = pickles.loads(data)
    reviews = array.value if isinstance(array, pickles.ArrayValue) else None
    if not isinstance(reviews, list) or len(reviews) != shape[0]:
        raise DamagedError(f"x_{part} in it isn't an array of {shape[0]:,} lists")
    for review in reviews:
        if not isinstance(review, list) or not set(map(type, review)) <= {int}:
            raise DamagedError(f"a review of x_{part} isn't a list of word ranks")
    return reviews


def _labels(content: bytes, part: str) -> npt.NDArray[np.int32]:
    shape, dtype, data = _header(content)
    if dtype.kind not in "iu" or len(shape) != 1 or len(data) != shape[0] * dtype.itemsize:
        raise DamagedError(f"y_{part} in it isn't a vector of integers")
    labels = np.frombuffer(data, dtype)
    if len(labels) and (labels.min() < 0 or labels.max() >= CLASSES):
        raise DamagedError(f"a label of y_{part} is neither 0 nor 1")
    return labels.astype(np.int32)
