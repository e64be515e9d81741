"""`rosetta stone`: the page with any two workers' code side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosetta import stone
from rosetta.workers.folders import CHECKOUT


def command(
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the two files [docs/ of the checkout]")
    ] = None,
) -> int:
    """Write the Rosetta Stone: the code of any two workers side by side, part by part."""
    for path in stone.write(out or CHECKOUT / "docs"):
        print(path)
    return 0
