"""Options that several commands share, and where output goes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from rosetta import datasets, tasks
from rosetta.datasets import Dataset
from rosetta.errors import UserError
from rosetta.tasks import Task
from rosetta.workers import Worker

DATA_HELP = (
    "auto: the task's own data set, or synthetic where it can't be had; or cifar10, imdb, mnist, "
    "synthetic"
)
DATA_DIR_HELP = "Folder with downloaded data sets; repeat for more [$ROSETTA_DATA]"

_PLAIN_WIDTH = 100_000
"""Nothing is wrapped where nobody's screen is the limit: a row of a table stays a line."""


def split(values: Iterable[str] | None) -> list[str]:
    """Values of an option that may be repeated or separated with commas or blanks, each once."""
    words = (word for value in values or () for word in re.split(r"[,\s]+", value))
    return list(dict.fromkeys(word for word in words if word))


def output() -> Console:
    """Standard output: wide enough for any table where it isn't a terminal."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return _Output(width=None if terminal else _PLAIN_WIDTH, color_system=_colours())


def _colours() -> Literal["auto"] | None:
    """With $NO_COLOR there is no styling at all, not even bold."""
    return None if os.environ.get("NO_COLOR") else "auto"


class _Output(Console):
    """Standard output; when nobody reads it any more, `closed_pipe` ends the command."""

    def on_broken_pipe(self) -> None:
        raise  # the BrokenPipeError, which Rich would turn into exit code 1


class ProgressConsole(Console):
    """Standard error; when nobody reads it any more, it falls silent and the run goes on."""

    def __init__(self) -> None:
        super().__init__(stderr=True, color_system=_colours())

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with suppress(OSError):  # or the interpreter complains when it flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


@dataclass(frozen=True)
class DataOptions:
    """Which data a task is trained on, as the command line says."""

    choice: str
    folders: list[str] | None
    download: bool
    seed: int

    def load(self, task: Task, say: Callable[[str], None]) -> tuple[Dataset, list[str]]:
        """The data set for `task`, and what the tables must say about it."""
        name = task.data if self.choice == "auto" else self.choice
        try:
            dataset = self._load(name, task, say)
        except datasets.DataUnavailable as error:
            if self.choice != "auto":
                raise
            say(f"{task.name} runs on synthetic data: {error}")
            note = f"{task.name} runs on synthetic data, since {name} can't be had here"
            return self._load("synthetic", task, say), [note]
        return dataset, [f"{task.name}: {warning}" for warning in dataset.source.warnings]

    def _load(self, name: str, task: Task, say: Callable[[str], None]) -> Dataset:
        return datasets.load(
            name,
            task=task.to_wire(),
            directories=self.directories(),
            download=self.download,
            seed=self.seed,
            report=say,
        )

    def directories(self) -> list[Path]:
        """Folders that data sets are looked for in."""
        return data_folders(self.folders)


def data_folders(asked: list[str] | None) -> list[Path]:
    """The folders of --data-dir, or else of $ROSETTA_DATA."""
    return datasets.directories_from(asked, os.environ)


def task_of(worker: Worker, asked: str, batch_size: int | None) -> Task:
    """The task `asked`, with another batch size where there is one.

    Raises UserError when `worker` doesn't have it.
    """
    definition = tasks.load(asked).override(batch_size=batch_size)
    if definition.name not in worker.tasks:
        known = ", ".join(worker.tasks)
        raise UserError(f"worker {worker.name} has no task {definition.name}: it has {known}")
    return definition


def say(sentence: str) -> None:
    """A line about what is going on: on standard error, so that results can be piped."""
    print(sentence, file=sys.stderr, flush=True)


def printable(word: str | Path) -> str:
    """`word` as text that any file can hold, though it came in another encoding."""
    return os.fsencode(word).decode("utf-8", "replace")
