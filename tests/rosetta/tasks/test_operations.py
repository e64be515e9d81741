"""Floating-point operations of a step, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from rosetta import tasks
from rosetta.tasks.operations import step_operations

MLP = 2 * 784 * 128 * 2 + 2 * 128 * 10 * 3
CONV1 = 2 * (50 * 3 * 9) * 32 * 32
CONVS = 2 * (50 * 50 * 9) * 32 * 32 + 2 * (100 * 50 * 9 + 100 * 100 * 9) * 16 * 16
DENSE = 2 * (6400 * 512 + 512 * 10)
GRU = 2 * 150 * (300 * 125 + 300 * 100) + 2 * 100 * 2


@pytest.mark.parametrize(
    ("name", "operations"),
    [("mlp", MLP), ("cnn", 2 * CONV1 + 3 * (CONVS + DENSE)), ("gru", 3 * GRU)],
)
def test_operations_of_a_step_per_sample(name: str, operations: int) -> None:
    """The first layer's input needs no gradient; the embedding's output does."""
    assert step_operations(tasks.load(name)) == operations


def test_a_step_of_the_cnn_is_about_24_gigaflop() -> None:
    assert 64 * step_operations(tasks.load("cnn")) == pytest.approx(23.7e9, rel=0.01)
