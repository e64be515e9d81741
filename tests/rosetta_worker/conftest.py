"""A coordinator that has decided beforehand what it says, and a backend of two parameters.

Both runtimes play the same sessions: Python's here, Julia's in the process of
`julia_worker/driver.jl`, which has the same backend.
"""

import contextlib
import io
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import runtimes
from rosetta_worker import wire
from rosetta_worker.outbox import HELD_NS
from rosetta_worker.session import Session

STEP_NS = 20_000_000
HELLO = {"protocol": "1.0", "tasks": ["tiny", "words"], "framework": "tiny"}
WELCOME = {"type": "WELCOME", "id": 0, "re": 0, "credit": 2, "reconnect_ns": 10**9}


@dataclass(frozen=True)
class Conduct:
    """How the coordinator goes about it, and how long a step takes."""

    pause_ns: int = 0
    """Before each message that is waited for."""
    at_once: bool = False
    """All messages are there from the beginning; otherwise each has to be waited for."""
    failing: str = ""
    """The backend's function that raises once."""
    step_ns: int = STEP_NS
    held_ns: int = HELD_NS
    """How old an answer may get before it is sent."""
    tells_parts: bool = False
    """The backend says when it has gone forward, and backward, each in half of a step."""


class Script:
    """A channel: gives out what the coordinator says, keeps what the worker says."""

    live = True
    reconnect_ns = 0

    def __init__(self, messages: list[Any], conduct: Conduct, backend: "Tiny") -> None:
        self.left = deque(messages)
        self.conduct = conduct
        self.backend = backend
        self.said: list[dict[str, Any]] = []
        self.arrays: list[dict[str, Any]] = []
        self.steps_before: list[int] = []
        self.left_before: list[int] = []

    def receive(self) -> Any:
        time.sleep(self.conduct.pause_ns / 1e9)
        return self.left.popleft() if self.left else None

    def receive_at_once(self) -> Any:
        return self.left.popleft() if self.left and self.conduct.at_once else None

    def send(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        wire.encode(header, arrays)  # whatever is said can be sent
        self.said.append(header)
        self.arrays.append(arrays)
        self.steps_before.append(self.backend.steps)
        self.left_before.append(len(self.left))


class Tiny:
    """Adds one to its parameters in `step_ns`; the function `failing` raises once."""

    def __init__(self, conduct: Conduct) -> None:
        self.failing = conduct.failing
        self.step_ns = conduct.step_ns
        self.tells_parts = conduct.tells_parts
        self.steps = 0
        self.setups: list[Any] = []
        self.rates: list[float] = []

    def build(self, setup: Any, parameters: dict[str, np.ndarray]) -> Any:
        self.setups.append(setup)
        self.values = parameters
        self._may_fail("build")
        return self

    def to_device(self, inputs: np.ndarray, labels: np.ndarray) -> Any:
        assert not inputs.flags.writeable
        return SimpleNamespace(inputs=inputs, labels=labels)

    def train_step(self, batch: Any) -> float:
        self._may_fail("train_step")
        for part in ("forward", "backward"):
            until = time.perf_counter_ns() + self.step_ns // 2
            while time.perf_counter_ns() < until:
                pass
            self.done(part)
        for value in self.values.values():
            value += 1
        self.steps += 1
        return len(batch.inputs) / 2

    def done(self, part: str) -> None:
        """Nobody wants to know."""

    def set_learning_rate(self, rate: float) -> None:
        self.rates.append(rate)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self._may_fail("predict")
        return inputs[:, :2].astype(np.float64)

    def parameters(self) -> dict[str, np.ndarray]:
        return self.values

    def _may_fail(self, name: str) -> None:
        if self.failing == name:
            self.failing = ""
            raise RuntimeError("out of memory")


@dataclass
class Played:
    """What came of a session."""

    said: list[dict[str, Any]]
    arrays: list[dict[str, Any]]
    status: int
    log: str
    reconnect_ns: int
    setups: list[dict[str, Any]]
    rates: list[float]
    steps_before: list[int]
    """How many steps were done when each of `said` was sent."""
    left_before: list[int]
    """How many messages had not been taken in by then."""


def play_in_python(messages: list[Any], conduct: Conduct) -> Played:
    backend, log = Tiny(conduct), io.StringIO()
    script = Script(messages, conduct, backend)
    with contextlib.redirect_stderr(log):
        session = Session(script, backend, "cpu", 1)
        session._outbox.held_ns = conduct.held_ns
        status = session.run(dict(HELLO))
    setups = [setup._asdict() for setup in backend.setups]
    return Played(
        *(script.said, script.arrays, status, log.getvalue()),
        *(script.reconnect_ns, setups, backend.rates),
        *(script.steps_before, script.left_before),
    )


def play_in_julia(driver: Any, messages: list[Any], conduct: Conduct) -> Played:
    messages = [[bytes(memoryview(frame)) for frame in message] for message in messages]
    reply = driver.ask("play", hello=HELLO, messages=messages, **asdict(conduct))
    said, arrays = zip(*map(wire.decode, reply.pop("said")), strict=True)
    for header in said:
        header.pop("arrays", None)
    return Played(said=list(said), arrays=list(arrays), **reply)


@pytest.fixture(params=["python", "julia"])
def play(request: pytest.FixtureRequest) -> Callable[..., Played]:
    """What a worker says after its HELLO, to a WELCOME and these messages (frames)."""
    driver = request.getfixturevalue("driver") if request.param == "julia" else None

    def play(*messages: Any, welcome: bool = True, credit: int = 2, **conduct: Any) -> Played:
        first = [wire.encode(WELCOME | {"credit": credit}, {})] if welcome else []
        script = [*first, *messages]
        if driver:
            played = play_in_julia(driver, script, Conduct(**conduct))
        else:
            played = play_in_python(script, Conduct(**conduct))
        assert [header["id"] for header in played.said] == list(range(len(played.said)))
        assert played.said.pop(0) == HELLO | {"type": "HELLO", "id": 0}
        played.arrays.pop(0)
        played.steps_before.pop(0)
        played.left_before.pop(0)
        return played

    return play


@pytest.fixture(params=["python", "julia"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each of the two runtimes; what it has started ends with the test."""
    if request.param == "julia":
        made: Any = runtimes.JuliaRuntime(request.getfixturevalue("driver"))
    else:
        made = runtimes.PythonRuntime()
    yield made
    made.stop()
