"""What a run will do, decided before anything is started."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rosetta import tasks
from rosetta.bench.plan import QUICK_TEST_SAMPLES, TaskPlan, plan_task
from rosetta.datasets import Dataset, Split
from rosetta.datasets.model import Source
from rosetta.errors import UserError


def dataset(train: int, test: int) -> Dataset:
    def split(samples: int) -> Split:
        return Split(np.zeros((samples, 784), np.uint8), np.zeros(samples, np.int32))

    return Dataset("synthetic", split(train), split(test), 10, Source("synthetic", None, {}))


def plan(train: int = 1000, test: int = 800, batch_size: int = 64, **asked: Any) -> TaskPlan:
    nothing = {"seed": 1, "steps": None, "epochs": None, "quick": False, "warmup": 5}
    nothing |= {"block": None, "test_samples": None}
    task = tasks.load("mlp").override(batch_size=batch_size, epochs=asked.get("epochs"))
    return plan_task(task, dataset(train, test), **{**nothing, **asked})


def test_steps_are_timed_steps() -> None:
    """The first and the warm-up come on top."""
    made = plan(steps=20)
    assert (made.steps, made.epochs) == (26, None)
    assert plan(steps=20, warmup=0).steps == 21


def test_steps_may_be_more_than_the_set_has() -> None:
    assert plan(steps=500).steps == 506


def test_quick_trains_the_steps_of_the_task_file() -> None:
    made = plan(quick=True)
    assert (made.steps, made.epochs) == (6 + tasks.load("mlp").bench.steps, None)


def test_epochs_are_whole_ones_without_the_remainder() -> None:
    made = plan(epochs=3)
    assert (made.steps, made.epochs, made.order.steps_per_epoch) == (45, 3, 15)


def test_there_are_ten_blocks_or_more() -> None:
    """An interval over few blocks says little; a long turn saves nothing."""
    assert [plan(steps=steps).block for steps in (5, 20, 40, 99, 100, 400)] == [1, 2, 4, 9, 10, 10]
    assert plan(steps=20, block=7).block == 7


def test_without_a_word_the_task_file_decides() -> None:
    made = plan()
    assert (made.steps, made.epochs) == (5 * 15, 5)


def test_steps_and_epochs_go_before_quick() -> None:
    assert plan(quick=True, steps=7).steps == 13
    assert plan(quick=True, epochs=2).steps == 30


def test_a_batch_size_of_its_own_changes_the_epochs() -> None:
    assert plan(batch_size=100, epochs=1).steps == 10


@pytest.mark.parametrize(
    ("asked", "samples"),
    [
        ({"steps": 20}, QUICK_TEST_SAMPLES),
        ({"quick": True}, QUICK_TEST_SAMPLES),
        ({"steps": 20, "test": 100}, 100),
        ({"epochs": 1}, 800),
        ({}, 800),
        ({"epochs": 1, "test_samples": 10}, 10),
        ({"steps": 20, "test_samples": 700}, 700),
        ({"steps": 20, "test_samples": 10_000}, 800),
    ],
    ids=str,
)
def test_how_many_test_samples_are_examined(asked: dict[str, Any], samples: int) -> None:
    assert plan(**asked).test_samples == samples


def test_a_batch_larger_than_the_set_is_an_error() -> None:
    with pytest.raises(UserError, match="batch size 1001 is larger than the data"):
        plan(batch_size=1001, steps=1)
    assert plan(batch_size=1000, steps=1).steps == 7


def test_epochs_without_a_timed_step_are_an_error() -> None:
    with pytest.raises(UserError, match="are 6 steps, and the first 6 aren't timed"):
        plan(batch_size=300, epochs=2)
    assert plan(batch_size=300, epochs=2, warmup=4).steps == 6
