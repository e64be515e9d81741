"""`rosetta data`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rosetta import datasets, tasks
from rosetta.cli import as_json, completion, options


def command(
    fetch: Annotated[
        list[str] | None,
        typer.Option(
            help="Fetch and prepare this data set; repeat for more", autocompletion=completion.data
        ),
    ] = None,
    data_dir: Annotated[list[str] | None, typer.Option(help=options.DATA_DIR_HELP)] = None,
    json: as_json.Option = False,
) -> int:
    """Show which data sets are on this machine, where, and whether they are the published files.

    --json prints a list of {name, place, path, files, cached, missing}; of a file {name, path,
    size_bytes, digest, detail}.
    """
    for name in options.split(fetch):
        datasets.check_name(name)
        task = next((t for t in map(tasks.load, tasks.names()) if t.data == name), None)
        if task and name != "synthetic":
            options.DataOptions(name, data_dir, True, 1).load(task, options.say)
    states = datasets.status(options.data_folders(data_dir))
    if json:
        as_json.write(states)
    else:
        _show(states)
    return 0


def _show(states: list[datasets.Status]) -> None:
    table = Table("data set", "state", "size", "digests", "where", box=None)
    for state in states:
        digests = sorted({file.digest for file in state.files})
        table.add_row(
            state.name,
            _words(state),
            f"{state.size_bytes / 2**20:,.0f} MB" if state.files else "",
            ", ".join(digests),
            escape(str(state.path or "")),
        )
    options.output().print(table)


def _words(state: datasets.Status) -> str:
    if state.place == "made":
        return "made from a seed"
    if state.place == "missing":
        return f"missing: {', '.join(state.missing)}"
    return "ready, parsed" if state.cached else "ready"
