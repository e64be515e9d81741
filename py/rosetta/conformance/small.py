"""The networks of the tasks with a few channels and units: quick, and as sensitive."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rosetta import tasks
from rosetta.tasks import Task

_SIZES: dict[str, dict[str, dict[str, int]]] = {
    "mlp": {"fc1": {"units": 16}},
    "cnn": {
        "conv1": {"filters": 4},
        "conv2": {"filters": 4},
        "conv3": {"filters": 6},
        "conv4": {"filters": 6},
        "fc1": {"units": 32},
    },
    "gru": {"embedding": {"vocabulary": 300, "dimension": 12}, "gru": {"units": 10}},
}
_INPUTS: dict[str, dict[str, Any]] = {
    "mlp": {"shape": [40]},
    "cnn": {"shape": [3, 16, 16]},
    "gru": {"shape": [20], "vocabulary": 300},
}
_SHAPES = {
    "mlp": {"fc1.weight": [16, 40], "fc1.bias": [16], "fc2.weight": [10, 16]},
    "cnn": {
        "conv1.weight": [4, 3, 3, 3],
        "conv1.bias": [4],
        "conv2.weight": [4, 4, 3, 3],
        "conv2.bias": [4],
        "conv3.weight": [6, 4, 3, 3],
        "conv3.bias": [6],
        "conv4.weight": [6, 6, 3, 3],
        "conv4.bias": [6],
        "fc1.weight": [32, 96],
        "fc1.bias": [32],
        "fc2.weight": [10, 32],
    },
    "gru": {
        "embedding.weight": [300, 12],
        "gru.weight_ih": [30, 12],
        "gru.weight_hh": [30, 10],
        "gru.bias_ih": [30],
        "gru.bias_hh": [30],
        "fc.weight": [2, 10],
    },
}
_WIDE_UNITS = 1024

_THINNER = 16

NAMES = tuple(_SIZES)
"""Tasks that train, and have a small network."""


def small(name: str) -> Task:
    """The task `name`, one of `NAMES` or `resnet50`, with small layers."""
    if name == "resnet50":
        return _thin_resnet50()
    return _resized(name, _SIZES[name], _SHAPES[name], _INPUTS[name])


def _thin_resnet50() -> Task:
    """All of its blocks, with a sixteenth of the channels, for images that aren't square."""
    content = tasks.load("resnet50").to_wire()
    content["features"] //= _THINNER
    content["input"]["shape"] = [3, 56, 40]
    for layer in content["layers"]:
        for key in {"filters", "width"} & set(layer):
            layer[key] //= _THINNER
    for parameter in content["parameters"]:
        outputs, *inputs = parameter["shape"][:2]
        thin = [size if size == 3 else size // _THINNER for size in inputs]
        parameter["shape"][:2] = [outputs // _THINNER, *thin]
    return msgspec.convert(content, Task)


def sensitive_parameters(task: Task) -> dict[str, NDArray[np.float32]]:
    """Initial parameters of `task`, none of which are zero: a bias that is left out is seen."""
    rng = np.random.default_rng(3)
    parameters = tasks.initial_parameters(task, 3)
    for name, values in parameters.items():
        if ".bias" in name:
            values[...] = rng.normal(0, 0.1, values.shape)
    return parameters


def wide_mlp() -> Task:
    """`mlp` with so many units that a large batch is measurable work."""
    units = _WIDE_UNITS
    shapes = {"fc1.weight": [units, 784], "fc1.bias": [units], "fc2.weight": [10, units]}
    return _resized("mlp", {"fc1": {"units": units}}, shapes, {})


def _resized(
    name: str,
    sizes: dict[str, dict[str, int]],
    shapes: dict[str, list[int]],
    inputs: dict[str, Any],
) -> Task:
    content = tasks.load(name).to_wire()
    for layer in content["layers"]:
        layer.update(sizes.get(layer["name"], {}))
    for parameter in content["parameters"]:
        parameter["shape"] = shapes.get(parameter["name"], parameter["shape"])
    content["input"].update(inputs)
    return msgspec.convert(content, Task)
