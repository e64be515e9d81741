"""Waiting in tests for what another process does."""

import time
from collections.abc import Callable
from pathlib import Path

LIMIT_S = 30.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Until `condition` holds; after half a minute the test fails, saying `what`."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def until_there(file: Path) -> None:
    """Until `file` exists."""
    until(file.exists, f"{file.name} did not appear")
