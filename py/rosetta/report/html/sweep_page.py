"""The report of a sweep: how speed scales with the batch size and the number of threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

from rosetta.errors import UserError, one_line
from rosetta.report.columns import notes, status_words
from rosetta.report.html import settings
from rosetta.report.html.alternatives import Chart
from rosetta.report.html.page import page
from rosetta.report.html.people import Worker, workers
from rosetta.report.html.ratios import takes_part
from rosetta.results import Row, Run, Summary, read_run, read_summary

SCRIPTS = ("theme.js", "draw.js", "sweep.js")


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's result at one combination."""

    worker: int
    batch_size: int
    threads: int
    samples_per_s: float
    step_ms: float | None
    memory: float | None


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What the page's script knows of a task."""

    name: str
    unit: str
    points: list[Point]


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What the page's script knows."""

    workers: list[Worker]
    tasks: list[Task]


@dataclass(frozen=True)
class Part:
    """One run of the sweep; `run` and `summary` are None where they can't be read: see `why`."""

    folder: str
    summary: Summary | None
    run: Run | None
    why: str = ""

    @property
    def notes(self) -> list[str]:
        """What must be said beside its tables."""
        return notes(self.summary) if self.summary else []

    @property
    def link(self) -> str:
        """To the run's own report, from that of the sweep."""
        return f"{quote(self.folder)}/report.html"


@dataclass(frozen=True)
class Section:
    """A task's part of the page: its charts, and a table of all combinations."""

    name: str
    unit: str
    charts: list[Chart]
    headings: list[str]
    lines: list[tuple[int, str, list[tuple[str, bool]]]]
    """Worker, its label, and of each combination the text and whether it is a number."""


def sweep_page(directory: Path) -> str:
    """The page of a sweep's folder. Raises `UserError` where there is no run in it."""
    parts = sorted(_parts(directory), key=_size)
    read = [part for part in parts if part.summary and part.run]
    if not read:
        raise UserError(f"no run can be read in {directory}: {parts[0].why if parts else 'empty'}")
    rows = [row for part in read if part.summary for row in part.summary.rows]
    people = workers(rows)
    index = {worker.name: number for number, worker in enumerate(people)}
    names = dict.fromkeys(row.task for row in rows)
    tasks = [_task(name, rows, index) for name in names]
    first = next(part.run for part in read if part.run)
    common = [said for said in read[0].notes if all(said in part.notes for part in read)]
    return page(
        "sweep.html",
        SCRIPTS,
        Data(workers=people, tasks=tasks),
        heading=f"Sweep {one_line(directory.resolve().name)}",
        machine=settings.machine_sentence(first),
        parts_and_commands=[(part, _command(part)) for part in parts],
        notes=common,
        sections=[_section(name, read, index, people) for name in names],
        workers=people,
    )


def _parts(directory: Path) -> Iterable[Part]:
    for folder in sorted(path for path in directory.iterdir() if path.is_dir()):
        try:
            yield Part(folder.name, read_summary(folder), read_run(folder))
        except UserError as error:
            yield Part(folder.name, None, None, one_line(str(error)))


def _size(part: Part) -> tuple[int, int, str]:
    rows = part.summary.rows if part.summary else []
    return (rows[0].batch_size, rows[0].threads, part.folder) if rows else (0, 0, part.folder)


def _command(part: Part) -> str:
    return settings.repeat_command(part.run) if part.run else ""


def _task(name: str, rows: Sequence[Row], index: dict[str, int]) -> Task:
    points = [
        Point(
            worker=index[row.worker],
            batch_size=row.batch_size,
            threads=row.threads,
            samples_per_s=row.samples_per_s,
            step_ms=row.step_ns_median / 1e6 if row.step_ns_median is not None else None,
            memory=row.peak_memory_bytes / 2**20 if row.peak_memory_bytes is not None else None,
        )
        for row in rows
        if row.task == name and row.samples_per_s is not None and takes_part(row)
    ]
    return Task(name=one_line(name), unit=_unit(rows, name), points=points)


def _unit(rows: Sequence[Row], name: str) -> str:
    forward = any(row.forward_only for row in rows if row.task == name)
    return "images/s" if forward else "samples/s"


def _section(
    name: str, parts: Sequence[Part], index: dict[str, int], people: Sequence[Worker]
) -> Section:
    runs = [
        [row for row in part.summary.rows if row.task == name] for part in parts if part.summary
    ]
    runs = [rows for rows in runs if rows]
    rows = [row for run in runs for row in run]
    names = dict.fromkeys(row.worker for row in rows)
    lines = [
        (index[worker], people[index[worker]].label, [_cell(run, worker) for run in runs])
        for worker in names
    ]
    return Section(
        name=one_line(name),
        unit=_unit(rows, name),
        charts=_charts(rows, people, index),
        headings=[_words(run[0]) for run in runs],
        lines=lines,
    )


def _charts(rows: Sequence[Row], people: Sequence[Worker], index: dict[str, int]) -> list[Chart]:
    """One over each of the two that differs between the runs, where there is something to draw."""
    shown = [row for row in rows if row.samples_per_s is not None and takes_part(row)]
    words = [
        f"{people[index[row.worker]].label}, {_words(row)}: {row.samples_per_s:,.0f} a second"
        for row in shown
    ]
    known = [
        ("batch_size", "Speed over the batch size", {row.batch_size for row in shown}),
        ("threads", "Speed over the number of threads", {row.threads for row in shown}),
    ]
    return [
        Chart(kind, title, "Both axes logarithmic: twice as much is the same distance.", words)
        for kind, title, values in known
        if len(values) > 1
    ]


def _words(row: Row) -> str:
    return f"batch {row.batch_size}, {row.threads} thread{'s' * (row.threads != 1)}"


def _cell(rows: Sequence[Row], worker: str) -> tuple[str, bool]:
    """samples/s; or why there is no such number, or what is wrong with it."""
    row = next((row for row in rows if row.worker == worker), None)
    if row is None:
        return "", False
    if row.samples_per_s is None or row.status != "ok" or row.proof == "different":
        return one_line(status_words(row)), False
    return f"{row.samples_per_s:,.0f}", True
