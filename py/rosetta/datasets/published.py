"""The published files: where they can be had, and the digests by which they are known.

To change or add a location, edit `FILES`. The environment variable ROSETTA_DATA_MIRROR (a base
URL, under which the file names below are looked for) replaces all locations at once: for machines
that reach an internal mirror only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

MIRROR_VARIABLE = "ROSETTA_DATA_MIRROR"

_KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


@dataclass(frozen=True)
class Published:
    """A published file: digest algorithm ("sha256", "md5") and value, size, folders it is in."""

    algorithm: str
    digest: str
    size_bytes: int | None = None
    bases: tuple[str, ...] = ()

    def urls(self, name: str, environment: Mapping[str, str] = os.environ) -> list[str]:
        """The locations of the file `name`, in the order in which they are tried."""
        mirror = environment.get(MIRROR_VARIABLE)
        bases = (mirror,) if mirror else self.bases
        return [f"{base.rstrip('/')}/{name}" for base in bases]


def _sha256(digest: str, size_bytes: int | None = None, *bases: str) -> Published:
    return Published("sha256", digest, size_bytes, bases)


def _md5(digest: str) -> Published:
    return Published("md5", digest)


FILES: dict[str, Published] = {
    "cifar-10-python.tar.gz": _sha256(
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        170_498_071,
        "https://www.cs.toronto.edu/~kriz/",
        _KERAS,
    ),
    "imdb.npz": _sha256(
        "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f", 17_464_789, _KERAS
    ),
    "aclImdb_v1.tar.gz": _sha256(
        "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        84_125_825,
        "https://ai.stanford.edu/~amaas/data/sentiment/",
    ),
    "train-images-idx3-ubyte.gz": _sha256(
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9_912_422, *_MNIST
    ),
    "train-labels-idx1-ubyte.gz": _sha256(
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28_881, *_MNIST
    ),
    "t10k-images-idx3-ubyte.gz": _sha256(
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1_648_877, *_MNIST
    ),
    "t10k-labels-idx1-ubyte.gz": _sha256(
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4_542, *_MNIST
    ),
    # The same files unpacked. Of the CIFAR-10 batches only MD5 digests have been published.
    "train-images-idx3-ubyte": _sha256(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train-labels-idx1-ubyte": _sha256(
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "t10k-images-idx3-ubyte": _sha256(
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "t10k-labels-idx1-ubyte": _sha256(
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
    "data_batch_1": _md5("c99cafc152244af753f735de768cd75f"),
    "data_batch_2": _md5("d4bba439e000b95fd0a9bffe97cbabec"),
    "data_batch_3": _md5("54ebc095f3ab1f0389bbae665268c751"),
    "data_batch_4": _md5("634d18415352ddfa80567beed471001a"),
    "data_batch_5": _md5("482c414d41f54cd18b22e5b47cb7c3cb"),
    "test_batch": _md5("40351d587109b95175f43aff81a1287e"),
}

# The files that a data set is downloaded as.
DOWNLOADS: dict[str, tuple[str, ...]] = {
    "cifar10": ("cifar-10-python.tar.gz",),
    "imdb": ("imdb.npz",),
    "mnist": (
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ),
}
