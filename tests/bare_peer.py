"""Peers that speak the protocol with bare pyzmq and msgpack, over real sockets."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq

from rosetta import tasks
from rosetta.coordinator import (
    PreparedMessage,
    Router,
    Session,
    WorkerFailureError,
    prepare_batch,
)
from rosetta.coordinator.encryption import CurveKeys
from rosetta.protocol.messages import Ready

RUN = "run-1"
MLP = tasks.load("mlp").override(batch_size=4)
Header = dict[str, Any]


class Peer:
    """A DEALER socket that connects to a coordinator."""

    def __init__(
        self, context: zmq.Context[Any], endpoint: str, keys: CurveKeys | None = None
    ) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 500
        if keys:
            self.socket.curve_serverkey = keys.server_key.encode()
            self.socket.curve_publickey = keys.public_key.encode()
            self.socket.curve_secretkey = keys.secret_key.encode()
        self.socket.connect(endpoint)
        self._numbers = itertools.count()

    def send(self, kind: str, *frames: bytes, **fields: Any) -> int:
        """Send a message; returns its id."""
        header = {"type": kind, "id": next(self._numbers), **fields}
        self.raw(msgpack.packb(header), *frames)
        return header["id"]

    def raw(self, *frames: bytes) -> None:
        self.socket.send_multipart(frames)

    def hello(self, session: Session, **changes: Any) -> int:
        hello = {
            "protocol": "1.0",
            "run": session.run,
            "key": session.key,
            "worker": session.name,
            "pid": 1,
            "language": "python",
            "language_version": "3",
            "framework": "bare",
            "framework_version": "1",
            "device": "cpu",
            "threads": 1,
            "tasks": ["mlp"],
            "dtypes": ["float32"],
            "planes": ["inline"],
        }
        return self.send("HELLO", **{**hello, **changes})

    def receive(self, seconds: float = 5.0) -> tuple[Header, list[bytes]]:
        """The next message and its frames; AssertionError when none comes."""
        assert self.socket.poll(round(seconds * 1000)), "no message came"
        header, *frames = self.socket.recv_multipart()
        return msgpack.unpackb(header), frames

    def close(self) -> None:
        self.socket.close()


def answer(peer: Peer, header: Header, frames: list[bytes], **changes: Any) -> None:
    """The right answer to a message, or with some of its fields changed."""
    kind, re = header["type"], header["id"]
    times = {"wait_ns": 1, "copy_ns": 1}
    if kind == "SETUP":
        fields = {
            "parameter_count": 101_770,
            "parameters": [{"name": a["name"], "shape": a["shape"]} for a in header["arrays"]],
            "threads": header["threads"],
            "setup_ns": 1,
        }
        peer.send("READY", **{"re": re, **fields, **changes})
    elif kind == "BATCH":
        fields = {"re": re, "step": header["step"], "loss": 1.0, "step_ns": 1, **times}
        peer.send("RESULT", **{**fields, **changes})
    elif kind == "PREDICT":
        samples = header["arrays"][0]["shape"][0]
        inputs = np.frombuffer(frames[0], np.uint8).reshape(samples, -1)
        logits = inputs[:, :10].astype(np.float32)
        arrays = [{"name": "logits", "dtype": "float32", "shape": list(logits.shape)}]
        fields = {"re": re, "arrays": arrays, "predict_ns": 1, **times}
        peer.send("PREDICTIONS", logits.tobytes(), **{**fields, **changes})
    elif kind == "END":
        peer.send("ENDED", **{"re": re, **changes})
    elif kind == "BYE":
        peer.send("BYE", **{"re": re, **changes})


def pump_until(router: Router, condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether `condition` comes true while the router works."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        router.pump(0.02)
    return condition()


Behaviour = Callable[[Peer, Header, list[bytes]], None]


class Scripted:
    """A worker in a thread: greets, then does what `behave` says with each message until BYE."""

    def __init__(
        self,
        context: zmq.Context[Any],
        endpoint: str,
        session: Session,
        behave: Behaviour,
        **hello: Any,
    ) -> None:
        """`hello`: what differs in its HELLO."""
        self.received: list[Header] = []
        self._over = threading.Event()
        self._peer = Peer(context, endpoint)
        arguments = (session, behave, hello)
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def _run(self, session: Session, behave: Behaviour, hello: dict[str, Any]) -> None:
        self._peer.hello(session, **hello)
        with contextlib.suppress(StopIteration):  # raised by a script that leaves early
            while "BYE" not in self.kinds and not self._over.is_set():
                if self._peer.socket.poll(20):
                    header, frames = self._peer.receive()
                    self.received.append(header)
                    behave(self._peer, header, frames)
        self._peer.close()

    @property
    def kinds(self) -> list[str]:
        return [header["type"] for header in self.received]

    def join(self) -> None:
        """Wait for the end of the script: its socket is closed then."""
        self._thread.join(10)
        assert not self._thread.is_alive()

    def stop(self) -> None:
        """End the script, wherever it is."""
        self._over.set()
        self.join()


@contextlib.contextmanager
def fails(status: str, words: str) -> Iterator[None]:
    """What is done inside ends the worker's part, with this status and words in the reason."""
    with pytest.raises(WorkerFailureError) as caught:
        yield
    assert words in caught.value.reason
    assert caught.value.status == status


def batches(router: Router, count: int, start: int = 0) -> list[PreparedMessage]:
    inputs, labels = np.zeros((4, 784), np.uint8), np.zeros(4, np.int32)
    steps = range(start, start + count)
    return [prepare_batch(router.next_id(), step, inputs, labels) for step in steps]


def set_up(session: Session, **changes: Any) -> Ready:
    parameters = tasks.initial_parameters(MLP, 1)
    usual = {"seed": 1, "dropout": True}
    return session.setup(MLP, parameters, **{**usual, **changes})


def replacing(kind: str, act: Behaviour) -> Behaviour:
    """A worker that does `act` with messages of one kind, and answers the others."""

    def behave(peer: Peer, header: Header, frames: list[bytes]) -> None:
        (act if header["type"] == kind else answer)(peer, header, frames)

    return behave
