"""What is trained in both ways: batches in their order, and the initial weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta import datasets, tasks
from rosetta.tasks import Order, Task


@dataclass(frozen=True)
class Workload:
    """Some steps of a task on synthetic data: a step's time doesn't depend on what is learned."""

    task: Task
    seed: int
    inputs: NDArray[Any]
    """(steps, batch, …)"""
    labels: NDArray[np.int32]
    """(steps, batch)"""
    parameters: dict[str, NDArray[np.float32]]

    def save(self, file: Path) -> None:
        """Write the `.npz` that a plain script reads."""
        weights: dict[str, Any] = {f"weights.{n}": v for n, v in self.parameters.items()}
        np.savez(file, inputs=self.inputs, labels=self.labels, **weights)


def workload(name: str, steps: int, seed: int) -> Workload:
    """The first `steps` steps of task `name`, as a bench of that seed would train them."""
    task = tasks.load(name)
    train = datasets.load("synthetic", task=task.to_wire(), seed=seed).train
    order = Order(len(train), task.training.batch_size, seed)
    rows = [order.rows(step) for step in range(steps)]
    return Workload(
        task=task,
        seed=seed,
        inputs=np.stack([train.inputs[r] for r in rows]),
        labels=np.stack([train.labels[r] for r in rows]),
        parameters=tasks.initial_parameters(task, seed),
    )
