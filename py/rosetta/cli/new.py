"""`rosetta new NAME`: the folder of a worker that is yet to be written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosetta import new
from rosetta.new import Language


def command(
    name: Annotated[str, typer.Argument(help="The worker's name, such as mlx")],
    language: Annotated[
        Language, typer.Option(help="What its backend is written in; other: the whole worker")
    ] = "python",
    title: Annotated[str | None, typer.Option(help="As tables show it [the name]")] = None,
    into: Annotated[
        Path | None, typer.Option(help="Folder to make it in [where workers live]")
    ] = None,
) -> int:
    """Make the folder of a new worker: it starts, greets and answers; its network is missing."""
    folder = new.make(name, language, title, into)
    print(f"made {folder}")
    for number, step in enumerate(new.next_steps(name, language, folder), 1):
        print(f"{number}. {step}")
    print("docs/adding-a-worker.md goes through these steps")
    return 0
