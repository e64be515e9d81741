"""The coordinator's socket: takes every worker's messages and hands each to its session."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import logging
import os
import secrets
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import zmq

from rosetta.coordinator.failure import WorkerFailureError
from rosetta.errors import UserError
from rosetta.protocol import VERSION, ProtocolError, UnknownMessageError, decode, encode
from rosetta.protocol.frames import Frames
from rosetta.protocol.limits import MAX_FRAME_BYTES
from rosetta.protocol.messages import FROM_WORKER, Hello, Message, Refuse

if TYPE_CHECKING:
    from rosetta.coordinator.session import Session

log = logging.getLogger(__name__)

_MEMORY_INTERVAL = 0.25
_LONGEST_SOCKET_PATH = 100  # sun_path holds 108 bytes on Linux, 104 on macOS
_LOGGED_STRANGERS = 20
_MESSAGES_AT_ONCE = 256
"""Most messages that one `pump` takes: whoever floods must not keep the others from their turn."""


class Router:
    """A bound ROUTER socket and the sessions behind it. Used from one thread."""

    def __init__(self, bind: str | None = None) -> None:
        """Bind to `bind` (`ipc://PATH`, or `tcp://127.0.0.1:PORT` with `*` for any port).

        None: an address of its own. Raises `UserError` for one in use or beyond this machine.
        """
        self._sessions: list[Session] = []
        self._by_identity: dict[bytes, Session] = {}
        self._ids = itertools.count()
        self._sampled = 0.0
        self.strangers = 0
        self._interrupted = False
        self._interruption_raised = False
        self._folder = Path(tempfile.mkdtemp(prefix="rosetta-"))
        bind = bind or _fresh_address(self._folder)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 1000
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
        try:
            _require_local(bind)
            _require_free(bind)
            self._socket.bind(bind)
        except (zmq.ZMQError, UserError) as error:
            self.close()
            if isinstance(error, UserError):
                raise
            raise UserError(f"can't listen at {bind}: {error}; choose another --bind") from error
        self.endpoint: str = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def new_key(self) -> str:
        """A key that ties one worker's HELLO to its connection file."""
        return secrets.token_hex(16)

    def next_id(self) -> int:
        """The `id` of the next message; unique over all sessions, so frames can be shared."""
        return next(self._ids)

    def add(self, session: Session) -> None:
        """Expect the HELLO of `session`."""
        self._sessions.append(session)

    def remove(self, session: Session) -> None:
        """Forget a session that is over; what it still sends is dropped."""
        if session in self._sessions:
            self._sessions.remove(session)
        self._by_identity = {i: s for i, s in self._by_identity.items() if s is not session}

    def send(self, identity: bytes, frames: Frames) -> None:
        """Send one message. Raises `WorkerFailureError` for a peer that is gone or doesn't read."""
        try:
            self._socket.send_multipart([identity, *frames], zmq.NOBLOCK, copy=False)
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
        if self._socket.poll(max(0, round(seconds * 1000))):
            with contextlib.suppress(zmq.Again):
                for _ in range(_MESSAGES_AT_ONCE):
                    identity, *frames = self._socket.recv_multipart(zmq.NOBLOCK, copy=False)
                    self._deliver(bytes(identity.buffer), [frame.buffer for frame in frames])
        self._sample_memory()

    def close(self) -> None:
        """Close the socket and remove its files."""
        self._socket.close()
        self._context.term()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _deliver(self, identity: bytes, frames: Frames) -> None:
        session = self._by_identity.get(identity)
        try:
            message, arrays = decode(frames, expected=FROM_WORKER)
        except UnknownMessageError as error:
            log.info("ignored: %s", error.sentence)
            return
        except ProtocolError as error:
            if session:
                session.broke_protocol(error)
            else:
                self._drop_stranger(error.sentence)
            return
        if session:
            session.deliver(message, arrays)
        elif isinstance(message, Hello):
            self._greet(identity, message)
        else:
            self._drop_stranger(f"{type(message).__name__} before HELLO")

    def _greet(self, identity: bytes, hello: Hello) -> None:
        session = next((s for s in self._sessions if _same_key(s.key, hello.key)), None)
        if session is None:
            self._refuse(identity, hello, "bad_key", "the key is not of a worker that is expected")
        elif hello.worker != session.name or hello.run != session.run:
            self._refuse(identity, hello, "bad_key", "run or worker name differ from the key's")
        elif session.identity is not None:
            self._refuse(identity, hello, "bad_state", f"worker {session.name} has joined already")
        elif hello.protocol.split(".")[0] != VERSION.split(".")[0]:
            reason = f"protocol {hello.protocol} is not spoken here: this is {VERSION}"
            self._refuse(identity, hello, "bad_version", reason)
            session.fail(WorkerFailureError("failed", reason))
        else:
            self._by_identity[identity] = session
            session.greeted(identity, hello)

    def _refuse(self, identity: bytes, hello: Hello, code: str, reason: str) -> None:
        log.warning("refused a worker: %s", reason)
        answer: Message = Refuse(id=self.next_id(), re=hello.id, code=code, reason=reason)
        with contextlib.suppress(WorkerFailureError):
            self.send(identity, encode(answer))

    def _drop_stranger(self, sentence: str) -> None:
        self.strangers += 1
        if self.strangers <= _LOGGED_STRANGERS:
            log.warning("dropped a message from an unknown peer: %s", sentence)

    def _sample_memory(self) -> None:
        now = time.monotonic()
        if now - self._sampled < _MEMORY_INTERVAL:
            return
        self._sampled = now
        for session in self._sessions:
            session.sample_memory()


def _same_key(ours: str, theirs: str) -> bool:
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "replace"))


def _fresh_address(folder: Path) -> str:
    """An ipc path in `folder`, or a loopback port where the path is too long for a socket."""
    path = folder / "coordinator"
    return f"ipc://{path}" if len(bytes(path)) < _LONGEST_SOCKET_PATH else "tcp://127.0.0.1:*"


def _require_local(bind: str) -> None:
    """Only this machine until the protocol's encryption is there: frames travel in the clear."""
    if bind.startswith("ipc://"):
        return
    host = bind.removeprefix("tcp://").rpartition(":")[0]
    if not bind.startswith("tcp://") or host not in ("127.0.0.1", "localhost", "[::1]"):
        raise UserError(
            f"can't listen at {bind}: only ipc:// and tcp://127.0.0.1:PORT are served, since "
            "nothing is encrypted; tunnel the port (ssh -L) to reach another machine"
        )


def _require_free(bind: str) -> None:
    """ZeroMQ removes whatever file stands at an ipc path, be it a thesis or a running socket."""
    path = Path(bind.removeprefix("ipc://"))
    if bind.startswith("ipc://") and os.path.lexists(path):
        raise UserError(f"can't listen at {bind}: the file exists; choose another --bind")
