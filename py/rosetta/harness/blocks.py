"""Contenders that take turns, block by block, and the ratios that come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rosetta.bench.schedule import turns
from rosetta.errors import UserError
from rosetta.results import Ratio, ratio_of_blocks

Contender = Callable[[int], int]
"""Does the block of that number, and returns the nanoseconds that it took."""


def interleaved(
    contenders: Mapping[str, Contender], blocks: int, seed: int
) -> dict[str, list[int]]:
    """Nanoseconds of each contender in each of `blocks` blocks.

    All do the same block before anybody does the next one, in an order that rotates and reverses.
    Block 0 is done by all beforehand and counts for nobody.
    """
    times: dict[str, list[int]] = {name: [] for name in contenders}
    for number in range(blocks + 1):
        for name in turns(list(contenders), number, seed):
            took_ns = contenders[name](number)
            if number:
                times[name].append(took_ns)
    return times


def speed_ratio(ours: Sequence[int], theirs: Sequence[int]) -> Ratio:
    """How many times as fast as `theirs` is `ours`: times of the same blocks, in pairs."""
    ratio = ratio_of_blocks([[time] for time in theirs], [[time] for time in ours])
    if ratio is None:
        raise UserError("nothing was measured: no block was done by both")
    return ratio


def per_second(times: Sequence[int], count: int) -> float:
    """How many a second, where a block of `count` took these nanoseconds: the median block's."""
    return count * 1e9 / max(1.0, float(np.median(times)))


def interval_of(ratio: Ratio) -> list[float] | None:
    """The interval as JSON has it."""
    return list(ratio.interval) if ratio.interval else None
