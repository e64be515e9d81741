"""The tables in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from rosetta.report.columns import columns, title
from rosetta.results import Summary

_STYLES = {"ok": "green", "skipped": "yellow", "interrupted": "yellow"}


_WIDE = 150


def table(summary: Summary, task: str, width: int = _WIDE) -> Table:
    """The table of one task for a terminal of `width` columns.

    Columns that are empty in every row are left out, and on a narrow terminal those that aren't
    essential: `summary.md` has them all.
    """
    rows = [row for row in summary.rows if row.task == task]
    shown = [c for c in columns(summary, rows) if c.essential or width >= _WIDE]
    # `Text` throughout: a plain string would be searched for markup, styles and emoji.
    result = Table(title=Text(title(summary, task)), title_justify="left", title_style="bold")
    for column in shown:
        result.add_column(
            Text(column.heading), justify="right" if column.numeric else "left", overflow="fold"
        )
    for row in rows:
        cells = [Text(column.text(row)) for column in shown]
        cells[-1].stylize(_STYLES.get(row.status, "red"))
        result.add_row(*cells)
    return result
