"""What the coordinator sent: taken in its order, and decoded several batches at once.

After a step nothing of this is in the processor's caches, and decoding a header takes ten times as
long as it should. Batches that wait already are decoded together: only the first one pays for that.
"""

from collections import deque
from typing import Any, Callable, Container, Deque, NamedTuple, Optional

from rosetta_worker.clock import now_ns
from rosetta_worker.wire import Arrays, Header, decode

_AT_ONCE = 32
"""Most messages that are decoded before the first of them is answered."""

Message = NamedTuple(
    "Message",
    [
        ("header", Header),
        ("arrays", Arrays),
        ("error", Optional[Exception]),
        ("wait_ns", int),
    ],
)
"""One that came; with `error` it can't be read. `wait_ns`: how long it was waited for."""


class Inbox:
    """Of one session. `channel` is a `Connection` or a `Tape`."""

    def __init__(self, channel: Any, known: Container[str]) -> None:
        """`known`: the types of messages that are answered; of others only the header is read."""
        self.shared: Any = None
        """The memory that arrays may lie in, once WELCOME has told of it."""
        self._channel = channel
        self._known = known
        self._messages: Deque[Message] = deque()

    def next(self, before_waiting: Callable[[], None]) -> Optional[Message]:
        """The next message; None at the end of a tape.

        `before_waiting` is called when there is none yet, before one is waited for. Raises
        `CoordinatorError` when the coordinator is gone, and `TapeError`.
        """
        if not self._messages:
            self._take_in(before_waiting)
        return self._messages.popleft() if self._messages else None

    def _take_in(self, before_waiting: Callable[[], None]) -> None:
        started = now_ns()
        frames = self._channel.receive_at_once()
        if frames is None:
            before_waiting()
            started = now_ns()
            frames = self._channel.receive()
        wait_ns = now_ns() - started
        while frames is not None:
            message = self._read(frames, wait_ns)
            self._messages.append(message)
            # What follows any other message may hang on how that one is answered.
            if message.header.get("type") != "BATCH" or len(self._messages) == _AT_ONCE:
                return
            wait_ns = 0  # the next one is here already
            frames = self._channel.receive_at_once()

    def _read(self, frames: Any, wait_ns: int) -> Message:
        try:
            header, arrays = decode(frames, self._known, self.shared)
            return Message(header, arrays, None, wait_ns)
        except Exception as error:  # whatever it is, it is answered in its turn
            return Message({}, {}, error, wait_ns)
