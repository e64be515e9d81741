"""Each worker's speed relative to each other's, so that a reader can choose the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rosetta.report.html.steps import Series
from rosetta.results import Ratio, Row, ratio_of_blocks


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """samples/s of worker `other` relative to worker `baseline`: indices of the page's workers."""

    baseline: int
    other: int
    value: float
    low: float | None
    high: float | None
    text: str
    verdict: str


def takes_part(row: Row) -> bool:
    """Whether a row may be compared: `ok`, the same network as far as is known, a framework."""
    return row.status == "ok" and row.proof != "different" and not row.harness


def speeds(
    rows: Sequence[Row],
    series: Mapping[str, Series],
    index: Mapping[str, int],
    *,
    paired: bool = True,
) -> list[Speed]:
    """Every ordered pair of the rows of one task that take part and have common blocks.

    Computed as the run's own ratios are (`ratio_of_blocks`), once for two directions: the other
    one is the reciprocal, of the interval too, since the same blocks are drawn. Blocks that aren't
    `paired` have no interval (`rosetta.bench.ratios` says why).
    """
    blocks = {
        row.worker: series[row.worker].blocks()
        for row in rows
        if takes_part(row) and row.worker in series
    }
    found = []
    names = [name for name, times in blocks.items() if times]
    for number, baseline in enumerate(names):
        found.append(_speed(index[baseline], index[baseline], Ratio(1.0, None), is_itself=True))
        for other in names[number + 1 :]:
            numbers = sorted(blocks[baseline])
            ratio = ratio_of_blocks(
                [blocks[baseline][n] for n in numbers],
                [blocks[other].get(n, ()) for n in numbers],
                repeats=[repeat for repeat, _ in numbers],
            )
            if ratio:
                ratio = ratio if paired else Ratio(ratio.value, None)
                found.append(_speed(index[baseline], index[other], ratio))
                found.append(_speed(index[other], index[baseline], _reciprocal(ratio)))
    return found


def _reciprocal(ratio: Ratio) -> Ratio:
    interval = (1 / ratio.interval[1], 1 / ratio.interval[0]) if ratio.interval else None
    return Ratio(1 / ratio.value, interval)


def _speed(baseline: int, other: int, ratio: Ratio, *, is_itself: bool = False) -> Speed:
    low, high = ratio.interval or (None, None)
    text = f"{ratio.value:.2f}"
    if low is not None and high is not None:
        text += f" ({low:.2f}-{high:.2f})"
    verdict = "the baseline" if is_itself else _verdict(low, high)
    return Speed(
        baseline=baseline,
        other=other,
        value=ratio.value,
        low=low,
        high=high,
        text=text,
        verdict=verdict,
    )


def _verdict(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "no interval: too few blocks, or trained at different times"
    if low <= 1 <= high:
        return "no difference found"
    return "faster" if low > 1 else "slower"
