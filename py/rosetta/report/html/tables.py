"""The tables of the page, from `rosetta.report.columns`, and which rows aren't compared and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from rosetta.errors import one_line
from rosetta.report.columns import Column, columns, ratio_heading, status_words, worker_words
from rosetta.report.html.ratios import takes_part
from rosetta.results import Row, Summary

WORKER, STATUS, DATA = "worker", "status", "data"
"""Headings of `columns` whose place in the page is another one."""


@dataclass(frozen=True)
class Cell:
    """A cell's text, or a heading's; `is_ratio`: the page fills it in for the chosen baseline."""

    text: str
    numeric: bool
    is_ratio: bool = False
    is_status: bool = False


@dataclass(frozen=True)
class Line:
    """A row of the table; `worker` is its index in the page, and `status` its `Row.status`."""

    worker: int
    status: str
    cells: list[Cell]


@dataclass(frozen=True)
class Table:
    """A task's table."""

    headings: list[Cell]
    lines: list[Line]


@dataclass(frozen=True)
class Exclusion:
    """A row that isn't compared, or not without reserve."""

    task: str
    worker: str
    words: str


def table(summary: Summary, rows: Sequence[Row], index: Mapping[str, int]) -> Table:
    """The table of the rows of one task, with a column for ratios if a row takes part in them."""
    rows = [_for_the_page(row) for row in rows]
    shown = _in_order(columns(summary, rows), rows)
    ratio = ratio_heading(summary)

    def cell(column: Column, text: str) -> Cell:
        is_ratio = column.heading == ratio
        return Cell(text, column.numeric, is_ratio, column.heading == STATUS)

    headings = [cell(column, column.heading) for column in shown]
    lines = [
        Line(
            index[row.worker],
            row.status,
            [cell(column, "" if column.heading == ratio else column.text(row)) for column in shown],
        )
        for row in rows
    ]
    return Table(headings, lines)


def _in_order(shown: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The worker and its status first, which a narrow page shows without scrolling.

    Data that all rows share stands in the title.
    """
    first = [column for column in shown if column.heading in (WORKER, STATUS)]
    left_out = [WORKER, STATUS]
    if len({row.data for row in rows}) == 1:
        left_out.append(DATA)
    return first + [column for column in shown if column.heading not in left_out]


def exclusions(summary: Summary) -> list[Exclusion]:
    """Every row that isn't a proved network with a result, with the reason."""
    found = []
    for row in summary.rows:
        if row.harness and row.status == "ok":
            words = "measures the harness: no framework, not compared"
        elif row.status == "ok" and row.proof == "same":
            continue
        elif row.status == "ok" and row.proof == "unproved":
            words = f"unproved: {row.proof_detail or 'it was not compared with the reference'}"
        elif row.status != "ok" and not row.reason:
            words = f"{row.status}: see logs/{row.worker}.log"
        else:
            words = status_words(row)
        found.append(Exclusion(one_line(row.task), one_line(worker_words(row)), one_line(words)))
    return found


def _for_the_page(row: Row) -> Row:
    """With a ratio wherever there could be one, so that its column is there for any baseline."""
    return msgspec.structs.replace(row, ratio=1.0 if takes_part(row) else None)
