"""The networks of the tasks with a few channels and units: quick, and as sensitive."""

from __future__ import annotations

import msgspec

from rosetta import tasks
from rosetta.tasks import Task

SIZES = {
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
INPUTS = {"mlp": {"shape": [40]}, "cnn": {"shape": [3, 16, 16]}, "gru": {"shape": [20]}}
SHAPES = {
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


def small(name: str) -> Task:
    """The task `name` with small layers."""
    content = tasks.load(name).to_wire()
    for layer in content["layers"]:
        layer.update(SIZES[name].get(layer["name"], {}))
    for parameter in content["parameters"]:
        parameter["shape"] = SHAPES[name].get(parameter["name"], parameter["shape"])
    content["input"].update(INPUTS[name])
    if name == "gru":
        content["input"]["vocabulary"] = 300
    return msgspec.convert(content, Task)
