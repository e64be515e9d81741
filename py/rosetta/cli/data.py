"""`rosetta data`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rosetta import datasets, tasks
from rosetta.cli import options


def command(
    fetch: Annotated[
        list[str] | None, typer.Option(help="Fetch and prepare this data set; repeat for more")
    ] = None,
    data_dir: Annotated[list[str] | None, typer.Option(help=options.DATA_DIR_HELP)] = None,
) -> int:
    """Show which data sets are on this machine, where, and whether they are the published files."""
    for name in options.split(fetch):
        datasets.check_name(name)
        task = next((t for t in map(tasks.load, tasks.names()) if t.data == name), None)
        if task and name != "synthetic":
            options.DataOptions(name, data_dir, True, 1).load(task, options.say)
    table = Table("data set", "state", "size", "digests", "where", box=None)
    folders = options.data_folders(data_dir)
    for state in datasets.status(folders):
        digests = sorted({file.digest for file in state.files})
        table.add_row(
            state.name,
            _words(state),
            f"{state.size_bytes / 2**20:,.0f} MB" if state.files else "",
            ", ".join(digests),
            escape(str(state.path or "")),
        )
    options.output().print(table)
    return 0


def _words(state: datasets.Status) -> str:
    if state.place == "made":
        return "made from a seed"
    if state.place == "missing":
        return f"missing: {', '.join(state.missing)}"
    return "ready, parsed" if state.cached else "ready"
