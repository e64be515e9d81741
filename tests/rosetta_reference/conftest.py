"""Small versions of the real tasks, and finite differences."""

import copy
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TASKS = Path(__file__).parents[2] / "protocol" / "tasks"

# What is smaller than in the task file: the input, a layer's own keys, every parameter's shape.
SMALL: dict[str, dict[str, Any]] = {
    "mlp": {
        "input": {"shape": [6]},
        "layers": {"fc1": {"units": 5}},
        "parameters": {
            "fc1.weight": [5, 6],
            "fc1.bias": [5],
            "fc2.weight": [10, 5],
            "fc2.bias": [10],
        },
    },
    "cnn": {
        "input": {"shape": [3, 8, 8]},
        "layers": {
            "conv1": {"filters": 3},
            "conv2": {"filters": 2},
            "conv3": {"filters": 4},
            "conv4": {"filters": 3},
            "fc1": {"units": 7},
        },
        "parameters": {
            "conv1.weight": [3, 3, 3, 3],
            "conv1.bias": [3],
            "conv2.weight": [2, 3, 3, 3],
            "conv2.bias": [2],
            "conv3.weight": [4, 2, 3, 3],
            "conv3.bias": [4],
            "conv4.weight": [3, 4, 3, 3],
            "conv4.bias": [3],
            "fc1.weight": [7, 12],
            "fc1.bias": [7],
            "fc2.weight": [10, 7],
            "fc2.bias": [10],
        },
    },
    "gru": {
        "input": {"shape": [6], "vocabulary": 9},
        "layers": {"embedding": {"vocabulary": 9, "dimension": 4}, "gru": {"units": 3}},
        "parameters": {
            "embedding.weight": [9, 4],
            "gru.weight_ih": [9, 4],
            "gru.weight_hh": [9, 3],
            "gru.bias_ih": [9],
            "gru.bias_hh": [9],
            "fc.weight": [2, 3],
            "fc.bias": [2],
        },
    },
}


@pytest.fixture
def full_task() -> Callable[[str], dict[str, Any]]:
    """A task as its file has it."""

    def load(name: str) -> dict[str, Any]:
        return tomllib.loads((TASKS / f"{name}.toml").read_text())

    return load


@pytest.fixture
def small_task(full_task) -> Callable[..., dict[str, Any]]:
    """A task with few units, channels and tokens; `gru_form` "classic" has one bias."""

    def shrink(name: str, gru_form: str = "cudnn") -> dict[str, Any]:
        task, small = full_task(name), copy.deepcopy(SMALL[name])
        task["input"].update(small["input"])
        if gru_form == "classic":
            small["layers"]["gru"]["form"] = "classic"
            small["parameters"]["gru.bias"] = small["parameters"].pop("gru.bias_ih")
            del small["parameters"]["gru.bias_hh"]
        for layer in task["layers"]:
            layer.update(small["layers"].get(layer["name"], {}))
        task["parameters"] = [
            {"name": key, "shape": shape} for key, shape in small["parameters"].items()
        ]
        return task

    return shrink


@pytest.fixture
def draw_parameters() -> Callable[..., dict[str, np.ndarray]]:
    """Parameters of order one half, biases included, so that each of them matters."""

    def draw(task: Mapping[str, Any], seed: int = 0, scale: float = 0.5) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        return {
            entry["name"]: (scale * random.standard_normal(entry["shape"])).astype(np.float32)
            for entry in task["parameters"]
        }

    return draw


@pytest.fixture
def draw_batch() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Inputs and labels of a task's types and shapes; tokens repeat within a batch."""

    def draw(task: Mapping[str, Any], size: int = 5, seed: int = 1) -> tuple[Any, Any]:
        random = np.random.default_rng(seed)
        shape = (size, *task["input"]["shape"])
        if task["input"]["kind"] == "pixels":
            inputs = random.integers(0, 256, shape).astype(np.uint8)
        else:
            inputs = random.integers(0, task["input"]["vocabulary"], shape).astype(np.int32)
        return inputs, random.integers(0, task["classes"], size).astype(np.int32)

    return draw


@pytest.fixture
def numerical_gradient() -> Callable[..., np.ndarray]:
    """The gradient of `function()` by `array`, by central differences; the array is put back."""

    def differentiate(
        function: Callable[[], float], array: np.ndarray, step: float = 1e-5
    ) -> np.ndarray:
        gradient = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            value = array[index]
            array[index] = value + step
            above = function()
            array[index] = value - step
            below = function()
            array[index] = value
            gradient[index] = (above - below) / (2 * step)
        return gradient

    return differentiate


@pytest.fixture
def relative_error() -> Callable[[np.ndarray, np.ndarray], float]:
    """‖found - expected‖ / ‖expected‖."""

    def error(found: np.ndarray, expected: np.ndarray) -> float:
        assert found.shape == expected.shape
        return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))

    return error
