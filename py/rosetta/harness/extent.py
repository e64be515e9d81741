"""How much is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PARTS = ("overhead", "ceiling", "round_trip", "memory")


@dataclass(frozen=True)
class Series:
    """Blocks that count, and what each contender does in one."""

    blocks: int
    size: int
    """Steps, batches or round trips."""


@dataclass(frozen=True)
class Extent:
    """One run's."""

    overhead: Mapping[str, Series]
    """By task. A block takes a tenth of a second or more."""
    ceiling: Series
    workers: tuple[int, ...]
    """Numbers of `null` workers."""
    round_trip: Series
    memory_steps: int


FULL = Extent(
    overhead={"mlp": Series(30, 60), "cnn": Series(20, 5), "gru": Series(20, 8)},
    ceiling=Series(20, 50),
    workers=(1, 2, 4),
    round_trip=Series(20, 300),
    memory_steps=20_000,
)
QUICK = Extent(
    overhead={"mlp": Series(8, 30), "cnn": Series(5, 2), "gru": Series(5, 3)},
    ceiling=Series(6, 20),
    workers=(1, 2, 4),
    round_trip=Series(6, 100),
    memory_steps=2_000,
)
