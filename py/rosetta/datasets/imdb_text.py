"""The IMDB reviews as texts: `aclImdb_v1.tar.gz`, or the folder `aclImdb` that it unpacks to.

A text is split as Keras's Tokenizer splits by default: lower case, punctuation (all of ASCII's but
the apostrophe) becomes a space; before that, the line breaks `<br />` are removed. The words are
ranked by their frequency in the training reviews, ties in alphabetical order. Keras's `imdb.npz`
was made with another ranking, so the token numbers differ from those of that file (and results are
labelled "text tree"); the reviews are the same.

Order: training and test apart; in each the positive reviews, then the negative ones, by file name.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rosetta.datasets.archives import MIB, read_file, tar_files
from rosetta.datasets.files import Found
from rosetta.datasets.model import DamagedError

TARBALL = "aclImdb_v1.tar.gz"
FOLDER = "aclImdb"

_REVIEW = re.compile(r"(?:.*/)?(train|test)/(pos|neg)/([^/]+\.txt)")
_REVIEW_BYTES = MIB  # the longest has 14 KB
_TOTAL_BYTES = 1024 * MIB
_PUNCTUATION = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', " "))

Reviews = list[npt.NDArray[np.int64]]


def locate(folder: Path) -> Found | None:
    """The tarball in `folder`, or else the text tree in it or in its `FOLDER`."""
    tarball = folder / TARBALL
    if tarball.is_file():
        return Found("text tar", tarball, {TARBALL: tarball})
    for root in (folder / FOLDER, folder):
        if all(
            (root / part / label).is_dir() for part in ("train", "test") for label in ("pos", "neg")
        ):
            files = _tree(root)
            return Found("text tree", root, files, tree=f"{FOLDER}/") if files else None
    return None


def _tree(root: Path) -> dict[str, Path]:
    parts = [root / part / label for part in ("train", "test") for label in ("neg", "pos")]
    found = (path for part in parts for path in sorted(part.glob("*.txt")))
    paths = [path for path in found if path.is_file()]  # a pipe or a device would never end
    return {path.relative_to(root).as_posix(): path for path in paths}


def words(text: str) -> list[str]:
    """The words of a review."""
    plain = text.replace("<br />", " ").lower().translate(_PUNCTUATION)
    return [word for word in plain.split(" ") if word]


def read(found: Found) -> list[tuple[Reviews, npt.NDArray[np.int32]]]:
    """Word ranks (from 1) and labels (N,) int32 of the training reviews, then of the test ones.

    A word that no training review has gets a rank beyond every vocabulary's end.
    """
    ids: dict[str, int] = {}
    parts: dict[str, dict[tuple[int, str], array[int]]] = {"train": {}, "test": {}}
    for part, label, name, text in _texts(found):
        # Numbered as they appear; the order of the files can't show, since ranks replace numbers.
        numbers = array("I", [ids.setdefault(word, len(ids)) for word in words(text)])
        parts[part][(0 if label == "pos" else 1, name)] = numbers
    for part, reviews in parts.items():
        if {place for place, _ in reviews} != {0, 1}:
            raise DamagedError(f"there are no {part} reviews of both kinds in it")
    ranks = _ranks(ids, parts["train"].values())
    return [_ranked(reviews, ranks) for reviews in parts.values()]


def _texts(found: Found) -> Iterator[tuple[str, str, str, str]]:
    """Part ("train", "test"), label ("pos", "neg"), file name and text of each review."""
    for path, content in _contents(found):
        match = _REVIEW.fullmatch(path)
        if match:
            part, label, name = match.groups()
            yield part, label, name, content.decode("utf-8", "replace")


def _is_review(name: str) -> bool:
    return _REVIEW.fullmatch(name) is not None


def _contents(found: Found) -> Iterator[tuple[str, bytes]]:
    if found.layout == "text tar":
        return tar_files(
            found.path, _is_review, member_bytes=_REVIEW_BYTES, total_bytes=_TOTAL_BYTES
        )
    return ((name, read_file(path, _REVIEW_BYTES)) for name, path in found.files.items())


def _ranks(ids: dict[str, int], train: Iterable[array[int]]) -> npt.NDArray[np.int64]:
    """The rank of each word number: 1 for the most frequent word of the training reviews."""
    counts = np.zeros(len(ids), np.int64)
    for review in train:
        np.add.at(counts, _numbers(review), 1)
    alphabet = sorted(ids, key=ids.__getitem__)
    order = sorted(range(len(ids)), key=lambda number: (-counts[number], alphabet[number]))
    ranks = np.empty(len(ids), np.int64)
    ranks[order] = np.arange(1, len(ids) + 1)
    ranks[counts == 0] = np.iinfo(np.int32).max
    return ranks


def _numbers(review: array[int]) -> npt.NDArray[np.uintc]:
    return np.frombuffer(review, np.uintc) if review else np.zeros(0, np.uintc)


def _ranked(
    reviews: dict[tuple[int, str], array[int]], ranks: npt.NDArray[np.int64]
) -> tuple[Reviews, npt.NDArray[np.int32]]:
    order = sorted(reviews)
    labels = np.array([1 - place for place, _ in order], np.int32)
    return [ranks[_numbers(reviews[key])] for key in order], labels
