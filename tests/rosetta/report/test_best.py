"""What is really the fastest: only where the intervals say so."""

from __future__ import annotations

import pytest

from canned_results import row, timed
from rosetta.report.best import fastest
from rosetta.results import Row

BASELINE = timed("numpy", 100, 1.0)


def best(*rows: Row) -> str | None:
    found = fastest(rows, "numpy")
    return found and found.worker


@pytest.mark.parametrize(
    ("others", "worker"),
    [
        ([timed("torch", 150, 1.5, 1.4, 1.6)], "torch"),
        ([timed("torch", 50, 0.5, 0.4, 0.6)], "numpy"),
        ([timed("torch", 150, 1.5, 1.4, 1.6), timed("jax", 200, 2.0, 1.9, 2.1)], "jax"),
        # Overlapping, or holding 1: nobody is.
        ([timed("torch", 150, 1.5, 1.4, 1.6), timed("jax", 165, 1.65, 1.55, 1.7)], None),
        ([timed("torch", 101, 1.01, 0.98, 1.04)], None),
        # 1.001 is shown as 1.00, and no reader would believe it.
        ([timed("torch", 102, 1.02, 1.001, 1.04)], None),
        # Without an interval nothing is known, of the fastest as of a rival.
        ([timed("torch", 150, 1.5)], None),
        ([timed("torch", 150, 1.5, 1.4, 1.6), timed("jax", 90, 0.9)], None),
    ],
)
def test_the_whole_interval_must_lie_above_all_others(
    others: list[Row], worker: str | None
) -> None:
    assert best(BASELINE, *others) == worker


@pytest.mark.parametrize(
    "more", [{"proof": "unproved"}, {"proof": "different"}, {"harness": True}, {"status": "failed"}]
)
def test_only_proved_frameworks_are_candidates_and_rivals(more: dict[str, object]) -> None:
    faster = timed("other", 900, 9.0, 8.9, 9.1, **more)
    torch = timed("torch", 150, 1.5, 1.4, 1.6)
    assert best(BASELINE, faster) is None, "one alone isn't better than anybody"
    assert best(BASELINE, torch, faster) == "torch"


def test_nobody_is_where_there_are_no_times() -> None:
    assert best() is None
    assert best(row("a"), row("b")) is None
