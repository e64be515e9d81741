"""The coordinator's socket: takes every worker's messages and hands each to its session."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import logging
import secrets
from pathlib import Path
from typing import Protocol

import zmq

from rosetta.coordinator import address
from rosetta.coordinator.encryption import CurveKeys, Encryption
from rosetta.coordinator.failure import WorkerFailureError
from rosetta.errors import UserError, one_line
from rosetta.protocol import VERSION, Arrays, ProtocolError, UnknownMessageError, decode, encode
from rosetta.protocol.frames import Frames, Greeting, read_greeting
from rosetta.protocol.limits import MAX_ANSWER_BYTES
from rosetta.protocol.messages import FROM_WORKER, Error, Hello, Message, Refuse
from rosetta.scratch import ScratchFolder

log = logging.getLogger(__name__)

_HEARD_STRANGERS = 20
# Plain integers: pyzmq's own flags take a microsecond to be joined, several times a message.
_AT_ONCE = int(zmq.NOBLOCK)
_MORE_FOLLOWS = int(zmq.NOBLOCK | zmq.SNDMORE)
_MESSAGES_AT_ONCE = 256
"""Most messages that one `pump` takes: whoever floods must not keep the others from their turn."""


class Listener(Protocol):
    """Whoever waits for one worker's messages."""

    name: str
    run: str
    key: str
    identity: bytes | None

    def greeted(self, identity: bytes, hello: Hello) -> None:
        """The worker's HELLO came and was accepted."""

    def deliver(self, message: Message, arrays: Arrays) -> None:
        """Another message of the worker came."""

    def broke_protocol(self, error: ProtocolError) -> None:
        """Something came that can't be read."""

    def fail(self, failure: WorkerFailureError) -> None:
        """The worker can't take part."""


