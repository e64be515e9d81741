"""The tables in the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from rosetta.report.columns import columns, title
from rosetta.results import Summary

_STYLES = {"ok": "green", "skipped": "yellow", "interrupted": "yellow"}


def table(summary: Summary, task: str) -> Table:
    """The table of one task; columns that are empty in every row are left out."""
    rows = [row for row in summary.rows if row.task == task]
    shown = [c for c in columns(summary) if any(c.cell(row) for row in rows)]
    result = Table(title=escape(title(summary, task)), title_justify="left", title_style="bold")
    for column in shown:
        result.add_column(
            column.heading, justify="right" if column.numeric else "left", overflow="fold"
        )
    for row in rows:
        cells = [escape(column.cell(row)) for column in shown]
        cells[-1] = f"[{_STYLES.get(row.status, 'red')}]{cells[-1]}[/]"
        result.add_row(*cells)
    return result
