"""The `shm` plane: a file of the coordinator's, mapped read-only (protocol/SPEC.md, section 5)."""

import mmap
import os
import sys
from typing import Any

from rosetta_worker.wire import WireError

AVAILABLE = sys.platform == "linux"


def attach(described: Any, re: int) -> Any:
    """The mapped file that WELCOME's `shm` describes. Raises `WireError`."""
    if not isinstance(described, dict):
        raise WireError("bad_header", "`shm` is not a map", re)
    path, size = described.get("path"), described.get("size_bytes")
    if not isinstance(path, str) or not isinstance(size, int) or size < 1:
        raise WireError("bad_header", "`shm` lacks `path` or `size_bytes`", re)
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            return mmap.mmap(file, size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
    except (OSError, ValueError, OverflowError) as error:
        raise WireError("unsupported", "shared memory at %r: %s" % (path, error), re)
