"""What a run will do, decided and checked before anything is written or started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rosetta import tasks
from rosetta.coordinator import Deadlines
from rosetta.datasets import Dataset
from rosetta.errors import UserError
from rosetta.tasks import Task
from rosetta.workers import Worker

DEFAULT_WARMUP = 5
DEFAULT_BLOCK = 10
QUICK_TEST_SAMPLES = 512


@dataclass(frozen=True)
class TaskPlan:
    """One task of a run."""

    task: Task
    dataset: Dataset
    steps: int
    """Steps in all: the first, the warm-up and the timed ones."""
    epochs: int | None
    """Number of epochs when the run is counted in epochs; then accuracy is taken after each."""
    test_samples: int
    """Test samples that accuracy is computed from."""

    @property
    def steps_per_epoch(self) -> int:
        """Steps of one epoch."""
        return len(self.dataset.train) // self.task.training.batch_size


@dataclass(frozen=True)
class Plan:
    """One run."""

    tasks: Sequence[TaskPlan]
    workers: Sequence[Worker]
    joining: frozenset[str]
    """Names of the workers that somebody starts by hand."""
    out: Path
    run: str
    """Run id."""
    started: str
    """UTC, ISO 8601."""
    seed: int
    threads: int
    device: str
    warmup: int = DEFAULT_WARMUP
    block: int = DEFAULT_BLOCK
    credit: int = 2
    bind: str | None = None
    baseline: str | None = None
    deadlines: Deadlines = field(default_factory=Deadlines)
    notes: Sequence[str] = ()
    options: dict[str, Any] = field(default_factory=dict)
    command: Sequence[str] = ()


def plan_task(
    task: Task,
    dataset: Dataset,
    *,
    steps: int | None,
    epochs: int | None,
    quick: bool,
    warmup: int,
    test_samples: int | None,
) -> TaskPlan:
    """Decide how long to train: `steps` timed steps, or `epochs`, or what the task file says.

    Raises `UserError` where that can't be done with the data at hand.
    """
    order = tasks.Order(len(dataset.train), task.training.batch_size, task.seed)
    counted = steps if steps is not None else task.bench.steps if quick and not epochs else None
    if counted is not None:
        total, whole = 1 + warmup + counted, None
    else:
        whole = epochs or task.training.epochs
        total = whole * order.steps_per_epoch
        if total <= 1 + warmup:
            raise UserError(
                f"{whole} epochs of {task.name} are {total} steps, and the first {1 + warmup} "
                "aren't timed: ask for more epochs, or a smaller --batch-size or --warmup"
            )
    wanted = test_samples or (QUICK_TEST_SAMPLES if whole is None else len(dataset.test))
    return TaskPlan(task, dataset, total, whole, min(wanted, len(dataset.test)))
