"""What a run will do, decided and checked before anything is written or started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.bench.resume import Earlier
from rosetta.bench.schedule import Schedule
from rosetta.coordinator import Deadlines, Plane
from rosetta.datasets import Dataset
from rosetta.errors import UserError
from rosetta.tasks import Order, Task
from rosetta.workers import Worker

DEFAULT_WARMUP = 5
LONGEST_BLOCK = 10
ENOUGH_BLOCKS = 10
QUICK_TEST_SAMPLES = 512


@dataclass(frozen=True)
class TaskPlan:
    """One task of a run."""

    task: Task
    dataset: Dataset
    order: Order
    """Which samples make up which step."""
    steps: int
    """Steps in all: the first, the warm-up and the timed ones."""
    epochs: int | None
    """Number of epochs when the run is counted in epochs; then accuracy is taken after each."""
    block: int
    """Steps of one turn."""
    test_samples: int
    """Test samples that accuracy is computed from."""
    warmup: int = DEFAULT_WARMUP
    """Steps after the first that aren't timed."""
    weights: Mapping[str, NDArray[np.float32]] | None = None
    """The user's own, instead of seeded ones."""


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
    schedule: Schedule = "interleaved"
    repeats: int = 1
    """How often everybody is trained, in fresh processes."""
    credit: int | None = None
    """Batches under way at one worker at most; None: what its data plane is best with."""
    bind: str | None = None
    encrypt: bool = False
    plane: Plane = "shm"
    """How batches travel to the workers that can; the others get them inline."""
    baseline: str | None = None
    deadlines: Deadlines = field(default_factory=Deadlines)
    prove: bool = True
    """Prove each worker before it is timed."""
    allow_unproved: bool = False
    """Time a worker although it isn't the same network; its row is marked."""
    features: Path | None = None
    """Where the features of forward-only tasks are written, if anywhere."""
    earlier: Earlier | None = None
    """The attempts that this one goes on with."""
    warnings: Sequence[str] = ()
    """What is said when the run begins, and beside its tables."""
    notes: Sequence[str] = ()
    """What is said beside its tables."""
    options: dict[str, Any] = field(default_factory=dict)
    command: Sequence[str] = ()

    def image_names(self) -> list[str]:
        """Files of the images that features are computed of, in the order of their rows."""
        forward_only = [planned for planned in self.tasks if not planned.task.trains]
        dataset = forward_only[0].dataset
        digests = dataset.source.sha256
        if len(digests) == len(dataset.train):
            return list(digests)
        return [f"{dataset.label} {number}" for number in range(len(dataset.train))]


def plan_task(
    task: Task,
    dataset: Dataset,
    *,
    seed: int,
    steps: int | None,
    epochs: int | None,
    quick: bool,
    warmup: int | None,
    block: int | None,
    test_samples: int | None,
    weights: Mapping[str, NDArray[np.float32]] | None = None,
) -> TaskPlan:
    """Decide how long to train: `steps` timed steps, or `epochs`, or what the task file says.

    A block has ten steps, or fewer where that would make fewer than ten blocks: intervals are
    computed from whole blocks. A forward-only task learns nothing: it has no epochs, and does its
    bench steps. Raises `UserError` where the plan doesn't fit the data at hand.
    """
    if epochs and not task.trains:
        raise UserError(f"{task.name} goes forward only and has no epochs: give --steps")
    if warmup is None:
        warmup = DEFAULT_WARMUP if task.bench.warmup is None else task.bench.warmup
    quick = quick or not task.trains
    order = Order(len(dataset.train), task.training.batch_size, seed)
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
    timed = total - 1 - warmup
    wanted = test_samples or (QUICK_TEST_SAMPLES if whole is None else len(dataset.test))
    return TaskPlan(
        task=task,
        dataset=dataset,
        order=order,
        steps=total,
        epochs=whole,
        block=block or max(1, min(LONGEST_BLOCK, timed // ENOUGH_BLOCKS)),
        test_samples=min(wanted, len(dataset.test)),
        warmup=warmup,
        weights=weights,
    )
