"""Going on with a run that was interrupted.

A task that was under way is begun anew, since what the workers had learned is gone with them. Its
earlier lines in `steps.jsonl` stay; each line says in which attempt it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rosetta.errors import UserError
from rosetta.results import Row, Run, Summary, read_run, read_summary

_SAME = ("environment", "inherited", "processors")
"""What must not have changed in `run.json`, besides tasks, data and locks."""


@dataclass(frozen=True)
class Earlier:
    """What a run directory holds of the attempts before this one."""

    path: Path
    run: Run
    summary: Summary

    @property
    def attempt(self) -> int:
        """The number of the attempt that goes on with it."""
        return len(self.summary.resumed) + 2

    def check_still_the_last(self) -> None:
        """Raise UserError when another process has gone on with the run since it was read."""
        if read_summary(self.path) != self.summary:
            raise UserError(f"--resume {self.path}: another process has gone on with it meanwhile")

    def rows(self, planned: Sequence[str]) -> list[Row]:
        """The rows of the tasks that are done, of those that are `planned`."""
        left = set(self.left(planned))
        return [row for row in self.summary.rows if row.task in planned and row.task not in left]

    def left(self, planned: Sequence[str]) -> list[str]:
        """The tasks, of those `planned`, that aren't done."""
        return [task for task in planned if task in self.summary.missing]


def read(path: Path) -> Earlier:
    """The run in the directory `path`. Raises UserError where there is nothing to go on with."""
    summary = read_summary(path)
    if summary.state == "complete":
        raise UserError(f"--resume {path}: this run is complete")
    return Earlier(path, read_run(path), summary)


def continued(earlier: Earlier, now: Run) -> tuple[Run, list[str]]:
    """The record of the run as a whole, and what must be said of the differences.

    `now` describes this attempt. Raises UserError where its rows couldn't stand in one table with
    the earlier ones: another task, other data, other packages, other conditions.
    """
    before = earlier.run
    for name, task in before.tasks.items():
        if now.tasks.get(name) != task:
            _refuse(earlier, f"task {name} is another one now")
        if now.data[name]["sha256"] != before.data[name]["sha256"]:
            _refuse(earlier, f"the data of {name} are others now")
    for name, worker in before.workers.items():
        pins = [key for key in worker if key not in ("status", "hello")]
        if any(_differs(worker, now, name, key) for key in pins):
            _refuse(earlier, f"the environment of {name} is pinned otherwise now")
    for key in _SAME:
        if getattr(before, key) != getattr(now, key):
            _refuse(earlier, f"the variables that change the speed ({key}) are others now")
    notes = []
    if now.revision != before.revision:
        notes.append(f"begun with revision {before.revision}, resumed with {now.revision}")
    if now.machine.get("cpu_model") != before.machine.get("cpu_model"):
        notes.append("begun on another processor than resumed on")
    workers = {
        name: {**worker, "hello": worker["hello"] or before.workers.get(name, {}).get("hello")}
        for name, worker in now.workers.items()
    }
    return msgspec.structs.replace(before, workers=workers, machine=now.machine), notes


def _differs(worker: dict[str, object], now: Run, name: str, key: str) -> bool:
    return bool(now.workers.get(name, {}).get(key) != worker[key])


def _refuse(earlier: Earlier, why: str) -> None:
    raise UserError(f"--resume {earlier.path}: {why}; begin a new run")
