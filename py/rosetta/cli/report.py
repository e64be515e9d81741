"""`rosetta report`: the page of a run, or of a sweep."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from rosetta.cli import options
from rosetta.errors import UserError
from rosetta.report.html import write_report


def command(
    run: Annotated[Path, typer.Argument(help="Run directory, or the folder of a sweep")],
    out: Annotated[Path | None, typer.Option(help="File to write [RUN/report.html]")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Worker that the ratios refer to at first [the run's]")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser")] = False,
) -> int:
    """Write the report of a run: one HTML file that needs no network.

    Every run writes its own when it ends; this writes it again, or for another baseline.
    """
    if not run.is_dir():
        raise UserError(f"{run} is no run directory: name one that `rosetta bench` has written")
    path = write_report(run, out=out, baseline=baseline)
    print(path)
    if open_ and not webbrowser.open(path.resolve().as_uri()):
        options.say("no browser was found here: open the file yourself")
    return 0
