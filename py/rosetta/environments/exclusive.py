"""Making something in Rosetta's home while no other process does."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from rosetta.environments import programs, state
from rosetta.environments.errors import EnvironmentUnavailable

_POLL_S = 0.1

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
        if not _locked(descriptor):
            report(f"another process is making {what}; waiting for it")
            while not _locked(
                descriptor
            ):  # not in flock, which nothing could interrupt in a thread
                programs.interrupt_if_ending()
                time.sleep(_POLL_S)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
