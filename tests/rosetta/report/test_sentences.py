"""Sentences that can be quoted, and those that must never be said."""

from __future__ import annotations

from typing import Any

import pytest

from canned_results import row, summary, timed
from rosetta.report import sentences
from rosetta.results import Row

FLOW = timed("tensorflow", 100, 1.0, task="cnn")
TORCH = (131.4, 1.314, 1.266, 1.361)


def said(*rows: Row, baseline: str | None = "tensorflow", **more: Any) -> list[str]:
    return sentences(summary(*rows, baseline=baseline), **more)


def test_a_worker_against_the_baseline() -> None:
    assert said(FLOW, timed("torch", *TORCH, task="cnn")) == [
        "torch is 1.31× [1.27, 1.36] as fast as tensorflow on cnn, 2 threads"
    ]


def test_no_difference_is_an_answer() -> None:
    assert said(FLOW, timed("torch", 101, 1.01, 0.98, 1.04, task="cnn")) == [
        "no difference between torch and tensorflow on cnn, 2 threads: 1.01× [0.98, 1.04]"
    ]
    (sentence,) = said(FLOW, timed("torch", 102, 1.02, 1.001, 1.04, task="cnn"))
    assert sentence.startswith("no difference"), "the interval that is shown begins with 1.00"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"threads": 1}, "as fast as tensorflow on cnn, 1 thread"),
        ({"device": "cuda:0"}, "as fast as tensorflow on cnn, cuda:0"),
        ({"data": "synthetic"}, "on cnn (synthetic data), 2 threads"),
        ({"tuned": True}, "torch (tuned) is 1.31×"),
        ({"unusual_forms": ["gru: classic"]}, "torch (gru: classic) is 1.31×"),
    ],
)
def test_what_a_quotation_must_not_leave_out(more: dict[str, Any], words: str) -> None:
    (sentence,) = said(FLOW, timed("torch", *TORCH, **{"task": "cnn", **more}))
    assert words in sentence


NEVER = [{"proof": "unproved"}, {"proof": "different"}, {"harness": True}, {"status": "crashed"}]
NO_INTERVAL = [{"ratio_interval": None}, {"ratio": None, "ratio_interval": None}]


@pytest.mark.parametrize("more", NEVER + NO_INTERVAL)
def test_what_is_never_said_of_a_worker(more: dict[str, Any]) -> None:
    torch = {"samples_per_s": 1.3, "ratio": 1.3, "ratio_interval": [1.2, 1.4], "task": "cnn"}
    assert said(FLOW, row("torch", **{**torch, **more})) == []


@pytest.mark.parametrize("more", NEVER)
def test_nothing_is_said_against_such_a_baseline(more: dict[str, Any]) -> None:
    flow = {"samples_per_s": 1.0, "ratio": 1.0, "task": "cnn"}
    assert said(row("tensorflow", **{**flow, **more}), timed("torch", *TORCH, task="cnn")) == []


def test_without_a_baseline_nothing_is_said() -> None:
    torch = timed("torch", *TORCH, task="cnn")
    assert said(torch) == said(FLOW, torch, baseline=None) == said() == []


def test_the_fastest_come_first_and_each_task_has_its_turn() -> None:
    rows = []
    for task, count in (("mlp", 9), ("cnn", 1), ("gru", 3)):
        rows.append(timed("numpy", 1, 1.0, task=task))
        for n in range(1, count + 1):
            rows.append(timed(f"w{n}", n, n + 1.0, n + 0.9, n + 1.1, task=task))
    assert [(s.split()[0], s.split()[10]) for s in said(*rows, baseline="numpy")] == [
        ("w9", "mlp,"),
        ("w8", "mlp,"),
        ("w7", "mlp,"),
        ("w1", "cnn,"),
        ("w3", "gru,"),
        ("w2", "gru,"),
    ]
    assert len(said(*rows, baseline="numpy", most=2)) == 2
    assert len(said(*rows, baseline="numpy", most=99)) == 13


def test_a_worker_cannot_break_a_line() -> None:
    (sentence,) = said(FLOW, timed("torch", *TORCH, task="cnn", unusual_forms=["a\n\x1b[31mb"]))
    assert "torch (a b) is" in sentence
