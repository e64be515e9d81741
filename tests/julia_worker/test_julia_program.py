"""Julia workers as processes, with real sockets, signals and tapes."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq
from zmq.utils import z85

from julia_worker import julia_process
from rosetta_worker import tape, wire

LIMIT_MS = 60_000
INPUT = {"kind": "pixels", "dtype": "uint8", "shape": [3], "scale": 1 / 255}
TASK = {
    "name": "tiny",
    "layers": [],
    "parameters": [{"name": "fc.weight", "shape": [2, 3]}],
    "input": INPUT,
    "classes": 2,
    "optimiser": {"kind": "sgd", "learning_rate": 0.5},
}
SETUP = {"task": TASK, "batch_size": 4, "seed": 1, "dropout": False, "threads": 1}
RANDOM = np.random.default_rng(1)
WEIGHT = RANDOM.normal(size=(2, 3)).astype(np.float32)
BATCHES = [
    {
        "inputs": RANDOM.integers(0, 256, (4, 3), np.uint8),
        "labels": RANDOM.integers(0, 2, 4, np.int32),
    }
    for _ in range(5)
]

# Never comes back, and has no place where Julia could interrupt it.
ENDLESS = """
start(device, threads) = (framework = (name = "endless", version = "1"), tasks = ["tiny"])
build(setup, parameters) = (while true end)
to_device(network, inputs, labels) = nothing
train_step!(network, batch) = 0.0
set_learning_rate!(network, rate) = nothing
predict(network, inputs) = nothing
parameters(network) = Dict()
"""


def message(kind: str, number: int, arrays: Any = None, **fields: Any) -> list[bytes]:
    frames = wire.encode({"type": kind, "id": number} | fields, arrays or {})
    return [bytes(memoryview(frame)) for frame in frames]


WELCOME = message("WELCOME", 0, re=0, protocol="1.0", credit=2, reconnect_ns=10**9)
QUESTIONS = [
    message("SETUP", 1, {"fc.weight": WEIGHT}, **SETUP),
    *[message("BATCH", 2 + step, batch, step=step) for step, batch in enumerate(BATCHES)],
    message("PREDICT", 20, {"inputs": BATCHES[0]["inputs"]}),
    message("PARAMETERS", 21),
    message("END", 22),
    message("BYE", 23),
]


class Router:
    """A bare ROUTER for one worker."""

    def __init__(self, endpoint: str, secret: str = "") -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.linger = 0
        if secret:
            self.socket.curve_server = True
            self.socket.curve_secretkey = secret.encode()
        self.socket.bind(endpoint)
        self.endpoint = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.worker = b""

    def receive(self) -> list[bytes]:
        assert self.socket.poll(LIMIT_MS), "the worker says nothing"
        self.worker, *frames = self.socket.recv_multipart()
        return frames

    def send(self, frames: list[bytes]) -> None:
        self.socket.send_multipart([self.worker, *frames])

    def connection_file(self, folder: Path, **more: Any) -> Path:
        content = {"protocol": "1.0", "endpoint": self.endpoint, "run": "r", "key": "k"}
        path = folder / "connection.json"
        path.write_text(json.dumps(content | {"worker": "w", "threads": 1} | more))
        return path

    def close(self) -> None:
        self.socket.close()
        self.context.term()


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    made = Router(f"ipc://{tmp_path}/c")
    yield made
    made.close()


@pytest.fixture
def start(julia: str, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Julia workers as processes, in an empty folder; none outlives its test."""
    started: list[subprocess.Popen[str]] = []
    (tmp_path / "cwd").mkdir()

    def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(
            julia_process.command(julia, arguments),
            **{**pipes, "cwd": tmp_path / "cwd", "env": julia_process.environment(), **options},
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def softmax_regression() -> tuple[list[float], np.ndarray]:
    """(losses, weights at the end) of the tiny task, in float64."""
    weight, losses = WEIGHT.astype(np.float64), []
    for batch in BATCHES:
        inputs, samples = batch["inputs"] / 255, np.arange(4)
        logits = inputs @ weight.T
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        likelihoods = exponentials / exponentials.sum(axis=1, keepdims=True)
        losses.append(-np.log(likelihoods[samples, batch["labels"]]).mean())
        likelihoods[samples, batch["labels"]] -= 1
        weight = weight - 0.5 * likelihoods.T @ inputs / 4
    return losses, weight


# --- the package's own tests ----------------------------------------------------------------------


def test_the_tests_of_the_julia_package_pass(julia):
    script = julia_process.RUN.parent / "test" / "runtests.jl"
    done = subprocess.run(
        [julia, "--startup-file=no", str(script)],
        env=julia_process.environment(),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "isn't tested" not in done.stderr


# --- sessions -------------------------------------------------------------------------------------


def test_a_worker_trains_over_a_socket_what_numpy_trains(router, start, tmp_path):
    process = start(julia_process.TINY, "--connect", router.connection_file(tmp_path))
    wire.decode(router.receive())
    for frames in [WELCOME, *QUESTIONS]:
        router.send(frames)
    answers = [wire.decode(router.receive()) for _ in QUESTIONS]
    losses, weight = softmax_regression()
    assert [header["loss"] for header, _ in answers[1:6]] == pytest.approx(losses, abs=1e-6)
    inputs = BATCHES[0]["inputs"] / 255
    np.testing.assert_allclose(answers[6][1]["logits"], inputs @ weight.T, atol=1e-5)
    np.testing.assert_allclose(answers[7][1]["fc.weight"], weight, atol=1e-6)
    assert [header["re"] for header, _ in answers] == [1, 2, 3, 4, 5, 6, 20, 21, 22, 23]
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "", "")


def test_garbage_is_answered_and_the_session_goes_on(router, start, tmp_path):
    process = start(julia_process.TINY, "--connect", router.connection_file(tmp_path))
    router.receive()
    batch = message("BATCH", 2, BATCHES[0], step=0)
    cut = [batch[0], batch[1][:-1], batch[2]]
    garbage = [[b""], [b"\xc1"], [os.urandom(1000)], [batch[0][:-3]], batch[:2], cut, [b""] * 5000]
    for frames in [WELCOME, QUESTIONS[0], *garbage, batch, message("BYE", 99)]:
        router.send(frames)
    answers = [wire.decode(router.receive())[0] for _ in range(len(garbage) + 3)]
    assert [answer["type"] for answer in answers] == [
        "READY", *["ERROR"] * len(garbage), "RESULT", "BYE"
    ]  # fmt: skip
    codes = [answer["code"] for answer in answers[1:-2]]
    assert codes == ["bad_header"] * 4 + ["bad_frames"] * 3
    assert process.wait(30) == 0


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[tuple[Router, "Authenticator", Path]]:
    """A coordinator that admits one pair of keys, and the connection file with them."""
    pairs = [[key.decode() for key in zmq.curve_keypair()] for _ in range(2)]
    (server, server_secret), (public, secret) = pairs
    router = Router("tcp://127.0.0.1:*", server_secret)
    authenticator = Authenticator(router.context, public)
    curve = {"server_key": server, "public_key": public, "secret_key": secret}
    yield router, authenticator, router.connection_file(tmp_path, curve=curve)
    authenticator.socket.close()
    router.close()


def test_an_encrypted_coordinator_is_joined_with_the_keys_of_the_file(encrypted, driver):
    router, authenticator, file = encrypted
    driver.begin("main", arguments=[str(julia_process.TINY), "--connect", str(file)])
    authenticator.answer()
    router.receive()
    router.send(message("BYE", 1))
    assert wire.decode(router.receive())[0]["type"] == "BYE"
    assert driver.finish(30) == {"status": 0, "errors": "", "output": ""}


def test_a_worker_with_the_keys_of_another_run_is_told(encrypted, driver):
    router, authenticator, file = encrypted
    content = json.loads(file.read_text())
    public, secret = (key.decode() for key in zmq.curve_keypair())
    content["curve"].update(public_key=public, secret_key=secret)
    file.write_text(json.dumps(content))
    driver.begin("main", arguments=[str(julia_process.TINY), "--connect", str(file)])
    authenticator.answer()
    sentence = f"the coordinator at {router.endpoint} doesn't know this connection file's keys"
    expected = {"status": 1, "errors": f"rosetta worker: {sentence}\n", "output": ""}
    assert driver.finish(30) == expected


class Authenticator:
    """Says to libzmq whether a key is known (https://rfc.zeromq.org/spec/27/)."""

    def __init__(self, context: zmq.Context[Any], known: str) -> None:
        self.socket = context.socket(zmq.REP)
        self.socket.bind("inproc://zeromq.zap.01")
        self._known = known

    def answer(self) -> None:
        """Wait for a peer's keys, and take or refuse them."""
        assert self.socket.poll(LIMIT_MS)
        version, number, *_, key = self.socket.recv_multipart()
        known = z85.encode(key).decode() == self._known
        status = b"200" if known else b"400"
        self.socket.send_multipart([version, number, status, b"", b"", b""])


# --- signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [True, False], ids=["computing", "waiting"])
def test_a_signal_ends_a_worker_at_once_and_without_a_word(number, busy, router, start, tmp_path):
    (tmp_path / "endless").mkdir()
    (tmp_path / "endless" / "backend.jl").write_text(ENDLESS)
    process = start(tmp_path / "endless", "--connect", router.connection_file(tmp_path))
    router.receive()
    router.send(WELCOME)
    if busy:
        router.send(QUESTIONS[0])
        time.sleep(3)  # it has begun to build
    started = time.monotonic()
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 5
    assert (process.returncode, output, errors) == (-number, "", "")
    assert not list((tmp_path / "cwd").iterdir())


# --- tapes ----------------------------------------------------------------------------------------


def write_tape(path: Path, messages: list[list[bytes]]) -> Path:
    with path.open("wb") as file:
        file.write(tape.MAGIC)
        for frames in messages:
            file.write(tape._COUNT.pack(tape.FROM_COORDINATOR, len(frames)))
            for frame in frames:
                file.write(tape._LENGTH.pack(len(frame)) + frame)
    return path


def test_a_tape_is_played_without_libzmq_and_its_recording_is_read_by_python(start, tmp_path):
    path = write_tape(tmp_path / "a.tape", [WELCOME, *QUESTIONS])
    environment = {**os.environ, "ROSETTA_LIBZMQ": str(tmp_path / "nothing.so")}
    process = start(julia_process.TINY, "--tape", path, "--record", "b.tape", env=environment)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    lines = output.splitlines()
    assert lines[0].startswith("tiny 1 on cpu")
    assert [float(line.split()[1]) for line in lines[3:8]] == pytest.approx(
        softmax_regression()[0], abs=1e-6
    )
    recorded = read_tape(tmp_path / "cwd" / "b.tape")
    asked = [frames for sender, frames in recorded if sender == b"C"]
    assert asked == [WELCOME, *QUESTIONS]
    said = [wire.decode(frames)[0]["type"] for sender, frames in recorded if sender == b"W"]
    assert said == ["HELLO", "READY", *["RESULT"] * 5, "PREDICTIONS", "VALUES", "ENDED", "BYE"]
    assert recorded[0][0] == b"W"


def read_tape(path: Path) -> list[tuple[bytes, list[bytes]]]:
    data, found = path.read_bytes(), []
    assert data.startswith(tape.MAGIC)
    position = len(tape.MAGIC)
    while position < len(data):
        sender, count = tape._COUNT.unpack_from(data, position)
        position += tape._COUNT.size
        frames = []
        for _ in range(count):
            (length,) = tape._LENGTH.unpack_from(data, position)
            position += tape._LENGTH.size + length
            frames.append(data[position - length : position])
        found.append((sender, frames))
    return found


def test_a_reader_that_goes_away_is_one_sentence(start, tmp_path):
    path = write_tape(tmp_path / "a.tape", [WELCOME, *QUESTIONS])
    reading, writing = os.pipe()
    os.close(reading)
    process = start(julia_process.TINY, "--tape", path, stdout=writing)
    os.close(writing)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors == "rosetta worker: IOError: write: broken pipe (EPIPE)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_sentence(start, tmp_path):
    path = write_tape(tmp_path / "a.tape", [WELCOME])
    process = start(julia_process.TINY, "--tape", path, "--record", "/dev/full")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith("rosetta worker: ") and errors.count("\n") == 1
    assert "No space left" in errors


# --- libzmq ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ipc", "tcp"])
def test_frames_of_every_size_and_number_pass_to_and_from_pyzmq(kind, driver, tmp_path):
    router = Router("tcp://127.0.0.1:*" if kind == "tcp" else f"ipc://{tmp_path}/e")
    first = [[b"hello"], [b"", bytes(range(256)), b""]]
    messages = [
        *[[os.urandom(size)] for size in (0, 1, 29, 30, 33, 255, 256, 65_536, 5_000_000)],
        [b"x"] * 5000,
        [b"", b"", b"y" * 100_000, b""],
    ]
    driver.begin(
        "echo",
        endpoint=router.endpoint,
        routing_id=b"W" + bytes(range(16)),
        messages=first,
        count=len(messages),
    )
    assert [router.receive() for _ in first] == first
    assert router.worker == b"W" + bytes(range(16))
    for frames in messages:
        router.send(frames)
    assert [router.receive() for _ in messages] == messages
    assert driver.finish() == {"version": zmq.zmq_version()}
    router.close()
