"""What the worker sends. Answers to short steps are held back for a moment, and sent together."""

from typing import Any, List, Tuple

from rosetta_worker.clock import now_ns
from rosetta_worker.wire import Arrays, Header

HELD_NS = 20 * 10**6
"""How old an answer may get before it is sent (SPEC section 7)."""


class Outbox:
    """Of one session. `channel` is a `Connection` or a `Tape`.

    Between two steps of a millisecond each, sending is dear: it finds nothing in the processor's
    caches, and wakes both ZeroMQ's thread and the coordinator while the next step computes.
    """

    def __init__(self, channel: Any) -> None:
        self.credit = 1
        """The coordinator's, from WELCOME: with half of it unanswered it has to hear from us."""
        self.held_ns = HELD_NS
        self._channel = channel
        self._next_id = 0
        self._held: List[Tuple[str, Header]] = []
        self._oldest_ns = 0

    def send(self, kind: str, arrays: Arrays, **fields: Any) -> None:
        """Send a message of type `kind`, behind all that is held back."""
        self.flush()
        self._send(kind, arrays, **fields)

    def hold(self, kind: str, took_ns: int, **fields: Any) -> None:
        """Send an answer without arrays, now or with the next ones.

        It took `took_ns` to make, and so will the next one, presumably. Whoever holds answers back
        calls `flush` before doing anything but the next step.
        """
        now = now_ns()
        if not self._held:
            self._oldest_ns = now
        self._held.append((kind, fields))
        if 2 * len(self._held) >= self.credit or now + took_ns - self._oldest_ns > self.held_ns:
            self.flush()

    def flush(self) -> None:
        """Send what is held back."""
        held, self._held = self._held, []
        for kind, fields in held:
            self._send(kind, {}, **fields)

    def _send(self, kind: str, arrays: Arrays, **fields: Any) -> None:
        fields.update(type=kind, id=self._next_id)
        self._next_id += 1
        self._channel.send(fields, arrays)
