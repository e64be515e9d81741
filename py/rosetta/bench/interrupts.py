"""Ctrl-C, SIGTERM and a closed terminal: each ends a run, and where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rosetta.coordinator import Router

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def orderly(router: Router) -> Iterator[None]:
    """While this lasts, a signal makes the router's next `pump` raise KeyboardInterrupt, once.

    Raised anywhere else it could hit between the start of a process and the line that remembers
    it, or in the middle of a record. Further signals change nothing: what follows the first is the
    clean-up, whose time is bounded.
    """
    with _handled_by(lambda number, frame: router.interrupt()):
        yield


@contextmanager
def at_once() -> Iterator[None]:
    """While this lasts, SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does."""
    with _handled_by(signal.default_int_handler):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    # Who started us with a signal ignored (nohup, a shell's background job) wants it ignored.
    heeded = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    for number in heeded:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in heeded.items():
            signal.signal(number, old)
