"""The small networks of the golden tapes, written out: task files change, tapes are kept."""

from __future__ import annotations

from math import prod
from typing import Any

CONV = {"kind": "conv", "kernel": 3, "stride": 1, "padding": "same"}
POOL = {"kind": "max_pool", "size": 2, "stride": 2}
SGD = {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.9}
ADAM = {"kind": "adam", "learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}

Layer = dict[str, Any]


def mlp() -> dict[str, Any]:
    """48 features, 16 units."""
    layers = [_dense("fc1", 16), _layer("relu", "relu1"), _dense("fc2", 10)]
    weights = {"fc1.weight": [16, 48], "fc1.bias": [16], "fc2.weight": [10, 16], "fc2.bias": [10]}
    return _task("mlp", layers, weights, _pixels([48], "features"), ADAM)


def cnn() -> dict[str, Any]:
    """Images of 12 rows and 16 columns, 4 and 6 channels."""
    layers = [
        {**CONV, "name": "conv1", "filters": 4},
        _layer("relu", "relu1"),
        {**CONV, "name": "conv2", "filters": 4},
        {**POOL, "name": "pool1"},
        _layer("relu", "relu2"),
        {"kind": "dropout", "name": "dropout1", "rate": 0.25},
        {**CONV, "name": "conv3", "filters": 6},
        _layer("relu", "relu3"),
        {**CONV, "name": "conv4", "filters": 6},
        {**POOL, "name": "pool2"},
        _layer("relu", "relu4"),
        {"kind": "dropout", "name": "dropout2", "rate": 0.25},
        _layer("flatten", "flatten"),
        _dense("fc1", 32),
        _layer("relu", "relu5"),
        {"kind": "dropout", "name": "dropout3", "rate": 0.5},
        _dense("fc2", 10),
    ]
    weights = {
        "conv1.weight": [4, 3, 3, 3],
        "conv1.bias": [4],
        "conv2.weight": [4, 4, 3, 3],
        "conv2.bias": [4],
        "conv3.weight": [6, 4, 3, 3],
        "conv3.bias": [6],
        "conv4.weight": [6, 6, 3, 3],
        "conv4.bias": [6],
        "fc1.weight": [32, 6 * 3 * 4],
        "fc1.bias": [32],
        "fc2.weight": [10, 32],
        "fc2.bias": [10],
    }
    return _task("cnn", layers, weights, _pixels([3, 12, 16], "channel, row, column"), SGD)


def gru() -> dict[str, Any]:
    """Texts of 9 tokens out of 200, 10 units."""
    layers = [
        {"kind": "embedding", "name": "embedding", "vocabulary": 200, "dimension": 12},
        {"kind": "gru", "name": "gru", "units": 10, "returns": "last", "form": "cudnn"},
        _dense("fc", 2),
    ]
    weights = {
        "embedding.weight": [200, 12],
        "gru.weight_ih": [30, 12],
        "gru.weight_hh": [30, 10],
        "gru.bias_ih": [30],
        "gru.bias_hh": [30],
        "fc.weight": [2, 10],
        "fc.bias": [2],
    }
    tokens = {"kind": "tokens", "dtype": "int32", "shape": [9], "axes": "time", "vocabulary": 200}
    return _task("gru", layers, weights, tokens, ADAM)


def deviation(name: str, shape: list[int]) -> float:
    """Of a parameter's initial values: such that every part of the network matters."""
    if ".bias" in name:
        return 0.1
    if name == "embedding.weight":
        return 0.5
    if name.startswith("gru."):
        return float(1 / shape[1] ** 0.5)
    fan_in, fan_out = prod(shape[1:]), shape[0] * prod(shape[2:])
    return float((2 / (fan_in + fan_out)) ** 0.5)


def _task(
    name: str,
    layers: list[Layer],
    weights: dict[str, list[int]],
    described: dict[str, Any],
    optimiser: dict[str, Any],
) -> dict[str, Any]:
    return {
        "name": name,
        "title": f"a small {name}",
        "data": "synthetic",
        "classes": 2 if name == "gru" else 10,
        "loss": "softmax_cross_entropy",
        "layers": layers,
        "parameters": [
            {"name": n, "shape": s, "initial": "normal", "deviation": deviation(n, s)}
            for n, s in weights.items()
        ],
        "input": described,
        "optimiser": optimiser,
        "training": {"batch_size": 16, "epochs": 1},
    }


def _layer(kind: str, name: str) -> Layer:
    return {"kind": kind, "name": name}


def _dense(name: str, units: int) -> Layer:
    return {"kind": "dense", "name": name, "units": units}


def _pixels(shape: list[int], axes: str) -> dict[str, Any]:
    return {"kind": "pixels", "dtype": "uint8", "shape": shape, "axes": axes, "scale": 1 / 255}
