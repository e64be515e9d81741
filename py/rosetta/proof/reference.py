"""What the float64 reference does with a proof's script."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

import rosetta_reference
from rosetta.proof.script import READ_AFTER, SEED, Script, Step, loud
from rosetta.tasks import forms as task_forms
from rosetta.tasks.definition import Dropout

DROPOUT_REPEATS = 300


@dataclass(frozen=True)
class Expected:
    """Right answers, float64."""

    logits: NDArray[np.float64]
    """Of the first step's inputs, before any update: (batch, classes)."""
    losses: list[float]
    """Of each step, before its update."""
    changes: dict[int, dict[str, NDArray[np.float64]]]
    """Steps done → parameter → its value minus the initial one."""


@dataclass(frozen=True)
class DropoutLoss:
    """Mean and standard deviation of one batch's loss over fresh dropout masks."""

    mean: float
    deviation: float
    repeats: int


def network(script: Script, forms: Mapping[str, str], **more: Any) -> rosetta_reference.Network:
    """The reference in a worker's forms."""
    declared = task_forms.complete(forms)
    return rosetta_reference.Network(
        script.task.to_wire(),
        script.parameters,
        adam_form=declared["adam"],
        momentum_form=declared["momentum"],
        **more,
    )


def expect(script: Script, forms: Mapping[str, str]) -> Expected:
    """Run the script with dropout off."""
    reference = network(script, forms, dtype=np.float64, dropout=False)
    logits = reference.predict(script.steps[0].inputs)
    losses, changes = [], {}
    for done, step in enumerate(script.steps, 1):
        if step.learning_rate is not None:
            reference.set_learning_rate(step.learning_rate)
        losses.append(reference.train_step(step.inputs, step.labels))
        if done in READ_AFTER:
            values = reference.parameters()
            changes[done] = {
                name: np.subtract(v, script.parameters[name], dtype=np.float64)
                for name, v in values.items()
            }
    return Expected(logits, losses, changes)


def has_dropout(script: Script) -> bool:
    """Whether the network has dropout layers that do something."""
    return any(isinstance(layer, Dropout) and layer.rate > 0 for layer in script.task.layers)


def expect_dropout(script: Script, step: Step, cache: Path | None) -> DropoutLoss:
    """The loss of one batch with dropout on and nothing learned, by Monte Carlo.

    Half a minute for `cnn`, so it is kept in `cache` under the digest of all that it depends on.
    """
    changed = loud(script)
    digest = _digest(changed, step)
    file = cache / f"dropout-{script.task.name}-{digest}.json" if cache else None
    if file:
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(file.read_bytes(), type=DropoutLoss)
    reference = network(changed, {}, dtype=np.float32, dropout=True, seed=SEED)
    losses = [reference.gradients(step.inputs, step.labels)[0] for _ in range(DROPOUT_REPEATS)]
    found = DropoutLoss(float(np.mean(losses)), float(np.std(losses, ddof=1)), DROPOUT_REPEATS)
    if file:
        with suppress(OSError):
            _store(file, msgspec.json.encode(found))
    return found


def _digest(script: Script, step: Step) -> str:
    """Of everything that the result depends on: task, weights, batch, and the reference's code."""
    sha = hashlib.sha256(f"{script.task.digest()} {DROPOUT_REPEATS} {SEED}".encode())
    for array in (*script.parameters.values(), step.inputs, step.labels):
        sha.update(array.tobytes())
    for file in sorted(Path(rosetta_reference.__file__).parent.glob("*.py")):
        sha.update(file.read_bytes())
    return sha.hexdigest()[:16]


def _store(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(descriptor, "wb") as temporary:
        temporary.write(content)
    Path(name).replace(file)
