"""`rosetta compare`: is one run as fast as another?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from rosetta.cli import as_json, completion, options
from rosetta.errors import UserError, one_line
from rosetta.results.comparison import Compared, compare


def command(
    before: Annotated[
        Path,
        typer.Argument(help="Run directory: what is compared with", autocompletion=completion.runs),
    ],
    after: Annotated[Path, typer.Argument(help="Run directory", autocompletion=completion.runs)],
    fail_if_slower: Annotated[
        str | None,
        typer.Option(help="Exit with 1 where a row is slower by more: 5%, or that can't be told"),
    ] = None,
    json: as_json.Option = False,
) -> int:
    """Compare the speed of two runs, worker by worker, with 95 % intervals.

    "No difference" is said where the interval holds 1.00. What differs from process to process is
    in the intervals only if the runs were made with --repeats.

    --json prints a list: of each row its task, worker, ratio (value, interval), verdict.
    """
    share = _share(fail_if_slower) if fail_if_slower is not None else None
    rows = compare(before, after)
    if json:
        as_json.write(
            [
                {"task": r.task, "worker": r.worker, "ratio": r.ratio, "verdict": r.verdict}
                for r in rows
            ]
        )
    else:
        _show(rows)
    if share is None:
        return 0
    slower = [row for row in rows if row.is_slower_by(share)]
    unknown = [row for row in rows if row.is_unknown]
    for row in slower:
        slower_words = f"{row.worker} on {row.task} is slower by more than {fail_if_slower}"
        options.say(one_line(slower_words))
    for row in unknown:
        options.say(one_line(f"{row.worker} on {row.task} can't be compared: {row.verdict}"))
    return 1 if slower or unknown else 0


def _show(rows: list[Compared]) -> None:
    table = Table("task", "worker", "speed", "95 % interval", "", box=None)
    for row in rows:
        cells = (row.task, row.worker, *_figures(row), row.verdict)
        table.add_row(*(Text(one_line(cell)) for cell in cells))  # plain text is no markup
    options.output().print(table)


def _figures(row: Compared) -> tuple[str, str]:
    if row.ratio is None:
        return "", ""
    interval = row.ratio.interval
    return f"{row.ratio.value:.3f}", f"{interval[0]:.3f}-{interval[1]:.3f}" if interval else ""


def _share(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 1.0
    if not 0 <= share < 1:
        raise UserError(f"--fail-if-slower {text!r}: a share from 0% to 100%, such as 5% or 0.05")
    return share
