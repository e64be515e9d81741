"""Ctrl-C and SIGTERM, taken only where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from rosetta.coordinator import Router

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def orderly(router: Router) -> Iterator[None]:
    """While this lasts, a signal makes the router's next `pump` raise KeyboardInterrupt, once.

    Raised anywhere else it could hit between the start of a process and the line that remembers
    it, or in the middle of a record. Further signals change nothing: what follows the first is the
    clean-up, whose time is bounded.
    """

    def ask(number: int, frame: object) -> None:
        router.interrupt()

    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
