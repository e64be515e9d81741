"""A coordinator that has decided beforehand what it says, and a backend of two parameters."""

import time
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rosetta_worker import wire
from rosetta_worker.session import Session

STEP_NS = 20_000_000
HELLO = {"protocol": "1.0", "tasks": ["tiny", "words"], "framework": "tiny"}
WELCOME = {"type": "WELCOME", "id": 0, "re": 0, "credit": 2, "reconnect_ns": 10**9}


class Script:
    """A channel: gives out what the coordinator says, keeps what the worker says."""

    live = True
    reconnect_ns = 0

    def __init__(self, messages: list[Any], pause_ns: int) -> None:
        self.left = deque(messages)
        self.pause_ns = pause_ns
        self.said: list[dict[str, Any]] = []
        self.arrays: list[dict[str, Any]] = []

    def receive(self) -> Any:
        time.sleep(self.pause_ns / 1e9)
        return self.left.popleft() if self.left else None

    def send(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        wire.encode(header, arrays)  # whatever is said can be sent
        self.said.append(header)
        self.arrays.append(arrays)


class Tiny:
    """Adds one to its parameters in `STEP_NS`; the function `failing` raises once."""

    def __init__(self, failing: str) -> None:
        self.failing = failing
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
        until = time.perf_counter_ns() + STEP_NS
        while time.perf_counter_ns() < until:
            pass
        for value in self.values.values():
            value += 1
        return len(batch.inputs) / 2

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


@pytest.fixture
def play():
    """What a worker says after its HELLO, to a WELCOME and these messages (frames)."""

    def play(*messages: Any, failing: str = "", welcome: bool = True, pause_ns: int = 0) -> Any:
        first = [wire.encode(WELCOME, {})] if welcome else []
        script = Script([*first, *messages], pause_ns)
        script.backend = Tiny(failing)
        script.status = Session(script, script.backend, "cpu", 1).run(dict(HELLO))
        assert [header["id"] for header in script.said] == list(range(len(script.said)))
        assert script.said.pop(0) == HELLO | {"type": "HELLO", "id": 0}
        script.arrays.pop(0)
        return script

    return play
