"""Which of very many steps are drawn, and which values stand for a distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rosetta.report.html.steps import Numbers

POINTS = 40_000
"""Steps that a page draws one by one in all its charts, so that it stays small and quick."""

MOST, FEWEST = 2000, 200
"""Steps drawn of one worker in one task, however few or many workers there are."""

QUANTILES = 201
"""Values that stand for a distribution of more: its quantiles in even distances, both ends too."""

LOSSES = 500
"""Losses drawn of one worker in one task."""


def room_for_each(series: int) -> int:
    """How many steps of each of `series` many series are drawn at most."""
    return max(FEWEST, min(MOST, POINTS // max(1, series)))


def drawn(times: Numbers, limit: int) -> tuple[Numbers, int]:
    """Indices of the steps to draw, ascending, and how many steps each two of them stand for.

    All, and 1, where there are at most `limit`. Otherwise the steps are taken `n` at a time, and
    of each such group the one with the (lower) median time and the slowest are drawn: real steps,
    the level and the outliers, and none is made up.
    """
    if len(times) <= limit:
        return np.arange(len(times)), 1
    size = -(-2 * len(times) // limit)
    chosen: set[int] = set()
    for start in range(0, len(times), size):
        ranked = start + np.argsort(times[start : start + size], kind="stable")
        chosen |= {int(ranked[(len(ranked) - 1) // 2]), int(ranked[-1])}
    return np.array(sorted(chosen)), size


def every_nth(steps: int, limit: int = LOSSES) -> int:
    """n, so that every n-th of `steps` many are at most `limit`."""
    return max(1, -(-steps // limit))


def distribution(values: NDArray[np.float64]) -> list[float]:
    """The values, sorted; or their quantiles in even distances where there are more of them."""
    if len(values) <= QUANTILES:
        return sorted(values.tolist())
    found: list[float] = np.quantile(values, np.linspace(0, 1, QUANTILES)).tolist()
    return found


def short(value: float, digits: int = 4) -> float:
    """Rounded to so many significant digits: more of them only fill the page's file."""
    return float(f"{value:.{digits}g}")