class Router:
    """A bound ROUTER socket and the sessions behind it. Used from one thread."""

    def __init__(self, bind: str | None = None, *, encrypted: bool = False) -> None:
        """Bind to `bind` (`ipc://PATH`, or `tcp://ADDRESS:PORT` with `*` for any port).

        None: an address of its own. Raises `UserError` for one in use, and for one that other
        machines can reach unless everything is `encrypted`.
        """
        self._sessions: list[Listener] = []
        self._by_identity: dict[bytes, Listener] = {}
        self._ids = itertools.count()
        self.strangers = 0
        self._said = 0
        self.endpoint = ""
        self._interrupted = False
        self._interruption_raised = False
        self._scratch = ScratchFolder()
        self._encryption: Encryption | None = None
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._socket.linger = 1000
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        # A worker that connects anew keeps its name; the connection that broke must not hold it.
        self._socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER_BYTES)
        try:
            if encrypted:
                self._encryption = Encryption(self._context)
                self._encryption.protect(self._socket)
            self._socket.bind(address.chosen(bind, self._scratch.path, encrypted=encrypted))
        except (zmq.ZMQError, UserError) as error:
            self.close()
            if isinstance(error, UserError):
                raise
            raise UserError(f"can't listen at {bind}: {error}; choose another --bind") from error
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def new_key(self) -> str:
        """A key that ties one worker's HELLO to its connection file."""
        return secrets.token_hex(16)

    def admit(self) -> CurveKeys | None:
        """Keys with which one more worker can connect; None where nothing is encrypted."""
        return self._encryption.admit() if self._encryption else None

    def next_id(self) -> int:
        """The `id` of the next message; unique over all sessions, so frames can be shared."""
        return next(self._ids)

    def add(self, session: Listener) -> None:
        """Expect the HELLO of `session`."""
        self._sessions.append(session)

    def remove(self, session: Listener) -> None:
        """Forget a session that is over; what it still sends is dropped."""
        if session in self._sessions:
            self._sessions.remove(session)
        self._by_identity = {i: s for i, s in self._by_identity.items() if s is not session}

    def send(self, identity: bytes, frames: Frames) -> None:
        """Send one message. Raises `WorkerFailureError` for a peer that is gone or doesn't read."""
        try:
            self._socket.send(identity, _MORE_FOLLOWS)
            for frame in frames[:-1]:
                self._socket.send(frame, _MORE_FOLLOWS, copy=False)
            self._socket.send(frames[-1], _AT_ONCE, copy=False)
        except zmq.Again as error:
            raise WorkerFailureError("failed", "stopped reading its messages") from error
        except zmq.ZMQError as error:
            raise WorkerFailureError("crashed", "closed its connection") from error

    def interrupt(self) -> None:
        """Have the next `pump` raise KeyboardInterrupt; only the first call does. Signal-safe."""
        self._interrupted = True

    def pump(self, seconds: float) -> None:
        """Wait at most `seconds` for messages, and hand out all that are there."""
        if self._interrupted and not self._interruption_raised:
            self._interruption_raised = True
            raise KeyboardInterrupt
        if not self._take():
            self._poller.poll(max(0, round(seconds * 1000)))
            self._take()

    def _take(self) -> int:
        """Hand out the messages that are there; returns how many they were."""
        for count in range(_MESSAGES_AT_ONCE):
            try:
                frame = self._socket.recv(_AT_ONCE, copy=False)
            except zmq.Again:
                return count
            identity = frame.bytes
            frames: Frames = []
            while frame.more:
                frame = self._socket.recv(_AT_ONCE, copy=False)
                frames.append(frame.buffer)
            self._deliver(identity, frames)
        return _MESSAGES_AT_ONCE

    def close(self) -> None:
        """Close the socket and remove its files."""
        self._socket.close()
        if self._encryption:
            self._encryption.close()
        self._context.term()
        path = Path(self.endpoint.removeprefix("ipc://"))
        if self.endpoint.startswith("ipc://") and path.is_socket():
            path.unlink(missing_ok=True)
        self._scratch.remove()

    def _deliver(self, identity: bytes, frames: Frames) -> None:
        session = self._by_identity.get(identity)
        if session is None:
            self._meet(identity, frames)
            return
        try:
            session.deliver(*decode(frames, expected=FROM_WORKER))
        except UnknownMessageError as error:
            log.info("ignored: %s", error.sentence)
        except ProtocolError as error:
            session.broke_protocol(error)

    def _meet(self, identity: bytes, frames: Frames) -> None:
        """A message from a peer that hasn't greeted: its HELLO, or nothing that is listened to."""
        greeting = read_greeting(frames)
        if greeting is None:
            self._drop_stranger(identity, frames)
            return
        session = next((s for s in self._sessions if _same_key(s.key, greeting.key)), None)
        if session is None:
            reason = "the key is not of a worker that is expected"
            self._refuse(identity, greeting, "bad_key", reason)
        elif greeting.worker != session.name or greeting.run != session.run:
            reason = "run or worker name differ from the key's"
            self._refuse(identity, greeting, "bad_key", reason)
        elif session.identity is not None:
            reason = f"worker {session.name} has joined already"
            self._refuse(identity, greeting, "bad_state", reason)
        else:
            self._admit(session, identity, greeting, frames)

    def _admit(
        self, session: Listener, identity: bytes, greeting: Greeting, frames: Frames
    ) -> None:
        """Take in the worker that a session waits for, unless it speaks another language."""
        code, reason = "bad_version", f"protocol {greeting.protocol} is not spoken here: this is "
        if greeting.protocol.split(".")[0] == VERSION.split(".")[0]:
            try:
                hello, _ = decode(frames, expected=[Hello])
                assert isinstance(hello, Hello)
                self._by_identity[identity] = session
                session.greeted(identity, hello)
                return
            except ProtocolError as error:
                code, reason = error.code, f"its HELLO breaks the protocol: {error.sentence}"
        else:
            reason += VERSION
        self._refuse(identity, greeting, code, reason)
        session.fail(WorkerFailureError("failed", reason))

    def _refuse(self, identity: bytes, hello: Greeting, code: str, reason: str) -> None:
        self._say(f"refused a worker: {one_line(reason)}")
        answer: Message = Refuse(id=self.next_id(), re=hello.id, code=code, reason=reason)
        with contextlib.suppress(WorkerFailureError):
            self.send(identity, encode(answer))

    def _drop_stranger(self, identity: bytes, frames: Frames) -> None:
        """Nothing comes of it; a worker of an earlier run, which speaks the protocol, is told."""
        self.strangers += 1
        if not self._say("dropped a message from an unknown peer"):
            return
        try:
            decode(frames, expected=FROM_WORKER)
        except ProtocolError:
            return
        sentence = "no HELLO came from here: this coordinator doesn't know you"
        answer = Error(id=self.next_id(), code="bad_state", message=sentence, fatal=True)
        with contextlib.suppress(WorkerFailureError):
            self.send(identity, encode(answer))

    def _say(self, sentence: str) -> bool:
        """Log a line about a stranger; false when there were so many that they are ignored."""
        self._said += 1
        if self._said <= _HEARD_STRANGERS:
            log.warning("%s", sentence)
        return self._said <= _HEARD_STRANGERS


def _same_key(ours: str, theirs: str) -> bool:
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "replace"))
