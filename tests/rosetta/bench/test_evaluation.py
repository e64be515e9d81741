"""Accuracy from a worker's raw logits: a worker never grades itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rosetta.bench.evaluation import Evaluator
from rosetta.datasets import Split

CLASSES = 10


class Answers:
    """Stands in for a session: computes the logits of each chunk with a function."""

    def __init__(self, answer: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self._answer = answer
        self.sizes: list[int] = []

    def predict(self, chunks: Iterable[NDArray[Any]], classes: int) -> Iterator[NDArray[Any]]:
        assert classes == CLASSES
        for chunk in chunks:
            self.sizes.append(len(chunk))
            yield self._answer(chunk)


def a_set(samples: int) -> Split:
    """Sorted by label, as sets often are; a sample's input is its label, then its number."""
    labels = np.sort(np.arange(samples) % CLASSES).astype(np.int32)
    return Split(np.stack([labels, np.arange(samples)], axis=1).astype(np.int32), labels)


def knows(chunk: NDArray[Any]) -> NDArray[Any]:
    """Logits that are largest at the right class."""
    return np.eye(CLASSES, dtype=np.float32)[chunk[:, 0]]


def accuracy(
    answer: Callable[[NDArray[Any]], NDArray[Any]], samples: int = 100, batch_size: int = 32
) -> float:
    examination = Evaluator(a_set(samples), samples=samples, batch_size=batch_size, seed=1)
    return examination.accuracy(Answers(answer), CLASSES)


def test_the_fraction_whose_largest_logit_is_the_labels() -> None:
    assert accuracy(knows) == 1.0
    assert accuracy(lambda chunk: -knows(chunk)) == 0.0
    always_three = np.eye(CLASSES, dtype=np.float32)[[3]]
    assert accuracy(lambda chunk: always_three.repeat(len(chunk), 0)) == pytest.approx(0.1)


def test_logits_need_not_be_probabilities() -> None:
    assert accuracy(lambda chunk: knows(chunk) * 1e30 - 3e30) == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["at the label", "elsewhere"])
def test_logits_that_are_not_finite_are_wrong(bad: float, place: str) -> None:
    """Even where the largest is in the right place, and only these samples."""

    def answer(chunk: NDArray[Any]) -> NDArray[Any]:
        logits = knows(chunk)
        column = chunk[:, 0] if place == "at the label" else (chunk[:, 0] + 1) % CLASSES
        spoilt = chunk[:, 1] % 4 == 0
        logits[spoilt, column[spoilt]] = bad
        return logits

    assert accuracy(answer) == 0.75


def test_the_last_chunk_may_be_smaller() -> None:
    session = Answers(knows)
    examination = Evaluator(a_set(100), samples=100, batch_size=32, seed=1)
    assert examination.accuracy(session, CLASSES) == 1.0
    assert session.sizes == [32, 32, 32, 4]


def test_a_mistake_in_the_last_chunk_counts_like_any_other() -> None:
    def answer(chunk: NDArray[Any]) -> NDArray[Any]:
        return np.where(chunk[:, 1:] == 99, -knows(chunk), knows(chunk))

    assert accuracy(answer) == 0.99


def test_a_part_of_a_sorted_set_is_balanced() -> None:
    examination = Evaluator(a_set(10_000), samples=500, batch_size=64, seed=1)
    counts = np.bincount(examination.labels, minlength=CLASSES)
    assert counts.sum() == 500
    assert counts.min() > 25
    assert counts.max() < 80


def test_inputs_and_labels_of_the_part_belong_together() -> None:
    examination = Evaluator(a_set(1000), samples=333, batch_size=64, seed=1)
    session = Answers(knows)
    assert examination.accuracy(session, CLASSES) == 1.0
    assert sum(session.sizes) == len(examination.labels) == 333


def seen(seed: int) -> list[int]:
    """Numbers of the samples that are examined."""
    numbers: list[int] = []

    def answer(chunk: NDArray[Any]) -> NDArray[Any]:
        numbers.extend(chunk[:, 1].tolist())
        return knows(chunk)

    Evaluator(a_set(1000), samples=100, batch_size=64, seed=seed).accuracy(Answers(answer), CLASSES)
    return numbers


def test_every_worker_is_examined_on_the_same_samples() -> None:
    assert seen(1) == seen(1)
    assert len(set(seen(1))) == 100
    assert seen(1) != seen(2)


def test_asking_for_more_than_there_are_examines_all() -> None:
    examination = Evaluator(a_set(50), samples=5000, batch_size=64, seed=1)
    assert len(examination.labels) == 50
