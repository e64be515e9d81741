"""The clock runs as long as the work does: three signs of one that is stopped too early.

The reported times are less than what passes between a batch and its answer; the step's time doesn't
grow with the batch; and it shrinks when the next batch comes late, since the rest of the work was
done meanwhile, unseen.

A machine that is busy with something else can only make a step longer. So every time is the least
of several rounds, and rounds are added for as long as a sign is there: what is systematic stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from rosetta.proof import tolerances
from rosetta.proof.asking import Asker, Timing
from rosetta.proof.measure import Verdict
from rosetta.proof.script import Script, Step, draw
from rosetta.tasks import Task

SMALL_BATCH = 4
ROUGH_BATCHES, SMOOTH_BATCHES = (64, 256, 1024), (256, 1024, 4096)
FORWARD_SMALL_BATCH, FORWARD_BATCHES = 2, (6, 24, 96)
"""Convolutions grow with the batch at once; a GRU waits for its time steps before it does."""

LONG_STEP_NS = 100_000_000
"""From here on a step is work; shorter ones are partly the overhead of framework and system."""

LONGEST_STEP_NS = 5_000_000_000
FEW_ROUNDS, MANY_ROUNDS = 3, 10

Asked = TypeVar("Asked")


@dataclass
class Clock:
    """The least times of a small batch, of a large one after a pause, and of one without."""

    batch: int
    small: int = SMALL_BATCH
    short: list[Timing] = field(default_factory=list)
    rested: list[Timing] = field(default_factory=list)
    pressed: list[Timing] = field(default_factory=list)

    def unreported(self) -> float:
        """Share of the time between batch and answer that isn't in the worker's times."""
        return max(0.0, min(1 - t.work_ns / t.outside_ns for t in self.rested))

    def not_growing(self) -> float:
        """Share a / t(B) of the large batch's step in t(b) = a + c b."""
        times = self.batch / self.small
        growth = _least(self.rested) / _least(self.short)
        return max(0.0, (times / growth - 1) / (times - 1))

    def gone(self) -> float:
        """Share of the step that is gone after a pause."""
        return max(0.0, 1 - _least(self.rested) / _least(self.pressed))

    def signs(self) -> list[tuple[str, float, float]]:
        """Quantity, deviation and tolerance of each sign."""
        growing = f"share of the step that doesn't grow from batch {self.small} to {self.batch}"
        return [
            ("share of the step that isn't reported", self.unreported(), tolerances.UNREPORTED),
            (growing, self.not_growing(), tolerances.NOT_GROWING),
            ("share of the step that is gone after a pause", self.gone(), tolerances.GONE),
        ]

    def grows(self) -> bool:
        """Whether the step grows with the batch."""
        return self.not_growing() <= tolerances.NOT_GROWING

    def is_complete(self) -> bool:
        """Whether nothing is kept back: all work is reported, and none of it is gone."""
        return self.unreported() <= tolerances.UNREPORTED and self.gone() <= tolerances.GONE


def probe_clock(asker: Asker, script: Script, verdict: Verdict) -> None:
    """Look for the three signs, at the first batch whose step is long enough and has grown."""
    rng = np.random.default_rng(1)
    batches = ROUGH_BATCHES if script.rough else SMOOTH_BATCHES
    _probe(
        asker.time, lambda size: Step(*draw(script.task, rng, size)), SMALL_BATCH, batches, verdict
    )


def probe_prediction_clock(asker: Asker, task: Task, verdict: Verdict) -> None:
    """The same for a task that goes forward only."""
    rng = np.random.default_rng(1)
    _probe(
        asker.time_prediction,
        lambda size: draw(task, rng, size)[0],
        FORWARD_SMALL_BATCH,
        FORWARD_BATCHES,
        verdict,
    )


def _probe(
    time: Callable[[Sequence[Asked], float], list[Timing]],
    make: Callable[[int], Asked],
    small_size: int,
    sizes: Sequence[int],
    verdict: Verdict,
) -> None:
    small, clock = make(small_size), None
    for size in sizes:
        large = make(size)
        times = time([small, large, large, large], 0.0)[2:]  # compiled by then
        length_ns = min(step.outside_ns for step in times)  # one alone may have met other load
        if length_ns < LONG_STEP_NS:
            continue
        last = size == sizes[-1] or 4 * length_ns > LONGEST_STEP_NS
        clock = Clock(size, small_size)
        _watch(time, small, large, clock, length_ns, decides=last)
        if clock.grows() or last:
            break
    if clock is None:
        verdict.notes.append("the steps are too short for the clock probe")
        return
    _judge(clock, verdict)


def _judge(clock: Clock, verdict: Verdict) -> None:
    for quantity, deviation, tolerance in clock.signs():
        verdict.add(quantity, deviation, tolerance)


def _watch(
    time: Callable[[Sequence[Asked], float], list[Timing]],
    small: Asked,
    large: Asked,
    clock: Clock,
    length_ns: int,
    *,
    decides: bool,
) -> None:
    """At least three rounds, and more as long as a sign is there.

    That the step doesn't grow counts only where this batch `decides`: else a larger one will.
    """
    for number in range(MANY_ROUNDS):
        pause_s = length_ns / 1e9
        clock.short += time([small], pause_s)
        clock.rested += time([large], pause_s)
        clock.pressed += time([large], 0.0)  # right after: with what was left of the one before
        right = clock.is_complete() and (clock.grows() or not decides)
        if number + 1 >= FEW_ROUNDS and right:
            break


def _least(timings: list[Timing]) -> int:
    return min(timing.work_ns for timing in timings)
