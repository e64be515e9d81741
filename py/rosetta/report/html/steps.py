"""`steps.jsonl` in columns of machine numbers: the steps of a long run take 80 bytes each."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rosetta.errors import UserError
from rosetta.results import Phase, Step

Numbers = NDArray[np.int64]
PHASES: tuple[Phase, ...] = ("first", "warmup", "timed")
TIMED = PHASES.index("timed")
UNTOLD = -1
"""Stands for a time that the worker didn't tell."""


def _integers() -> array[int]:
    return array("q")


@dataclass
class Series:
    """One worker's steps in one task, in the order in which they were computed.

    All columns are as long as there are steps. Times are in nanoseconds, `UNTOLD` where missing.
    """

    order: array[int] = field(default_factory=_integers)
    """The how many-th step of the task it was, the steps of all workers counted, from 0."""
    step: array[int] = field(default_factory=_integers)
    block: array[int] = field(default_factory=_integers)
    repeat: array[int] = field(default_factory=_integers)
    phase: array[int] = field(default_factory=_integers)
    """Index in `PHASES`."""
    wait_ns: array[int] = field(default_factory=_integers)
    copy_ns: array[int] = field(default_factory=_integers)
    step_ns: array[int] = field(default_factory=_integers)
    forward_ns: array[int] = field(default_factory=_integers)
    backward_ns: array[int] = field(default_factory=_integers)
    loss: array[float] = field(default_factory=lambda: array("d"))
    """Not a number where the loss wasn't finite."""

    def add(self, step: Step, order: int) -> None:
        """Append one step."""
        self.order.append(order)
        self.phase.append(PHASES.index(step.phase))
        for name in ("step", "block", "repeat", "wait_ns", "copy_ns", "step_ns"):
            getattr(self, name).append(getattr(step, name))
        self.forward_ns.append(UNTOLD if step.forward_ns is None else step.forward_ns)
        self.backward_ns.append(UNTOLD if step.backward_ns is None else step.backward_ns)
        self.loss.append(math.nan if step.loss is None else step.loss)

    @property
    def timed(self) -> Numbers:
        """Indices of the timed steps."""
        return np.flatnonzero(column(self.phase) == TIMED)

    @property
    def opens_turn(self) -> NDArray[np.bool_]:
        """Per step: the first of its block, which waited while the others had their turns."""
        turns = np.stack([column(self.repeat), column(self.block)])
        changed = np.any(np.diff(turns, axis=1) != 0, axis=0)
        return np.concatenate([[True], changed])[: len(self.step)]

    def blocks(self) -> dict[tuple[int, int], array[int]]:
        """copy_ns + step_ns of the timed steps, by (repeat, block)."""
        found: dict[tuple[int, int], array[int]] = {}
        for index in self.timed.tolist():
            key = self.repeat[index], self.block[index]
            times = found.setdefault(key, array("Q"))  # a sum needs the 64th bit
            times.append(self.copy_ns[index] + self.step_ns[index])
        return found


def column(values: array[int]) -> Numbers:
    """A column as an array; it shares the memory, so nothing may be appended meanwhile."""
    return np.frombuffer(values, np.int64) if values else np.empty(0, np.int64)


def read_steps(file: Path) -> dict[str, dict[str, Series]]:
    """Task → worker → its steps. Of a task that was begun anew only the last attempt counts.

    A last line that was cut short is left out. Raises `UserError` where the file can't be read or
    isn't a list of steps.
    """
    found: dict[str, dict[str, Series]] = {}
    attempts: dict[str, int] = {}
    counts: dict[str, int] = {}
    for step in _lines(file):
        if step.attempt > attempts.get(step.task, 0):
            attempts[step.task] = step.attempt
            found[step.task], counts[step.task] = {}, 0
        if step.attempt == attempts[step.task]:
            series = found[step.task].setdefault(step.worker, Series())
            series.add(step, counts[step.task])
            counts[step.task] += 1
    return found


def _lines(file: Path) -> Iterator[Step]:
    decoder = msgspec.json.Decoder(Step)
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    yield decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise UserError(f"{file}, line {number}, is no step: {error}") from error
    except OSError as error:
        raise UserError(f"no steps at {file}: {error.strerror}") from error
