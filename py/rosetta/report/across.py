"""One task across several runs: rows are workers, columns are runs, a cell is one figure.

A column is always one run: rows of two runs didn't take turns, and never stand in one column as if
they had. What all columns share is in the title, what they don't in their headings; and where they
aren't the same experiment, a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rosetta.errors import one_line
from rosetta.report.best import fastest
from rosetta.report.columns import all_columns, notes, status_words, tasks_of, worker_words
from rosetta.report.result_file import RunResult
from rosetta.report.settings import (
    EXPERIMENT,
    Settings,
    headings,
    settings_of,
    shared,
    varying,
)
from rosetta.results import Row

ALONE = ("speed", "ratio")
BESIDE_OTHERS = ("speed",)
"""Figures that are shown unless others are asked for: of one run, and of several."""

BOLD = "bold: the fastest of its column; its 95 % interval lies above those of all the others"


@dataclass(frozen=True)
class Cell:
    """One figure of one worker in one run."""

    text: str
    best: bool = False
    """Really the fastest of its column, as the intervals say."""


@dataclass
class Across:
    """The table of one task."""

    title: str
    headings: list[str]
    """Of the columns behind the first one, which names the workers."""
    rows: list[tuple[str, list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def notes_of(runs: Sequence[RunResult]) -> list[str]:
    """What must be said of the runs beside their tables; what several say, once, with their names.

    A sentence that holds for all of them needs no name.
    """
    who: dict[str, list[str]] = {}
    for result in runs:
        for sentence in notes(result.summary):
            who.setdefault(sentence, []).append(result.name)
    return [
        one_line(sentence if len(names) == len(runs) else f"{', '.join(names)}: {sentence}")
        for sentence, names in who.items()
    ]


@dataclass(frozen=True)
class _Column:
    """One run's rows on the task."""

    result: RunResult
    rows: dict[str, Row]
    settings: Settings
    heading: str = ""


def across(runs: Sequence[RunResult], figures: Sequence[str] = ()) -> list[Across]:
    """A table for each task of `runs`, of `figures` (see `columns.FIGURES`).

    A task that can't have any of them, such as the accuracy of one that trains nothing, has none.
    """
    names = dict.fromkeys(task for result in runs for task in tasks_of(result.summary))
    made = [_task_table(task, runs, figures) for task in names]
    return [table for table in made if table.headings]


def _task_table(task: str, runs: Sequence[RunResult], figures: Sequence[str]) -> Across:
    found = _columns_of(task, runs)
    figures = figures or (ALONE if len(found) == 1 else BESIDE_OTHERS)
    parts = [part for column in found for part in _figures_of(column, figures)]
    units = list(dict.fromkeys(unit for unit, _, _ in parts))
    one_unit = len(units) == 1
    result = Across(
        title=one_line(_title(task, found, units[0] if one_unit and len(found) > 1 else "")),
        headings=[one_line(_heading(head, unit, one_unit)) for unit, head, _ in parts],
    )
    for worker in dict.fromkeys(name for column in found for name in column.rows):
        versions = _versions(worker, found)
        cells = [cells.get(worker, Cell("")) for _, _, cells in parts]
        result.rows.append((one_line(_row_name(worker, found, versions)), cells))
        if len(versions) > 1:
            said = ", ".join(f"{version} ({heading})" for heading, version in versions.items())
            result.notes.append(f"{worker}: versions differ: {said}")
    result.notes += [sentence for column in found for sentence in _reasons(column)]
    result.notes += _differences(found)
    if any(cell.best for _, cells in result.rows for cell in cells):
        result.notes.append(BOLD)
    result.notes = [one_line(sentence) for sentence in result.notes]
    return result


def _columns_of(task: str, runs: Sequence[RunResult]) -> list[_Column]:
    found = []
    for result in runs:
        rows = {row.worker: row for row in result.summary.rows if row.task == task}
        if rows:
            found.append(_Column(result, rows, settings_of(result, task, list(rows.values()))))
    words = headings([column.settings for column in found], [c.result.name for c in found])
    return [
        _Column(column.result, column.rows, column.settings, heading)
        for column, heading in zip(found, words, strict=True)
    ]


