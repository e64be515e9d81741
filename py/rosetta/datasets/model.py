"""What a loaded data set is: arrays, and where they came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rosetta.errors import UserError

Array = npt.NDArray[np.generic]
Report = Callable[[str], None]


class DataError(UserError):
    """Data that are missing, damaged or unreachable: one line with what, where and what to do."""


class DataUnavailable(DataError):  # noqa: N818  (a state of affairs more than a mistake)
    """Data that aren't on this machine and can't be, or may not be, downloaded.

    Whoever may choose other data instead (the command line's "auto": synthetic ones) catches this
    and nothing else: files that are there but damaged have to be looked at.
    """


class DamagedError(ValueError):
    """Content that isn't what its format says; `load` names the file in a `DataError`."""


@dataclass(frozen=True)
class Split:
    """The training or the test part of a data set, in the order of its source (not shuffled).

    inputs: (samples, *shape), uint8 for pixels and int32 for tokens, C order, read-only
    labels: (samples,), int32, from 0 to classes - 1, read-only
    """

    inputs: Array
    labels: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        for array in (self.inputs, self.labels):
            array.setflags(write=False)  # every worker of a run is sent these very bytes

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Source:
    """Where the arrays came from.

    kind: "directory" (the user's files), "download" (fetched into the cache) or "synthetic"
    path: the file or folder that was read; None for synthetic data
    sha256: file name -> hex digest of what was read (for synthetic data: array name -> digest)
    warnings: one-line sentences, such as that a file differs from the published one
    """

    kind: str
    path: str | None
    sha256: Mapping[str, str]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """What is fixed about a data set by its name.

    train, test: how many samples the published one has, and what they are called (`noun`)
    dtype, shape: of one sample; shape None if the task chooses it
    """

    train: int
    test: int
    noun: str
    classes: int
    dtype: str
    shape: tuple[int, ...] | None


KINDS = {
    "cifar10": Kind(50_000, 10_000, "images", 10, "uint8", (3, 32, 32)),
    "imdb": Kind(25_000, 25_000, "reviews", 2, "int32", None),
    "mnist": Kind(60_000, 10_000, "images", 10, "uint8", (784,)),
}
NAMES: tuple[str, ...] = (*KINDS, "synthetic")


@dataclass(frozen=True)
class Dataset:
    """A data set ready to be cut into batches."""

    name: str
    train: Split
    test: Split
    classes: int
    source: Source = field(repr=False)

    @property
    def label(self) -> str:
        """What tables print: the name, and whatever makes it another data set than the published.

        "cifar10", "cifar10 (2,000 images)", "imdb (text tree)", "synthetic": the number is that of
        the training samples.
        """
        remarks = []
        if any(name.startswith("aclImdb") for name in self.source.sha256):
            remarks.append("text tree")  # other word ranks than Keras's: not comparable with them
        kind = KINDS.get(self.name)
        if kind and (len(self.train), len(self.test)) != (kind.train, kind.test):
            remarks.append(f"{len(self.train):,} {kind.noun}")
        return f"{self.name} ({', '.join(remarks)})" if remarks else self.name
