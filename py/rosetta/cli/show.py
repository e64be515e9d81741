"""`rosetta show`: what a run came to, in the terminal; `bench` and `sweep` end with it too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rosetta import report
from rosetta.cli import as_json, completion, options
from rosetta.errors import UserError
from rosetta.results import Summary, read_summary

RUNS = Path("runs")


def command(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="Run directory, or a sweep's folder [the newest in runs/]",
            autocompletion=completion.runs,
        ),
    ] = None,
    json: as_json.Option = False,
) -> int:
    """Print what a run came to: finished, interrupted, or still going on.

    --json prints its summary (protocol/schema/results/summary.json), and of a sweep's folder a
    result file with all its runs (protocol/schema/results/results.json).
    """
    directory = run or newest()
    if report.is_sweep(directory):
        show_sweep(directory, json=json)
        return 0
    summary = read_summary(directory)
    if json:
        as_json.write(summary)
    else:
        show(summary, directory)
    return 0


def show(summary: Summary, directory: Path) -> None:
    """Print the tables, what they say in sentences, and what must be said beside them."""
    console = options.output()
    for task in dict.fromkeys(row.task for row in summary.rows):
        console.print(report.table(summary, task, console.width))
    said = report.sentences(summary)
    for sentence in said:
        console.print(Text(sentence, "bold"))
    if said:
        console.print()
    for sentence in [*report.notes(summary), *report.under_way(directory, summary)]:
        console.print(Text(sentence))
    console.print(Text(f"run directory: {directory}"), soft_wrap=True)
    page = directory / "report.html"
    if page.is_file():
        console.print(Text(f"to look at: {page}"), soft_wrap=True)
    if summary.state == "interrupted":
        console.print(Text(f"to go on: rosetta bench --resume {directory}"), soft_wrap=True)


def show_sweep(folder: Path, *, json: bool = False) -> None:
    """Print a table a task: a row a worker, a column a combination."""
    runs = report.find([folder])
    if json:
        as_json.write(report.ResultFile(runs=runs))
        return
    console = options.output()
    for table in report.across(runs):
        console.print(report.across_table(table))
    for sentence in report.notes_of(runs):
        console.print(Text(sentence))
    console.print(Text(f"runs: {folder}"), soft_wrap=True)


def newest() -> Path:
    """The directory of the newest run in runs/, in a sweep's folder too. Raises UserError."""
    found = [*RUNS.glob("*/summary.json"), *RUNS.glob("*/*/summary.json")]
    if not found:
        raise UserError("no run in runs/: make one with `rosetta bench`, or name its directory")
    last = max(found, key=lambda path: path.stat().st_mtime).parent
    return last if last.parent == RUNS else last.parent
