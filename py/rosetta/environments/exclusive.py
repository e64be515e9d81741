"""Making something in Rosetta's home while no other process does."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from rosetta.environments import state
from rosetta.environments.errors import EnvironmentUnavailable

Report = Callable[[str], None]
"""Receives single lines about what is being done."""


@contextlib.contextmanager
def alone(lock: Path, report: Report, what: str) -> Iterator[int]:
    """Holds the file `lock`; gives its descriptor, for a child to inherit.

    Whoever holds it is making `what`, and is waited for. The descriptor is closed, never unlocked:
    a child that outlives us keeps the lock. Raises OSError.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"another process is making {what}; waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Makes an EnvironmentUnavailable of what the operating system refuses."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            sentence = f"no space left on the disk of {state.home()}"
        else:
            sentence = f"{error.filename or state.home()}: {error.strerror or error}"
        raise EnvironmentUnavailable(sentence) from error


def spinner(console: Console | None, line: str) -> contextlib.AbstractContextManager[object]:
    """Turns behind `line` on `console`, where there is one."""
    return contextlib.nullcontext() if console is None else console.status(line)
