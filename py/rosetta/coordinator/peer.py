"""One worker as the coordinator hears it: its messages in order, and whether it is still there."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import psutil

from rosetta.coordinator.deadlines import Deadlines
from rosetta.coordinator.failure import WorkerFailureError
from rosetta.coordinator.prepared import Plane, PreparedMessage
from rosetta.coordinator.process import Process
from rosetta.coordinator.router import Router
from rosetta.protocol import Arrays, ProtocolError, encode
from rosetta.protocol.frames import Frames
from rosetta.protocol.messages import Answer, Error, Hello, Message

PUMP_SECONDS = 0.1
_INBOX_SLACK = 16
_DYING_SECONDS = 1.0
_LAST_WORDS_SECONDS = 0.3
_NO_DEVICE = 3
"""Exit status of a worker that doesn't have the device it was asked for (SPEC section 7)."""

AnswerKind = TypeVar("AnswerKind", bound=Answer)


class Peer:
    """Sends a worker messages and takes its answers; a failure is a `WorkerFailureError`."""

    def __init__(
        self, router: Router, name: str, run: str, deadlines: Deadlines, credit: int
    ) -> None:
        self.name = name
        self.run = run
        self.key = router.new_key()
        self.credit = credit
        self.heavy_credit = credit
        """The same for messages that carry arrays: each takes memory in two processes."""
        self.plane: Plane = "inline"
        self.process: Process | None = None
        self.identity: bytes | None = None
        self.hello: Hello | None = None
        self.inbox: deque[tuple[Message, Arrays]] = deque()
        self.deadlines = deadlines
        self.router = router
        self.answered: set[type[Message]] = set()
        self._failure: WorkerFailureError | None = None
        self._unreadable: WorkerFailureError | None = None
        router.add(self)

    # --- what the router tells ------------------------------------------------------------------

    def greeted(self, identity: bytes, hello: Hello) -> None:
        """The worker's HELLO came and was accepted."""
        self.identity = identity
        self.hello = hello

    def deliver(self, message: Message, arrays: Arrays) -> None:
        """A message of this worker came."""
        if len(self.inbox) >= self.credit + _INBOX_SLACK:
            self.fail(WorkerFailureError("failed", "floods the coordinator with messages"))
            return
        self.inbox.append((message, arrays))

    def broke_protocol(self, error: ProtocolError) -> None:
        """The worker sent something that can't be read: it is told, and its row fails."""
        self._unreadable = WorkerFailureError("failed", f"broke the protocol: {error.sentence}")
        self.fail(self._unreadable)
        answer = Error(
            id=self.router.next_id(), re=error.re, code=error.code, message=str(error), fatal=True
        )
        if self.identity is not None:
            with contextlib.suppress(WorkerFailureError):
                self.router.send(self.identity, encode(answer))

    def fail(self, failure: WorkerFailureError) -> None:
        """Remember why this worker can't go on; raised when what it said before is used up."""
        self._failure = self._failure or failure

    # --- asking ---------------------------------------------------------------------------------

    def ask(
        self, message: Message, arrays: Arrays, kind: type[AnswerKind], seconds: float
    ) -> tuple[AnswerKind, Arrays]:
        """Send a message and wait for its answer."""
        self.send(encode(message, arrays))
        return self.receive(kind, message.id, seconds)

    def pipeline(
        self, requests: Iterable[PreparedMessage], kind: type[AnswerKind]
    ) -> Iterator[tuple[PreparedMessage, AnswerKind, Arrays]]:
        """Send `requests` with at most `credit` of them unanswered; yield each with its answer.

        Every answer that came is yielded before a failure is raised: what a worker has reported
        counts, whatever becomes of it afterwards.
        """
        under_way: deque[PreparedMessage] = deque()
        for request in requests:
            frames = request.frames_on(self.plane)
            most = self.credit if len(frames) == 1 else self.heavy_credit
            while len(under_way) >= most:
                yield self._next_answer(under_way, kind)
            try:
                self.send(frames)
            except WorkerFailureError:
                self.router.pump(0)
                while under_way and self.inbox:
                    yield self._next_answer(under_way, kind)
                raise
            under_way.append(request)
        while under_way:
            yield self._next_answer(under_way, kind)

    def send(self, frames: Frames) -> None:
        """Send one message."""
        if self.identity is None:
            raise WorkerFailureError("failed", "has not joined")
        self._check_alive()
        try:
            self.router.send(self.identity, frames)
        except WorkerFailureError as failure:
            raise self._cause_of(failure) from failure

    def receive(self, kind: type[AnswerKind], re: int, seconds: float) -> tuple[AnswerKind, Arrays]:
        """The answer to message `re`; anything else that the worker says is a failure."""
        due = f"{kind.__name__.upper()} re {re}"
        self.wait_until(lambda: bool(self.inbox), seconds, kind.__name__.upper())
        message, arrays = self.inbox.popleft()
        if isinstance(message, Error):
            raise WorkerFailureError("failed", f"ERROR {message.code}: {message.message}")
        if not isinstance(message, kind) or message.re != re:
            if self._unreadable:  # an answer that couldn't be read is missing from the order
                raise self._unreadable
            said = f"{type(message).__name__.upper()} re {getattr(message, 're', None)}"
            raise WorkerFailureError("failed", f"sent {said} where {due} was due")
        return message, arrays

    def wait_until(
        self,
        condition: Callable[[], bool],
        seconds: float,
        awaited: str,
        since: float | None = None,
    ) -> None:
        """Take messages until `condition` holds, for at most `seconds` (from `since`, else now)."""
        deadline = (time.monotonic() if since is None else since) + seconds
        while not condition():
            self._check_alive()
            left = deadline - time.monotonic()
            if left <= 0:
                self.router.pump(0)  # we may have been stopped meanwhile, not the worker
                if condition():
                    return
                words = self.process.last_words() if self.process else ""
                raise WorkerFailureError("timeout", f"no {awaited} within {seconds:g} s{words}")
            self.router.pump(min(PUMP_SECONDS, left))

    # --- whether it is there --------------------------------------------------------------------

    def exited(self) -> bool:
        """Its process is gone; false where that can't be seen from here."""
        if self.process:
            return self.process.exit_status() is not None
        if self.hello and self.hello.host == socket.gethostname():
            return not psutil.pid_exists(self.hello.pid)
        return False

    def _next_answer(
        self, under_way: deque[PreparedMessage], kind: type[AnswerKind]
    ) -> tuple[PreparedMessage, AnswerKind, Arrays]:
        # Training and predicting are compiled apart: the first of each may take its time.
        first = kind not in self.answered
        seconds = self.deadlines.first_step if first else self.deadlines.step
        answer, arrays = self.receive(kind, under_way[0].message.id, seconds)
        self.answered.add(kind)
        return under_way.popleft(), answer, arrays

    def _check_alive(self) -> None:
        if self._failure:
            raise self._failure
        if not self.exited():
            return
        # What it said before it died comes first, and may still be on its way through ZeroMQ.
        deadline = time.monotonic() + _LAST_WORDS_SECONDS
        while not self.inbox and (left := deadline - time.monotonic()) > 0:
            self.router.pump(left)
        if not self.inbox:
            self.fail(self._death())
            raise self._death()

    def _death(self) -> WorkerFailureError:
        if self.process is None:
            return WorkerFailureError("crashed", "its process is gone")
        if self.hello is None and self.process.exit_status() == _NO_DEVICE:
            return WorkerFailureError("skipped", self.process.last_words(1).removeprefix(": "))
        return WorkerFailureError("crashed", self.process.exit_reason() or "")

    def _cause_of(self, failure: WorkerFailureError) -> WorkerFailureError:
        """How the process ended says more than that its connection broke."""
        gone = failure.status == "crashed" and self.process and self.process.wait(_DYING_SECONDS)
        return self._death() if gone else failure
