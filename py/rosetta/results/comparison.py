"""Two runs, row by row: is the second as fast as the first?

The runs were made at different times, perhaps on different machines, so their blocks aren't pairs;
what is compared are the medians of each run's own blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rosetta.errors import UserError
from rosetta.results.directory import read_run, read_summary
from rosetta.results.records import Row, Run, Step, Summary
from rosetta.results.statistics import Ratio, ratio_of_runs

Blocks = dict[int, dict[int, list[int]]]
"""Repeat → block → copy_ns + step_ns of its timed steps."""


@dataclass(frozen=True)
class Compared:
    """One worker on one task, in both runs."""

    task: str
    worker: str
    ratio: Ratio | None
    """samples/s of the second run relative to the first; None where one of them has no times."""
    why: str = ""
    """Why there is no ratio."""
    was_ok: bool = False
    """It has a result in the first run."""

    @property
    def verdict(self) -> str:
        """In words; "no difference" where the interval holds 1."""
        if self.ratio is None:
            return self.why
        if self.ratio.interval is None:
            return "too few blocks to say"
        low, high = self.ratio.interval
        if low <= 1 <= high:
            return "no difference"
        return "faster" if low > 1 else "slower"

    @property
    def is_unknown(self) -> bool:
        """The first run has a result, and whether the second is as fast can't be told."""
        return self.was_ok and (self.ratio is None or self.ratio.interval is None)

    def is_slower_by(self, share: float) -> bool:
        """Whether even the upper end of the interval is below 1 − `share`."""
        return bool(self.ratio and self.ratio.interval and self.ratio.interval[1] < 1 - share)


def compare(before: Path, after: Path) -> list[Compared]:
    """Every row of either run, in the order of the first.

    Rows with other data, batch sizes, threads or devices aren't compared, and networks that aren't
    the same neither. Raises UserError where a run can't be read, or a task isn't the same in both.
    """
    first, second = read_summary(before), read_summary(after)
    _check_tasks(read_run(before), read_run(after))
    times = blocks_of(before), blocks_of(after)
    keys = [(row.task, row.worker) for run in (first, second) for row in run.rows]
    return [
        _compared(key, _row(first, key), _row(second, key), times[0].get(key), times[1].get(key))
        for key in dict.fromkeys(keys)
    ]


def blocks_of(run: Path) -> dict[tuple[str, str], Blocks]:
    """The times of the timed steps of a run directory, by (task, worker).

    Of a task that was begun anew after an interruption only the last attempt counts.
    """
    file = run / "steps.jsonl"
    attempts: dict[str, int] = defaultdict(int)
    found: dict[tuple[str, str], Blocks] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for step in _steps(file):
        if step.attempt > attempts[step.task]:
            attempts[step.task] = step.attempt
            for key in [key for key in found if key[0] == step.task]:
                del found[key]
        if step.phase == "timed" and step.attempt == attempts[step.task]:
            block = found[step.task, step.worker][step.repeat][step.block]
            block.append(step.copy_ns + step.step_ns)
    return found


def _steps(file: Path) -> Iterable[Step]:
    decoder = msgspec.json.Decoder(Step)
    try:
        with file.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):  # the last one of a run that was killed may be cut
                    yield decoder.decode(line)
    except OSError as error:
        raise UserError(f"no steps at {file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{file} is no list of steps: {error}") from error


def _row(summary: Summary, key: tuple[str, str]) -> Row | None:
    return next((row for row in summary.rows if (row.task, row.worker) == key), None)


def _compared(
    key: tuple[str, str],
    first: Row | None,
    second: Row | None,
    before: Blocks | None,
    after: Blocks | None,
) -> Compared:
    task, worker = key
    was_ok = first is not None and first.status == "ok"
    why = _why_not(first, second)
    if why:
        return Compared(task, worker, None, why, was_ok)
    if not before or not after:
        return Compared(task, worker, None, "no timed steps", was_ok)
    first_blocks, second_blocks = (
        [list(repeat.values()) for repeat in run.values()] for run in (before, after)
    )
    ratio = ratio_of_runs(first_blocks, second_blocks)
    return Compared(task, worker, ratio, was_ok=was_ok)


def _why_not(first: Row | None, second: Row | None) -> str:
    """Why two rows can't be compared; empty when they can."""
    for row, which in ((first, "first"), (second, "second")):
        if row is None:
            return f"not in the {which} run"
        if row.status != "ok":
            return f"{row.status} in the {which} run"
        if row.proof == "different":
            return f"not the same network in the {which} run"
    for name in ("data", "batch_size", "threads", "device"):
        values = getattr(first, name), getattr(second, name)
        if values[0] != values[1]:
            return f"{name} {values[0]} and {values[1]}"
    return ""


def _check_tasks(first: Run, second: Run) -> None:
    """Steps, epochs and blocks may differ; what is trained may not."""
    for name in first.tasks.keys() & second.tasks.keys():
        if _network(first.tasks[name]) != _network(second.tasks[name]):
            raise UserError(f"task {name} isn't the same in both runs: they can't be compared")


def _network(task: dict[str, Any]) -> dict[str, Any]:
    content = task.get("content")
    if not isinstance(content, dict):
        return {}
    return {key: value for key, value in content.items() if key not in ("training", "bench")}
