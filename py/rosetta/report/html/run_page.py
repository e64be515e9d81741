"""The report of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rosetta.errors import UserError, one_line, unknown
from rosetta.report.columns import notes, title
from rosetta.report.html import alternatives, settings, tables
from rosetta.report.html.charts import Charts, charts
from rosetta.report.html.page import page
from rosetta.report.html.people import Worker, workers
from rosetta.report.html.ratios import Speed, speeds
from rosetta.report.html.steps import Series, read_steps
from rosetta.report.html.thinning import room_for_each
from rosetta.results import Row, Run, Summary, read_run, read_summary

SCRIPTS = ("theme.js", "draw.js", "times.js", "curves.js", "baseline.js", "run.js")


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What the page's script knows of a task."""

    name: str
    speeds: list[Speed]
    charts: Charts


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What the page's script knows."""

    workers: list[Worker]
    baseline: int | None
    tasks: list[Task]


@dataclass(frozen=True)
class Section:
    """A task's part of the page."""

    name: str
    title: str
    table: tables.Table | None
    charts: list[alternatives.Chart]
    thinned: str | None


def run_page(directory: Path, baseline: str | None = None) -> str:
    """The page of a run directory, whatever it holds so far.

    `baseline`: the worker that the ratios refer to at first, else the run's own. Raises `UserError`
    where the directory is no run or has no such worker.
    """
    run, summary = read_run(directory), read_summary(directory)
    steps = read_steps(directory / "steps.jsonl")
    people = workers(summary.rows, (name for task in steps.values() for name in task))
    index = {worker.name: number for number, worker in enumerate(people)}
    limit = room_for_each(sum(map(len, steps.values())))
    names = dict.fromkeys([*(row.task for row in summary.rows), *steps])
    tasks, sections = [], []
    for name in names:
        rows = [row for row in summary.rows if row.task == name]
        series = steps.get(name, {})
        task = _task(name, rows, series, index, limit, _is_paired(run))
        tasks.append(task)
        sections.append(_section(summary, task, rows, index, people))
    candidates = sorted({speed.baseline for task in tasks for speed in task.speeds})
    chosen = _baseline(baseline, summary.baseline, [people[n].name for n in candidates], index)
    data = Data(workers=people, baseline=chosen, tasks=tasks)
    return page(
        "run.html",
        SCRIPTS,
        data,
        heading=f"Run {one_line(summary.run)}",
        state=summary.state,
        started=one_line(run.started),
        machine=settings.machine_sentence(run),
        notes=notes(summary),
        sections=sections,
        workers=people,
        candidates=candidates,
        baseline=data.baseline,
        exclusions=tables.exclusions(summary),
        facts=settings.facts(run, summary),
        command=settings.repeat_command(run),
        revision=one_line(run.revision or ""),
    )


def _task(
    name: str,
    rows: Sequence[Row],
    series: Mapping[str, Series],
    index: Mapping[str, int],
    limit: int,
    paired: bool,
) -> Task:
    return Task(
        name=one_line(name),
        speeds=speeds(rows, series, index, paired=paired),
        charts=charts(rows, series, index, limit),
    )


def _section(
    summary: Summary,
    task: Task,
    rows: Sequence[Row],
    index: Mapping[str, int],
    people: Sequence[Worker],
) -> Section:
    thinned = [times for times in task.charts.times if times.each_two_of > 1]
    return Section(
        name=task.name,
        title=title(summary, rows[0].task) if rows else task.name,
        table=tables.table(summary, rows, index) if rows else None,
        charts=alternatives.described(task.charts, task.speeds, people),
        thinned=alternatives.thinning_sentence(thinned, task.charts.loss) if thinned else None,
    )


def _baseline(
    asked: str | None, of_run: str | None, candidates: Sequence[str], index: Mapping[str, int]
) -> int | None:
    """The worker asked for; else the run's, or the first where that has nothing to compare with.

    None without any. Raises `UserError` where the one asked for is none of the `candidates`.
    """
    if asked is not None:
        if asked not in index:
            raise UserError(unknown("worker", asked, index))
        if asked not in candidates:
            others = ", ".join(candidates) or "none"
            raise UserError(f"{asked} has no result to compare with; these have: {others}")
        return index[asked]
    if of_run is not None and of_run in candidates:
        return index[of_run]
    return index[candidates[0]] if candidates else None


def _is_paired(run: Run) -> bool:
    """Whether two workers' blocks were trained one after the other: else there is no interval."""
    repeats = run.options.get("repeats")
    return run.options.get("schedule") != "sequential" or (isinstance(repeats, int) and repeats > 1)
