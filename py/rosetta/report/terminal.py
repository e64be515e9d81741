"""The tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rosetta.errors import one_line
from rosetta.report.across import Across
from rosetta.report.best import fastest
from rosetta.report.columns import Column, columns, status_words, title
from rosetta.results import Row, Summary

_STYLES = {"ok": "green", "skipped": "yellow", "interrupted": "yellow"}
_LONG = 28
"""Characters of a status; with more, its reason stands below the table."""

_SIDES = 2
"""Columns of the screen beside the whole table, and between two of its columns."""


def table(summary: Summary, task: str, width: int) -> Group:
    """The table of one task for a terminal of `width` columns, and below it the long reasons.

    Columns that are empty in every row are left out, and as many of those that matter less as the
    terminal is too narrow for: `summary.md` has them all.
    """
    rows = [row for row in summary.rows if row.task == task]
    shown = _fitting(columns(summary, rows), rows, width)
    best = fastest(rows, summary.baseline)
    result = _empty_table()
    for column in shown:
        result.add_column(
            Text(column.heading), justify="right" if column.numeric else "left", overflow="fold"
        )
    for row in rows:
        # `Text` throughout: a plain string would be searched for markup, styles and emoji.
        bold = "bold" if row is best else ""
        cells = [Text(_cell(column, row), bold) for column in shown[:-1]]
        status = _STYLES.get(row.status, "red") if row.proof != "different" else "red"
        result.add_row(*cells, Text(_cell(shown[-1], row), status))
    heading = Text(title(summary, task), "bold")
    return Group(heading, result, *_below(_reasons(rows)))


def across_table(shown: Across) -> Group:
    """The table of one task across several runs."""
    result = _empty_table()
    result.add_column(Text("worker"), overflow="fold")
    for heading in shown.headings:
        result.add_column(Text(heading), justify="right", overflow="fold")
    for name, cells in shown.rows:
        figures = (Text(cell.text, "bold" if cell.best else "") for cell in cells)
        result.add_row(Text(name), *figures)
    return Group(Text(shown.title, "bold"), result, *_below(shown.notes))


def _empty_table() -> Table:
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def _fitting(known: Sequence[Column], rows: Sequence[Row], width: int) -> list[Column]:
    """Those of the columns that `width` has room for, the ones of the highest rank left out."""
    shown = list(known)
    while _width(shown, rows) > width:
        worst = max(shown, key=lambda column: column.rank)
        if worst.rank == 0:
            break
        shown.remove(worst)
    return shown


def _width(shown: Sequence[Column], rows: Sequence[Row]) -> int:
    widest = (max(map(cell_len, [c.heading, *(_cell(c, row) for row in rows)])) for c in shown)
    return sum(widest) + _SIDES * (len(shown) - 1)


def _cell(column: Column, row: Row) -> str:
    text = column.text(row)
    if column.heading == "status" and len(text) > _LONG:
        return text.partition(":")[0]
    return text


def _reasons(rows: Iterable[Row]) -> list[str]:
    """The reasons that are too long for a cell."""
    return [
        one_line(f"{row.worker}: {status_words(row)}")
        for row in rows
        if len(one_line(status_words(row))) > _LONG
    ]


def _below(said: Iterable[str]) -> list[Text]:
    return [*(Text(sentence) for sentence in said), Text("")]
