"""Tests whose subject is a clock run while no other test does: marker `alone`.

Several processes run the tests (pytest-xdist). Each test takes a place in a room; one that must be
alone takes all of it. Whoever waits holds the gate, so that nobody slips in before.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def room(*, alone: bool) -> Iterator[None]:
    """Holds a place among the tests of this run, or all places.

    Where one process runs the tests there is nothing to wait for.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        yield
        return
    files = [
        Path(tempfile.gettempdir()) / f"rosetta-tests-{run}.{name}" for name in ("gate", "room")
    ]
    with files[0].open("w") as gate, files[1].open("w") as place:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(place, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:  # said, since a process that the test has forked holds the file too
            fcntl.flock(place, fcntl.LOCK_UN)
