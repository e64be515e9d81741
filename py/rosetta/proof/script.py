"""What a worker is asked to do in its proof: fixed weights, fixed batches."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.tasks import Task, initial_parameters
from rosetta.tasks.definition import Conv, Sgd

SEED = 20_18
BATCH_SIZE = 16
READ_AFTER = (1, 2, 3, 4)
"""Steps after which the parameters are read."""

SMOOTH_STEPS = 10
ROUGH_STEPS = 5
RATE_CHANGES_AT = 3
RATE_FACTOR = 3.0


@dataclass(frozen=True)
class Step:
    """One training step: inputs (batch, ...), labels (batch,) int32, and a new learning rate."""

    inputs: NDArray[Any]
    labels: NDArray[np.int32]
    learning_rate: float | None = None


@dataclass(frozen=True)
class Script:
    """A task with sensitive weights, and the steps of its proof."""

    task: Task
    parameters: dict[str, NDArray[np.float32]]
    steps: list[Step]
    rough: bool
    """Rounding flips choices (ReLU before pooling, on images): later losses are weak evidence."""


def script(task: Task) -> Script:
    """The proof's script for `task`, whose GRU is already in the worker's form.

    The weights are made to be sensitive: with the usual initialisation a missing bias is invisible
    (it is zero), and another form of the GRU moves the first losses by 1e-5 only.
    """
    rough = any(isinstance(layer, Conv) for layer in task.layers)
    prepared = for_proof(task)
    assert prepared.optimiser is not None
    rng = np.random.default_rng(SEED)
    first, second, third = (draw(prepared, rng) for _ in range(3))
    rate = RATE_FACTOR * prepared.optimiser.learning_rate
    steps = [
        Step(*first),
        Step(*second),
        Step(*third),
        # The same inputs again, and then with other labels: whoever answers from memory, or
        # doesn't look at its batch, is found out. With another rate: so is momentum's form.
        Step(*first, learning_rate=rate),
        Step(first[0], np.roll(first[1], 1)),
    ]
    steps += [Step(*draw(prepared, rng)) for _ in range(0 if rough else SMOOTH_STEPS - ROUGH_STEPS)]
    return Script(prepared, sensitive_parameters(prepared), steps, rough)


def for_proof(task: Task) -> Task:
    """`task` with the proof's batch size, and a learning rate at which float32 shows the changes.

    With SGD a weight's change is as small as its gradient; at the usual rate much of it is lost in
    the weight's own rounding.
    """
    faster = 10 * task.optimiser.learning_rate if isinstance(task.optimiser, Sgd) else None
    return task.override(batch_size=BATCH_SIZE, learning_rate=faster)


def sensitive_parameters(task: Task) -> dict[str, NDArray[np.float32]]:
    """Weights at which every part of the network matters: float32, by canonical name.

    Biases are drawn with deviation 0.1 instead of zero; the embedding has deviation 0.5 and the
    GRU's matrices 1 / √H and more, so that its gates are far from ½ and from each other. Batch norm
    has statistics that no batch has, and variances at which its epsilon can be told.
    """
    parameters = initial_parameters(task, SEED)
    rng = np.random.default_rng(SEED + 1)
    for name, values in parameters.items():
        if name.endswith(".running_mean"):
            values[...] = rng.normal(0, 0.1, values.shape)
        elif name.endswith(".running_var"):
            values[...] = rng.uniform(0.25, 1, values.shape)
        elif ".bias" in name:
            values[...] = rng.normal(0, 0.1, values.shape)
        elif name == "embedding.weight":
            values[...] = rng.normal(0, 0.5, values.shape)
        elif ".weight_hh" in name or ".weight_ih" in name:
            values[...] = rng.normal(0, 1 / np.sqrt(values.shape[1]), values.shape)
        elif values.ndim == 1:  # batch norm's
            values *= rng.uniform(0.5, 1, values.shape)
    return parameters


def loud(script: Script) -> Script:
    """The script with weights for the dropout probe: the last layer's are four times as large.

    Dropout moves the mean loss by the curvature of the loss, with the square of the logits' spread;
    the loss's own spread grows only linearly.
    """
    last = [name for name in script.parameters if name.endswith(".weight")][-1]
    parameters = {**script.parameters, last: 4 * script.parameters[last]}
    return dataclasses.replace(script, parameters=parameters)


def draw(
    task: Task, rng: np.random.Generator, samples: int | None = None
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """A batch of random samples: nothing about them is symmetric, so no axis can be swapped."""
    count = samples or task.training.batch_size
    shape = (count, *task.input.shape)
    if task.input.dtype == "float32":
        return rng.normal(size=shape).astype(np.float32), np.zeros(count, np.int32)
    labels = rng.integers(0, task.classes, count).astype(np.int32)
    if task.input.kind == "pixels":
        return rng.integers(0, 256, shape).astype(np.uint8), labels
    tokens = rng.integers(1, task.input.vocabulary, shape).astype(np.int32)
    lengths = rng.integers(shape[1] // 3, shape[1] + 1, count)
    for row, length in enumerate(lengths):  # shorter texts have zeros in front
        tokens[row, : shape[1] - length] = 0
    return tokens, labels