def _figures_of(column: _Column, figures: Sequence[str]) -> list[tuple[str, str, dict[str, Cell]]]:
    """(unit, heading of the run, worker → cell) of each figure that the run has."""
    rows = list(column.rows.values())
    best = fastest(rows, column.result.summary.baseline)
    possible = {c.figure: c for c in all_columns(column.result.summary, rows) if c.figure}
    asked = [possible[figure] for figure in figures if figure in possible]
    chosen = [c for c in asked if any(c.text(row) for row in rows)] or asked[:1]
    parts = []
    for place, shown in enumerate(chosen):
        cells = {}
        for row in rows:
            figure = shown.text(row)
            text = _words(row, figure) if place == 0 else figure if _counts(row) else ""
            bold = row is best and place == 0 and shown.figure in ("speed", "ratio")
            cells[row.worker] = Cell(text, bold)
        parts.append((shown.heading, column.heading, cells))
    return parts


def _counts(row: Row) -> bool:
    return row.status == "ok" and row.proof != "different"


def _words(row: Row, figure: str) -> str:
    """The figure, or why there is none that could stand beside the others."""
    if row.status != "ok":
        return row.status
    if row.proof == "different":
        return "not the same network"
    return figure if row.proof == "same" or row.harness else f"{figure} (unproved)".strip()


def _title(task: str, found: Sequence[_Column], unit: str) -> str:
    all_settings = [column.settings for column in found]
    data = {settings["data set"] for settings in all_settings}
    on = f" on {data.pop()}" if len(data) == 1 else ""
    parts = [*shared(all_settings), *([unit] if unit else [])]
    return f"{task}{on}: {', '.join(parts)}"


def _heading(run: str, unit: str, one_unit: bool) -> str:
    if not run:
        return unit
    return run if one_unit or not unit else f"{run}: {unit}"


def _row_name(worker: str, found: Sequence[_Column], versions: dict[str, str]) -> str:
    row = next(column.rows[worker] for column in found if worker in column.rows)
    forms = dict.fromkeys(
        form for c in found if worker in c.rows for form in c.rows[worker].unusual_forms
    )
    version = next(iter(versions.values())) if len(versions) == 1 and not row.harness else ""
    words = f"{worker_words(row)} {version}".strip()
    return f"{words} ({', '.join(forms)})" if forms else words


def _versions(worker: str, found: Sequence[_Column]) -> dict[str, str]:
    """Heading → version of the framework, where they differ; else the one version there is."""
    known = {
        column.heading: column.rows[worker].framework_version or ""
        for column in found
        if worker in column.rows and column.rows[worker].framework_version
    }
    return known if len(set(known.values())) > 1 else dict(list(known.items())[:1])


def _reasons(column: _Column) -> list[str]:
    """Why rows have no figure."""
    where = f" ({column.heading})" if column.heading else ""
    return [
        f"{row.worker}{where}: {status_words(row)}"
        for row in column.rows.values()
        if not _counts(row)
    ]


def _differences(found: Sequence[_Column]) -> list[str]:
    """Why columns can't be compared with each other, or why that can't be told."""
    if len(found) < 2:
        return []
    said = []
    different = [EXPERIMENT[n] for n in varying([c.settings for c in found]) if n in EXPERIMENT]
    if different:
        said.append(
            f"different {' and '.join(different)}: such columns are different experiments; compare "
            "figures within a column only"
        )
    unknown = [c.heading for c in found if c.result.machine is None]
    if unknown:
        said.append(
            f"{'; '.join(unknown)}: without run.json it can't be told whether task and data are "
            "those of the other columns"
        )
    versions = {c.result.revision or c.result.rosetta for c in found} - {None}
    if len(versions) > 1:
        said.append(
            f"measured with different versions of Rosetta: {', '.join(sorted(map(str, versions)))}"
        )
    return said
