"""Which steps make up a block, and whose turn it is when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from rosetta.results import Phase

T = TypeVar("T")

Schedule = Literal["interleaved", "sequential"]
"""``interleaved``: all workers are alive and take turns; ``sequential``: one after the other."""


@dataclass(frozen=True)
class Block:
    """Consecutive steps given to one worker after the other."""

    number: int
    start: int
    stop: int
    evaluate: bool
    """Accuracy is taken after this block."""

    @property
    def steps(self) -> range:
        """The step numbers."""
        return range(self.start, self.stop)


def blocks(total: int, *, warmup: int, size: int, epoch: int | None) -> Iterator[Block]:
    """Cut `total` steps into blocks of at most `size`.

    Block 0 holds the steps that aren't timed: the first and the warm-up (where an epoch is shorter
    than that, the next blocks hold the rest of them, and nothing else). A block never crosses the
    end of an epoch of `epoch` steps; None: the run isn't counted in epochs.
    """
    start, number = 0, 0
    while start < total:
        stop = min(total, 1 + warmup if start <= warmup else start + size)
        if epoch:
            stop = min(stop, (start // epoch + 1) * epoch)
        at_end = stop == total or (epoch is not None and stop % epoch == 0)
        yield Block(number, start, stop, at_end)
        start, number = stop, number + 1


def phase(step: int, warmup: int) -> Phase:
    """What a step's time counts as."""
    if step == 0:
        return "first"
    return "warmup" if step <= warmup else "timed"


def groups(participants: Sequence[T], kind: Schedule, repeat: int, seed: int) -> list[list[T]]:
    """Those that are alive together. One after the other, each repeat has another order."""
    if kind == "interleaved":
        return [list(participants)] if participants else []
    return [[participant] for participant in turns(participants, repeat - 1, seed)]


def turns(participants: Sequence[T], block: int, seed: int) -> list[T]:
    """The order of turns in a block: a seeded shuffle, rotated, and in odd blocks reversed.

    Over twice as many blocks as there are participants each is first, second, … equally often, so
    that a machine that gets slower over a block is slower for all alike; the reversal keeps one
    from always following the same other, whose threads and caches it meets.
    """
    shuffled = [participants[i] for i in np.random.default_rng(seed).permutation(len(participants))]
    shift = block // 2 % max(1, len(shuffled))
    rotated = shuffled[shift:] + shuffled[:shift]
    return rotated[::-1] if block % 2 else rotated
