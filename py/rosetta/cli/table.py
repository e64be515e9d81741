"""`rosetta table`: Markdown tables of one run or of many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosetta import report
from rosetta.cli import as_json, completion, options
from rosetta.cli.show import newest
from rosetta.errors import UserError, unknown


def command(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run directories, summary.json files, folders of sweeps, files that --json made "
            "[the newest run in runs/]",
            autocompletion=completion.runs,
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Figures of each run: {', '.join(report.FIGURES)} [speed; of one run the ratio "
            "too]",
            autocompletion=lambda incomplete: [
                name for name in report.FIGURES if name.startswith(incomplete)
            ],
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Of each run all that was measured")
    ] = False,
    json: as_json.Option = False,
) -> int:
    """Print Markdown tables: one a task, a row a worker, a column a run.

    Runs of several machines, sweeps and result files are merged. A run is always a column of its
    own: its heading says what it doesn't share with the others, and a note where they are
    different experiments. Bold is what is really the fastest of its column: its interval lies
    above all the others'.

    --json prints a result file (protocol/schema/results/results.json), without any path of this
    machine: send it, and merge it elsewhere with `rosetta table FILE...`.
    """
    found = report.find(runs or [newest()])
    figures = _known(figure)
    if details and figures:
        raise UserError("--details excludes --figure: it shows all of them")
    if json:
        as_json.write(report.ResultFile(runs=found))
    else:
        print(report.details(found) if details else report.tables(found, figures), end="")
    return 0


def _known(asked: list[str] | None) -> list[str]:
    words = options.split(asked)
    for word in words:
        if word not in report.FIGURES:
            raise UserError(unknown("figure", word, report.FIGURES))
    return words
