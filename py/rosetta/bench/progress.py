"""What a run tells while it goes on: live bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from rosetta.errors import one_line
from rosetta.results import Row, Step

PLAIN_INTERVAL = 10.0
"""Seconds between two lines about a worker."""

LIVE_INTERVAL = 0.5
"""Seconds between two drawings of the bars, while no worker computes."""

LONG_TURN = 3.0
"""Seconds after which the bars are drawn even though a worker computes."""


class Reporter(Protocol):
    """Gets the events of a run."""

    def note(self, sentence: str) -> None:
        """Something that the user should know."""

    def begin(
        self, task: str, data: str, workers: list[str], steps: int, *, trains: bool = True
    ) -> None:
        """A task begins, with `steps` steps for each of `workers`."""

    def state(self, worker: str, words: str) -> None:
        """What a worker is busy with besides training."""

    def step(self, worker: str, step: Step, samples_per_s: float) -> None:
        """A worker has done a step."""

    def rest(self) -> None:
        """A turn is over: nobody computes, and what is done now slows nobody down."""

    def end(self, rows: list[Row]) -> None:
        """The task is over."""


def reporter(console: Console) -> Reporter:
    """The reporter that fits the console."""
    return LiveReporter(console) if console.is_terminal else PlainReporter(console)


class LiveReporter:
    """A bar per worker: step, loss, samples/s, time left.

    Drawn between turns: a drawing takes milliseconds, and a thread that draws whenever it likes
    would take them from the worker whose clock runs.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn = 0.0
        self._bars: Progress | None = None
        self._ids: dict[str, TaskID] = {}
        self._trains = True

    def note(self, sentence: str) -> None:
        self._console.print(Text(one_line(sentence)))

    def begin(
        self, task: str, data: str, workers: list[str], steps: int, *, trains: bool = True
    ) -> None:
        self._console.print(Text.assemble((task, "bold"), f" on {one_line(data)}"))
        self._trains = trains
        self._bars = Progress(
            TextColumn("{task.description:<14}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            TimeRemainingColumn(),
            console=self._console,
            auto_refresh=False,
        )
        self._ids = {
            name: self._bars.add_task(one_line(name), total=steps, words="starting")
            for name in workers
        }
        self._bars.start()

    def state(self, worker: str, words: str) -> None:
        if self._bars and worker in self._ids:
            self._bars.update(self._ids[worker], words=one_line(words))
            self._draw()

    def step(self, worker: str, step: Step, samples_per_s: float) -> None:
        if self._bars and worker in self._ids:
            words = f"{_loss(step, self._trains, '  ')}{samples_per_s:,.0f} samples/s"
            self._bars.update(self._ids[worker], advance=1, words=words)
            self._draw_after(LONG_TURN)

    def rest(self) -> None:
        self._draw_after(LIVE_INTERVAL)

    def end(self, rows: list[Row]) -> None:
        if self._bars:
            self._bars.stop()
            self._bars = None

    def _draw_after(self, seconds: float) -> None:
        if time.monotonic() - self._drawn > seconds:
            self._draw()

    def _draw(self) -> None:
        if self._bars:
            self._bars.refresh()
            self._drawn = time.monotonic()


class PlainReporter:
    """A line when something happens, and one every ten seconds of training a worker."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._steps = 0
        self._trains = True
        self._started: dict[str, tuple[float, int]] = {}
        self._said: dict[str, float] = {}

    def note(self, sentence: str) -> None:
        self._line(sentence)

    def begin(
        self, task: str, data: str, workers: list[str], steps: int, *, trains: bool = True
    ) -> None:
        self.note(f"{task} on {data}: {', '.join(workers)}, {steps} steps each")
        self._trains = trains
        self._steps = steps
        self._started = {}
        self._said = {}

    def state(self, worker: str, words: str) -> None:
        self._line(f"{worker}: {words}", indent=2)

    def step(self, worker: str, step: Step, samples_per_s: float) -> None:
        now = time.monotonic()
        since, first = self._started.setdefault(worker, (now, step.step))
        last = step.step + 1 == self._steps
        if not last and now - self._said.setdefault(worker, now) < PLAIN_INTERVAL:
            return
        self._said[worker] = now
        done = step.step - first
        left = (now - since) / done * (self._steps - step.step - 1) if done else 0.0
        self._line(
            f"{worker}: step {step.step + 1}/{self._steps}, {_loss(step, self._trains, ', ')}"
            f"{samples_per_s:,.0f} samples/s, {left:.0f} s left",
            indent=2,
        )

    def rest(self) -> None:
        pass  # lines are few enough to be written when they come

    def end(self, rows: list[Row]) -> None:
        for row in rows:
            if row.status != "ok":
                reason = row.reason or ("" if row.status == "interrupted" else "see its log")
                self._line(f"{row.worker}: {row.status}: {reason}", indent=2)

    def _line(self, sentence: str, indent: int = 0) -> None:
        self._console.print(Text(" " * indent + one_line(sentence)), soft_wrap=True)


def _loss(step: Step, trains: bool, then: str) -> str:
    """Nothing where a task goes forward only."""
    if not trains:
        return ""
    return ("loss not finite" if step.loss is None else f"loss {step.loss:.4f}") + then
