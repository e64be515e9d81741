"""With CURVE: whoever has a connection file joins; all others learn and change nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from bare_peer import RUN, Peer, pump_until
from rosetta import workers
from rosetta.coordinator import Process, Router, Session, address
from rosetta.coordinator.encryption import CurveKeys

NUMPY = workers.get("numpy").folder


@pytest.fixture
def router() -> Iterator[Router]:
    made = Router("tcp://127.0.0.1:*", encrypted=True)
    yield made
    made.close()


@pytest.fixture
def session(router: Router) -> Session:
    return Session(router, "numpy", RUN)


def test_a_worker_with_its_keys_is_taken(
    router: Router, session: Session, context: zmq.Context[Any]
) -> None:
    keys = router.admit()
    assert keys
    Peer(context, router.endpoint, keys).hello(session)
    assert pump_until(router, lambda: session.identity is not None)


@pytest.mark.parametrize("kind", ["no encryption", "keys of its own"])
def test_a_stranger_learns_and_changes_nothing(
    kind: str, router: Router, session: Session, context: zmq.Context[Any]
) -> None:
    """Even one that knows the session's key: it doesn't get as far as saying it."""
    keys = router.admit()
    assert keys
    own = CurveKeys(keys.server_key, *(key.decode() for key in zmq.curve_keypair()))
    endpoint = router.endpoint
    stranger = Peer(context, endpoint, own if kind == "keys of its own" else None)
    stranger.hello(session)
    stranger.raw(b"\xc1 garbage")
    assert not pump_until(router, lambda: session.identity is not None, seconds=1.0)
    assert router.strangers == 0
    assert not stranger.socket.poll(0)
    Peer(context, endpoint, keys).hello(session)
    assert pump_until(router, lambda: session.identity is not None)


class Tap:
    """A machine in the middle: passes everything on, and keeps a copy."""

    def __init__(self, port: int) -> None:
        self.seen = bytearray()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        self._target = port
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        near, _ = self._server.accept()
        far = socket.create_connection(("127.0.0.1", self._target))
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self.seen += data
                sink.sendall(data)
        except OSError:
            pass


@pytest.mark.parametrize("encrypted", [False, True])
def test_who_listens_on_the_wire_sees_no_message(
    encrypted: bool, context: zmq.Context[Any]
) -> None:
    """Without encryption the same tap reads the key: the test can see what it looks for."""
    router = Router("tcp://127.0.0.1:*", encrypted=encrypted)
    session = Session(router, "numpy", RUN)
    tap = Tap(int(router.endpoint.rpartition(":")[2]))
    keys = router.admit()
    peer = Peer(context, tap.endpoint, keys)
    peer.hello(session)
    assert pump_until(router, lambda: session.identity is not None)
    session.await_hello(time.monotonic())
    assert peer.receive()[0]["type"] == "WELCOME"
    words = [session.key.encode(), b"language_version", b"reconnect_ns", RUN.encode()]
    assert [word in tap.seen for word in words] == [not encrypted] * len(words)
    router.close()


def test_a_real_worker_joins_by_its_connection_file(router: Router, tmp_path: Path) -> None:
    session = Session(router, "numpy", RUN)
    file = tmp_path / "connection.json"
    session.write_connection_file(file)
    command = [sys.executable, "-m", "rosetta_worker", str(NUMPY), "--connect", str(file)]
    session.process = Process(command, dict(os.environ), tmp_path / "log", tmp_path)
    assert session.await_hello(time.monotonic()).framework == "NumPy"
    session.bye()
    session.close()


def test_a_worker_with_the_keys_of_another_run_is_told(router: Router, tmp_path: Path) -> None:
    """At once, and not after a wait for a coordinator that is there."""
    session = Session(router, "numpy", RUN)
    file = tmp_path / "connection.json"
    session.write_connection_file(file)
    content = json.loads(file.read_text())
    public, secret = (key.decode() for key in zmq.curve_keypair())
    content["curve"].update(public_key=public, secret_key=secret)
    file.write_text(json.dumps(content))
    command = [sys.executable, "-m", "rosetta_worker", str(NUMPY), "--connect", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "doesn't know this connection file's keys" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["server_key", "public_key", "secret_key"])
@pytest.mark.parametrize("value", [None, 3, "short", "x" * 41, "\N{GREEK SMALL LETTER PI}" * 40])
def test_keys_that_are_none_are_said(key: str, value: Any, router: Router, tmp_path: Path) -> None:
    session = Session(router, "numpy", RUN)
    file = tmp_path / "connection.json"
    session.write_connection_file(file)
    content = json.loads(file.read_text())
    content["curve"][key] = value
    file.write_text(json.dumps(content))
    command = [sys.executable, "-m", "rosetta_worker", str(NUMPY), "--connect", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "`curve` lacks one of server_key, public_key, secret_key" in done.stderr


def test_bound_to_all_addresses_each_side_gets_one_that_it_can_reach(tmp_path: Path) -> None:
    router = Router("tcp://0.0.0.0:*", encrypted=True)
    port = router.endpoint.rpartition(":")[2]
    session = Session(router, "numpy", RUN)
    session.write_connection_file(tmp_path / "here")
    session.write_connection_file(tmp_path / "elsewhere", elsewhere=True)
    router.close()
    ends = [json.loads((tmp_path / name).read_text())["endpoint"] for name in ("here", "elsewhere")]
    assert ends == [f"tcp://127.0.0.1:{port}", f"tcp://{socket.gethostname()}:{port}"]
    assert address.from_elsewhere("ipc:///tmp/x") == "ipc:///tmp/x"
