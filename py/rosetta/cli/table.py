"""`rosetta table`: the tables of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosetta import report
from rosetta.cli import bench
from rosetta.errors import UserError
from rosetta.results import read_summary

RUNS = Path("runs")


def command(
    run: Annotated[Path | None, typer.Argument(help="Run directory [the newest in runs/]")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown")] = False,
) -> int:
    """Print the tables of a run."""
    directory = run or _newest()
    summary = read_summary(directory)
    if markdown:
        print(report.markdown(summary), end="")
    else:
        bench.show(summary, directory)
    return 0


def _newest() -> Path:
    found = sorted(RUNS.glob("*/summary.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UserError("no run in runs/: make one with `rosetta bench`, or name its directory")
    return found[-1].parent
