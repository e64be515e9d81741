"""The data sets: found or downloaded, checked, read without running anything, and cached.

    dataset = load("cifar10", task=task, directories=directories_from(None, os.environ))

`load` gives a `Dataset` of NumPy arrays in the order of their source; batches are cut elsewhere.
"""

from rosetta.datasets.cache import CACHE_VARIABLE, default_cache
from rosetta.datasets.files import DIRECTORY_VARIABLE, Found, directories_from
from rosetta.datasets.loading import check_name, find, load
from rosetta.datasets.model import NAMES, DataError, Dataset, DataUnavailable, Source, Split
from rosetta.datasets.published import MIRROR_VARIABLE
from rosetta.datasets.status import FileStatus, Status, status

__all__ = [
    "CACHE_VARIABLE",
    "DIRECTORY_VARIABLE",
    "MIRROR_VARIABLE",
    "NAMES",
    "DataError",
    "DataUnavailable",
    "Dataset",
    "FileStatus",
    "Found",
    "Source",
    "Split",
    "Status",
    "check_name",
    "default_cache",
    "directories_from",
    "find",
    "load",
    "status",
]
