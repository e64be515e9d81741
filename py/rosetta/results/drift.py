"""Step times that drift or stray, and what was seen of the machine meanwhile that may be the cause.

No clocks here: canned series in, sentences out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_BLOCKS = 8
LEAST_CHANGE = 0.05
"""A change over the whole run that is worth a word: ratios are read to a few percent."""
CONFIDENCE = 0.99
"""The slope's interval must not hold 0. Of runs without drift about one in a hundred is accused."""
STRAY_SHARE = 0.05
"""Share of steps above the bound that is worth a word; the median hardly notices fewer."""
_STRAY_SIGMAS = 5.0
_STRAY_LEAST = 1.5
"""A step within half the median above it is never a stray one, however quiet the others are."""
_SIGMA_PER_MAD = 1.4826
"""Of a normal distribution."""
_MOST_POINTS = 200
"""Theil-Sen looks at every pair: more blocks are taken together first."""


@dataclass(frozen=True)
class Seen:
    """What was seen from outside between the two ends of one turn of a worker; None: can't be seen.

    Processor time comes in ticks of the kernel's clock, so that one short turn says little.
    """

    seconds: float
    others_s: float | None = None
    """Processor time of all other processes, this run's waiting workers among them."""
    stolen_s: float | None = None
    """Processor time that the hypervisor gave to other machines."""
    swapped_bytes: int | None = None
    throttled: int | None = None
    """How often cores were slowed down for heat."""
    mhz: float | None = None
    """Clock frequency at its end."""
    memory_bytes: int | None = None
    """Resident memory of the worker at its end."""


def notes(name: str, blocks: Sequence[Sequence[int]], seen: Sequence[Seen]) -> list[str]:
    """What a reader of `name`'s times must know: at most one sentence of drift, and one of strays.

    `blocks`: times of the steps of each of its turns, in nanoseconds, in the order of time; `seen`:
    as many, what was seen meanwhile.
    """
    pairs = [(np.asarray(block, np.float64), s) for block, s in zip(blocks, seen, strict=True)]
    pairs = [(block, s) for block, s in pairs if len(block)]
    series, looks = [block for block, _ in pairs], [s for _, s in pairs]
    slope = trend(series)
    found = [_drift_note(name, slope, len(series), looks)] if slope else []
    level = [block / math.exp(slope * n) for n, block in enumerate(series)]
    return found + _stray_notes(name, level, looks)


def trend(series: Sequence[NDArray[np.float64]]) -> float:
    """Growth of the logarithm of a block's median from block to block; 0.0: no drift.

    It is Theil and Sen's (the median of the slopes between any two blocks), so that a few odd
    blocks don't make one; their interval (Sen 1968) says whether it may be none.
    """
    if len(series) < MIN_BLOCKS:
        return 0.0
    from scipy import stats  # takes a second to import

    medians = np.log([max(1.0, float(np.median(block))) for block in series])
    numbers = np.arange(len(medians), dtype=np.float64)
    if len(medians) > _MOST_POINTS:
        groups = np.array_split(numbers.astype(np.intp), _MOST_POINTS)
        medians = np.array([np.median(medians[group]) for group in groups])
        numbers = np.array([group.mean() for group in groups])
    slope, _, low, high = stats.theilslopes(medians, numbers, alpha=CONFIDENCE)
    significant = low > 0 or high < 0
    large = math.expm1(abs(slope) * (len(series) - 1)) >= LEAST_CHANGE
    return float(slope) if significant and large else 0.0


def stray_bound(times: NDArray[np.float64]) -> float:
    """Steps that take longer than this are stray: a robust five sigma above the median."""
    median = float(np.median(times))
    mad = float(np.median(np.abs(times - median)))
    return max(median * _STRAY_LEAST, median + _STRAY_SIGMAS * _SIGMA_PER_MAD * mad)


def causes(slow: Sequence[Seen], fast: Sequence[Seen], grown: float = 0.0) -> list[str]:
    """What was otherwise in the `slow` turns than in the `fast` ones, most certain cause first.

    `grown`: the share by which the steps took longer, which a cause must be able to explain.
    """
    found = [
        _heat(slow, fast),
        _clock(slow, fast),
        _swapping(slow, fast),
        _processor_time("the hypervisor gave other machines", "stolen_s", slow, fast, grown),
        _processor_time("other processes used", "others_s", slow, fast, grown),
    ]
    return [cause for cause in found if cause]


# --- sentences ------------------------------------------------------------------------------------


