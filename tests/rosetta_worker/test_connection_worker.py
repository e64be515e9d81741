"""A worker's process and its socket: how it joins, what it does when the coordinator is away.

Python's and Julia's alike.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq

from rosetta_worker import connection, wire

LIMIT_MS = 30_000
SECOND_NS = 10**9
INPUT = {"kind": "pixels", "dtype": "uint8", "shape": [3]}
TASK = {"name": "tiny", "layers": [], "parameters": [], "input": INPUT, "classes": 2}
SETUP = {"task": TASK, "batch_size": 2, "seed": 1, "dropout": False, "threads": 1}


class Coordinator:
    """A bare ROUTER that listens at one endpoint, and knows one worker."""

    def __init__(self, endpoint: str) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.linger = 1000
        self.socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self.socket.bind(endpoint)
        self.endpoint = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.worker = b""

    def receive(self) -> dict[str, Any]:
        assert self.socket.poll(LIMIT_MS), "the worker says nothing"
        self.worker, *frames = self.socket.recv_multipart()
        return wire.decode(frames)[0]

    def send(self, kind: str, number: int, arrays: Any = None, **fields: Any) -> None:
        header = {"type": kind, "id": number} | fields
        self.socket.send_multipart([self.worker, *wire.encode(header, arrays or {})])

    def welcome(self, reconnect_ns: int) -> dict[str, Any]:
        hello = self.receive()
        self.send("WELCOME", 0, re=0, protocol="1.0", credit=1, reconnect_ns=reconnect_ns)
        return hello

    def close(self) -> None:
        self.socket.close()
        self.context.term()


@pytest.fixture(params=["ipc", "tcp"])
def coordinator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Coordinator]:
    endpoint = "tcp://127.0.0.1:*" if request.param == "tcp" else f"ipc://{tmp_path}/c"
    coordinator = Coordinator(endpoint)
    yield coordinator
    coordinator.close()


def content(endpoint: str, **changes: Any) -> dict[str, Any]:
    fields = {"protocol": "1.0", "endpoint": endpoint, "run": "run-1", "key": "secret"}
    return fields | {"worker": "me", "device": "cpu", "threads": 1} | changes


def connection_file(folder: Path, content: Any) -> Path:
    path = folder / "connection.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def start(runtime: Any, tmp_path: Path) -> Callable[..., int]:
    """Starts a worker that connects to an endpoint; returns its process id."""

    def start(endpoint: str, folder: Path | None = None) -> int:
        file = connection_file(tmp_path, content(endpoint))
        return runtime.start(folder or runtime.folder, "--connect", file)

    return start


def gated(runtime: Any, tmp_path: Path) -> Path:
    """The folder of a backend that waits for the file `gate` in it."""
    folder = tmp_path / "gated"
    folder.mkdir()
    name, backend = runtime.gated
    (folder / name).write_text(backend)
    return folder


# --- joining --------------------------------------------------------------------------------------


def test_a_worker_greets_with_what_it_is_and_what_the_connection_file_says(
    coordinator, runtime, start
):
    process = start(coordinator.endpoint)
    hello = coordinator.welcome(SECOND_NS)
    coordinator.send("BYE", 1)
    bye = coordinator.receive()

    said = {name: hello[name] for name in ("type", "id", "protocol", "run", "key", "worker")}
    assert said == {
        "type": "HELLO", "id": 0, "protocol": "1.0", "run": "run-1", "key": "secret", "worker": "me"
    }  # fmt: skip
    assert hello["pid"] == process
    assert (hello["language"], hello["language_version"]) == (runtime.language, runtime.version)
    assert (hello["framework"], hello["framework_version"]) == (runtime.framework, "1")
    assert hello["versions"].items() >= runtime.versions.items()
    assert (hello["device"], hello["threads"], hello["planes"][0]) == ("cpu", 1, "inline")
    assert hello["tasks"] == list(runtime.tasks)
    assert set(hello["dtypes"]) == set(wire.DTYPES)
    assert bye == {"type": "BYE", "id": 1, "re": 1}
    assert runtime.end() == (0, "")


def test_a_worker_may_be_started_before_its_coordinator(tmp_path, runtime, start):
    start(f"ipc://{tmp_path}/later")
    time.sleep(0.5)
    coordinator = Coordinator(f"ipc://{tmp_path}/later")
    try:
        coordinator.welcome(SECOND_NS)
        coordinator.send("BYE", 1)
        assert coordinator.receive()["type"] == "BYE"
    finally:
        coordinator.close()
    assert runtime.end() == (0, "")


# --- a coordinator that isn't there ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ipc", "tcp"])
def test_without_a_coordinator_a_worker_gives_up_after_its_patience(kind, tmp_path, runtime):
    # Nobody listens at the port of a socket that was just closed.
    free = Coordinator("tcp://127.0.0.1:*")
    free.close()
    endpoint = free.endpoint if kind == "tcp" else f"ipc://{tmp_path}/nobody"
    started = time.monotonic()
    sentence = runtime.wait_in_vain(endpoint, SECOND_NS // 2)
    assert time.monotonic() - started >= 0.5
    assert sentence == f"no coordinator at {endpoint}"


def test_the_first_coordinator_is_waited_for_as_long_as_the_specification_says():
    spec = (Path(__file__).parents[2] / "protocol" / "SPEC.md").read_text(encoding="utf-8")
    said = f"before WELCOME for {connection.FIRST_CONTACT_NS // SECOND_NS} seconds"
    assert said in " ".join(spec.split())


def test_a_worker_leaves_when_its_coordinator_stays_away(coordinator, runtime, start):
    start(coordinator.endpoint)
    coordinator.welcome(reconnect_ns=SECOND_NS // 2)
    coordinator.send("END", 1)
    coordinator.receive()
    coordinator.close()
    assert runtime.end() == (1, f"rosetta worker: no coordinator at {coordinator.endpoint}\n")


def test_what_was_left_to_do_is_left_when_the_coordinator_stays_away(
    coordinator, runtime, start, tmp_path
):
    """Twenty seconds of steps are there; after half a second nobody will ask for them."""
    gated(runtime, tmp_path).joinpath("gate").touch()
    start(coordinator.endpoint, tmp_path / "gated")
    coordinator.welcome(reconnect_ns=SECOND_NS // 2)
    coordinator.send("SETUP", 1, **SETUP | {"task": TASK | {"optimiser": {"kind": "sgd"}}})
    assert coordinator.receive()["type"] == "READY"
    arrays = {"inputs": np.zeros((2, 3), np.uint8), "labels": np.zeros(2, np.int32)}
    for step in range(100):
        coordinator.send("BATCH", 2 + step, arrays, step=step)
    assert coordinator.receive()["type"] == "RESULT"
    coordinator.close()
    left = time.monotonic()
    assert runtime.end() == (1, f"rosetta worker: no coordinator at {coordinator.endpoint}\n")
    assert time.monotonic() - left < 12


def test_a_coordinator_that_comes_back_in_time_is_served_again(coordinator, runtime, start):
    start(coordinator.endpoint)
    coordinator.welcome(reconnect_ns=20 * SECOND_NS)
    coordinator.send("END", 1)
    coordinator.receive()
    coordinator.close()
    again = Coordinator(coordinator.endpoint)
    again.worker = coordinator.worker
    try:
        send_when_connected(again, "BYE", 2)
        assert again.receive() == {"type": "BYE", "id": 2, "re": 2}
        assert again.worker == coordinator.worker
    finally:
        again.close()
    assert runtime.end() == (0, "")


def send_when_connected(coordinator: Coordinator, kind: str, number: int) -> None:
    until = time.monotonic() + 15
    while True:
        try:
            coordinator.send(kind, number)
            return
        except zmq.ZMQError as error:
            assert error.errno == zmq.EHOSTUNREACH and time.monotonic() < until
            time.sleep(0.05)


def test_an_answer_that_was_due_meanwhile_reaches_the_coordinator_that_came_back(
    coordinator, runtime, start, tmp_path
):
    folder = gated(runtime, tmp_path)
    start(coordinator.endpoint, folder)
    coordinator.welcome(reconnect_ns=20 * SECOND_NS)
    coordinator.send("SETUP", 1, **SETUP)
    coordinator.close()  # delivers first
    again = Coordinator(coordinator.endpoint)
    try:
        (folder / "gate").touch()
        ready = again.receive()
        assert (ready["type"], ready["re"]) == ("READY", 1)
        again.send("BYE", 2)
        assert again.receive()["type"] == "BYE"
    finally:
        again.close()
    assert runtime.end() == (0, "")


# --- connection files -----------------------------------------------------------------------------

GOOD = content("tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (None, "No such file"),
        ("", "connection.json"),
        ("not JSON", "connection.json"),
        ("\ud800", "connection.json"),
        ([GOOD], "not a JSON object"),
        *[({k: v for k, v in GOOD.items() if k != key}, f"lacks {key}") for key in list(GOOD)[:5]],
        (GOOD | {"endpoint": 5}, "lacks endpoint"),
        (GOOD | {"protocol": 1}, "lacks protocol"),
        ({}, "lacks protocol, endpoint, run, key, worker"),
        (GOOD | {"protocol": "2.0"}, "is for protocol 2.0; this worker speaks 1.0"),
        (GOOD | {"protocol": "10.0"}, "is for protocol 10.0"),
        (GOOD | {"endpoint": "somewhere"}, "endpoint 'somewhere'"),
        *[(GOOD | {"threads": wrong}, "threads") for wrong in ("2", 0, 65537, 1.5, True)],
        (GOOD | {"device": 5}, "device"),
        (GOOD | {"endpoint": "carrier-pigeon://loft"}, "endpoint 'carrier-pigeon://loft'"),
    ],
)
def test_an_unusable_connection_file_is_one_line(file, words, tmp_path, runtime):
    path = tmp_path / "connection.json"
    if file is not None:
        text = file if isinstance(file, str) else json.dumps(file)
        path.write_text(text, errors="surrogatepass")
    status, errors = runtime.run(runtime.folder, "--connect", path)
    assert status == 1
    assert errors.startswith("rosetta worker: ") and words in errors
    assert errors.count("\n") == 1


def test_a_later_minor_version_is_welcome(tmp_path):
    path = connection_file(tmp_path, GOOD | {"protocol": "1.7", "mood": "good"})
    assert connection.read(str(path))["endpoint"] == "tcp://127.0.0.1:9"


# --- closing --------------------------------------------------------------------------------------


def test_close_never_waits_long_for_a_coordinator_that_does_not_listen(tmp_path, runtime):
    header = msgpack.packb({"type": "VALUES", "id": 0, "re": 0})
    said = [[header, bytes(400_000)]] * 10
    assert runtime.seconds_to_close(f"ipc://{tmp_path}/nobody", said) < 10


def test_close_sends_what_was_said_last(coordinator):
    channel = connection.Connection(coordinator.endpoint)
    channel.send({"type": "BYE", "id": 0}, {})
    channel.close()
    assert coordinator.receive() == {"type": "BYE", "id": 0}
