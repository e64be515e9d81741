"""The numbers of a summary, from the steps. No clocks here: canned series in, numbers out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Repeats = Sequence[Sequence[Sequence[int]]]
"""Of each repeat, of each of its blocks: the times of the steps."""

RESAMPLES = 4000
_DRAWN_AT_ONCE = 2**22
MIN_BLOCKS = 5
ENOUGH = {0.9: 64, 0.99: 662}
"""Quantile → from how many values on it is told: with fewer, the chance that not one of them lies
beyond it is above one in 800."""


@dataclass(frozen=True)
class Ratio:
    """samples/s of a worker relative to the baseline's, with a 95 % bootstrap interval.

    `interval` is None with fewer than five common blocks.
    """

    value: float
    interval: tuple[float, float] | None


def median_and_mad(values: Sequence[int]) -> tuple[int, int]:
    """Median and median absolute deviation (unscaled) of one or more values, rounded."""
    series = np.asarray(values, np.float64)
    median = float(np.median(series))
    return round(median), round(float(np.median(np.abs(series - median))))


def quantile(values: Sequence[int], q: float) -> int | None:
    """A quantile of `ENOUGH`, interpolated and rounded; None with too few values for it."""
    if len(values) < ENOUGH[q]:
        return None
    return round(float(np.quantile(np.asarray(values, np.float64), q)))


def ratio_of_blocks(
    baseline: Sequence[Sequence[int]],
    other: Sequence[Sequence[int]],
    seed: int = 1,
    repeats: Sequence[int] | None = None,
) -> Ratio | None:
    """How much faster `other` is than `baseline`, block by block.

    Both hold, for the same blocks in the same order, the times of their steps. A block's ratio is
    that of the medians: baseline time / other time. The value is the median over blocks, so that
    a few blocks in which the machine did something else don't move it.
    The interval is a bootstrap over blocks, not steps, since steps of one block share the machine's
    mood: the expanded percentile interval of Hesterberg 2015 (The American Statistician 69(4),
    section 3.2), because plain percentiles cover only 86 % of the cases with five blocks. With
    `repeats`, which say of each block in which fresh process it was trained, repeats are drawn
    first and blocks within them, and what is expanded is for that many repeats: what differs from
    process to process (where its memory lies, what its tuner chose) is not known from one.
    None without a common block.
    """
    numbers = repeats if repeats is not None else [0] * len(baseline)
    pairs = [(n, b, o) for n, b, o in zip(numbers, baseline, other, strict=False) if b and o]
    if not pairs:
        return None
    logs: dict[int, list[float]] = defaultdict(list)
    for number, before, after in pairs:
        logs[number].append(_log_median(before) - _log_median(after))
    value = math.exp(float(np.median(np.concatenate(list(logs.values())))))
    if len(pairs) < MIN_BLOCKS:
        return Ratio(value, None)
    medians = _resampled_medians([np.array(one) for one in logs.values()], seed)
    tail = _expanded_tail(len(logs) if len(logs) > 1 else len(pairs))
    low, high = np.quantile(medians, (tail, 1 - tail))
    return Ratio(value, (math.exp(low), math.exp(high)))


def ratio_of_runs(before: Repeats, after: Repeats, seed: int = 1) -> Ratio | None:
    """How much faster a later run is than an earlier one; each holds its own blocks, by repeat.

    The value is the ratio of the medians of the blocks' medians, the interval a bootstrap over
    either run by itself, repeats first and blocks within them, expanded as in `ratio_of_blocks` for
    the run that has fewer repeats (with one: fewer blocks). With one repeat in either it doesn't
    hold what differs from process to process. None with fewer than five blocks in one run.
    """
    logs = [
        [np.array([_log_median(block) for block in blocks if block]) for blocks in repeats]
        for repeats in (before, after)
    ]
    logs = [[series for series in run if len(series)] for run in logs]
    if not all(logs):
        return None
    whole = [np.concatenate(run) for run in logs]
    value = math.exp(float(np.median(whole[0]) - np.median(whole[1])))
    fewest = min(map(len, whole))
    if fewest < MIN_BLOCKS:
        return Ratio(value, None)
    medians = [_resampled_medians(run, seed + n) for n, run in enumerate(logs)]
    repeats = min(map(len, logs))
    tail = _expanded_tail(repeats if repeats > 1 else fewest)
    low, high = np.quantile(medians[0] - medians[1], (tail, 1 - tail))
    return Ratio(value, (math.exp(low), math.exp(high)))


def _resampled_medians(repeats: Sequence[NDArray[np.float64]], seed: int) -> NDArray[np.float64]:
    """Medians of samples that are drawn with replacement: repeats, then blocks within each."""
    rng = np.random.default_rng(seed)
    if len(repeats) == 1:
        (blocks,) = repeats
        at_once = max(1, _DRAWN_AT_ONCE // len(blocks))  # of a long run they'd fill the memory
        return np.concatenate(
            [
                np.median(blocks[rng.integers(0, len(blocks), (count, len(blocks)))], axis=1)
                for count in _portions(RESAMPLES, at_once)
            ]
        )
    shape = (RESAMPLES, len(repeats))
    numbers = rng.integers(0, len(repeats), shape)
    widest = max(map(len, repeats))
    drawn = np.full((*shape, widest), np.nan)
    for number, blocks in enumerate(repeats):
        chosen = numbers == number
        picks = rng.integers(0, len(blocks), (int(chosen.sum()), len(blocks)))
        drawn[chosen, : len(blocks)] = blocks[picks]
    found: NDArray[np.float64] = np.nanmedian(drawn.reshape(RESAMPLES, -1), axis=1)
    return found


def _portions(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]


def _expanded_tail(n: int, alpha: float = 0.05) -> float:
    """Φ(t √(n / (n − 1))), t the α/2 quantile of Student's t with n − 1 degrees of freedom."""
    from scipy import stats  # takes a second to import, and most commands need no interval

    return float(stats.norm.cdf(math.sqrt(n / (n - 1)) * stats.t.ppf(alpha / 2, n - 1)))


def _log_median(times: Sequence[int]) -> float:
    """Logarithm of the median; a clock too coarse to see a step counts as one nanosecond."""
    return math.log(max(1.0, float(np.median(times))))