def _drift_note(name: str, slope: float, blocks: int, looks: Sequence[Seen]) -> str:
    third = max(1, blocks // 3)
    first, last = looks[:third], looks[-third:]
    grown = math.expm1(abs(slope) * (blocks - 1))
    slower = slope > 0
    found = causes(last, first, grown) if slower else causes(first, last, grown)
    if slower:
        found += _growth(first, last)
    where = "at its end" if slower else "at its beginning"
    word = "slower" if slower else "faster"
    return f"{name}: steps got {grown:.0%} {word} over the run{_because(found, where)}"


def _stray_notes(
    name: str, level: Sequence[NDArray[np.float64]], looks: Sequence[Seen]
) -> list[str]:
    if not level:
        return []
    times = np.concatenate(level)
    bound = stray_bound(times)
    share = float(np.mean(times > bound))
    if share < STRAY_SHARE:
        return []
    hit = [bool((block > bound).any()) for block in level]
    with_strays = [s for s, is_hit in zip(looks, hit, strict=True) if is_hit]
    without = [s for s, is_hit in zip(looks, hit, strict=True) if not is_hit]
    factor = bound / float(np.median(times))
    sentence = f"{name}: {share:.0%} of the steps took more than {factor:.1f} times the median"
    return [sentence + _because(causes(with_strays, without, factor - 1), "in those turns")]


def _because(found: Sequence[str], where: str) -> str:
    return f": {where} {', and '.join(found)}" if found else ": cause unknown"


# --- causes ---------------------------------------------------------------------------------------

_LEAST_PROCESSORS = 0.1
"""A process that takes a tenth of a processor moves a median by more than its own noise."""
_TICK_S = 0.01
_SLOWER_CLOCK = 0.95
_SWAPPED_BYTES = 1_000_000
_GROWN, _GROWN_BYTES = 1.2, 50_000_000


def _heat(slow: Sequence[Seen], fast: Sequence[Seen]) -> str | None:
    hot, cool = (sum(s.throttled or 0 for s in turns) for turns in (slow, fast))
    times = f"{hot} time{'s' * (hot != 1)}"
    return f"cores were slowed down for heat {times}" if hot > cool else None


def _clock(slow: Sequence[Seen], fast: Sequence[Seen]) -> str | None:
    now, before = ([s.mhz for s in turns if s.mhz] for turns in (slow, fast))
    if not (now and before) or np.mean(now) >= _SLOWER_CLOCK * np.mean(before):
        return None
    return f"the clock was at {np.mean(now) / 1000:.1f} GHz instead of {np.mean(before) / 1000:.1f}"


def _swapping(slow: Sequence[Seen], fast: Sequence[Seen]) -> str | None:
    now, before = (_per_second([s.swapped_bytes for s in t], t) for t in (slow, fast))
    total = sum(s.swapped_bytes or 0 for s in slow)
    if total < _SWAPPED_BYTES or now <= 2 * before:
        return None
    return f"the machine swapped {total / 1e6:.0f} MB"


def _processor_time(
    words: str, name: str, slow: Sequence[Seen], fast: Sequence[Seen], grown: float
) -> str | None:
    """Processors' worth of time, unless the kernel's ticks blur the difference.

    Or unless it is too small to be why steps took longer by the share `grown`: a processor less
    makes a step twice as long at most where there are two, so half of `grown` is the least.
    """
    sides = [[(getattr(s, name), s) for s in turns] for turns in (slow, fast)]
    sides = [[(value, s) for value, s in side if value is not None] for side in sides]
    if not all(sides):
        return None
    now, before = (_per_second([v for v, _ in side], [s for _, s in side]) for side in sides)
    blur = max(
        2 * _TICK_S * math.sqrt(len(side)) / _seconds([s for _, s in side]) for side in sides
    )
    if now - before < max(_LEAST_PROCESSORS, 2 * blur, grown / 2):
        return None
    return f"{words} {max(now, 0):.1f} processors (otherwise {max(before, 0):.1f})"


def _growth(first: Sequence[Seen], last: Sequence[Seen]) -> list[str]:
    before, now = ([s.memory_bytes for s in turns if s.memory_bytes] for turns in (first, last))
    if not (before and now):
        return []
    small, large = float(np.median(before)), float(np.median(now))
    if large < small * _GROWN or large < small + _GROWN_BYTES:
        return []
    return [f"its own memory had grown from {small / 1e6:.0f} to {large / 1e6:.0f} MB"]


def _per_second(values: Sequence[float | None], turns: Sequence[Seen]) -> float:
    return sum(value or 0 for value in values) / _seconds(turns)


def _seconds(turns: Sequence[Seen]) -> float:
    return max(1e-9, sum(s.seconds for s in turns))
