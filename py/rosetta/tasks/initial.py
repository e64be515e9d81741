"""Initial parameters: drawn once by the coordinator, so that every worker starts from the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.tasks.definition import Parameter, Task


def initial_parameters(task: Task, seed: int) -> dict[str, NDArray[np.float32]]:
    """Draw every parameter of `task`, float32, by its canonical name.

    Each parameter has a generator of its own, seeded with (seed, its name), so that adding one to
    a task leaves the others' values as they were.
    """
    return {
        parameter.name: _draw(parameter, np.random.default_rng([seed, *parameter.name.encode()]))
        for parameter in task.parameters
    }


def fans(shape: list[int]) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight (out, in) or (out, in, rows, columns)."""
    if len(shape) < 2:
        return shape[0], shape[0]
    area = math.prod(shape[2:])
    return shape[1] * area, shape[0] * area


def _draw(parameter: Parameter, rng: np.random.Generator) -> NDArray[np.float32]:
    fan_in, fan_out = fans(parameter.shape)
    shape = tuple(parameter.shape)
    values: NDArray[Any]
    match parameter.initial:
        case "zeros":
            values = np.zeros(shape)
        case "ones":
            values = np.ones(shape)
        case "constant":
            values = np.full(shape, parameter.value)
        case "glorot_uniform":  # Glorot & Bengio 2010, equation 16
            limit = math.sqrt(6 / (fan_in + fan_out))
            values = rng.uniform(-limit, limit, shape)
        case "he_normal":  # He et al. 2015, equation 10
            values = rng.normal(0, math.sqrt(2 / fan_in), shape)
        case "uniform":
            values = rng.uniform(-parameter.limit, parameter.limit, shape)
        case "normal":
            values = rng.normal(0, parameter.deviation, shape)
    return values.astype(np.float32)
