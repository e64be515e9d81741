"""`report.html` in a run's directory, or in that of a sweep."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from rosetta.errors import UserError, one_line
from rosetta.report.html.run_page import run_page
from rosetta.report.html.sweep_page import sweep_page

NAME = "report.html"


def html(directory: Path, baseline: str | None = None) -> str:
    """The page of a run's directory, or of a sweep's, which holds several. Raises `UserError`."""
    if (directory / "summary.json").exists() or not _holds_runs(directory):
        return run_page(directory, baseline)
    if baseline is not None:
        raise UserError(f"{directory} holds several runs: a baseline is chosen in a run's report")
    return sweep_page(directory)


def write_report(
    run_directory: Path, *, out: Path | None = None, baseline: str | None = None
) -> Path:
    """Write the page, to `report.html` in the directory unless told otherwise; returns where.

    A reader finds the old page or the new one, never half of it. Raises `UserError`.
    """
    path = out if out is not None else run_directory / NAME
    if path.exists() and not path.is_file():
        raise UserError(f"can't write {path}: it is no regular file: choose another --out")
    content = html(run_directory, baseline)
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(content, encoding="utf-8")
        os.replace(temporary, path)  # noqa: PTH105 - says what it does
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise UserError(f"can't write {path}: {error.strerror}: choose another --out") from error
    return path


def write_or_say(directory: Path, say: Callable[[str], None]) -> Path | None:
    """The same at the end of a run, whose results are written: whatever goes wrong is a line."""
    try:
        return write_report(directory)
    except (Exception, KeyboardInterrupt) as error:  # a page isn't worth a run's results
        why = one_line(str(error)) or type(error).__name__
        say(f"no report was written: {why}: `rosetta report {directory}` tries it again")
        return None


def _holds_runs(directory: Path) -> bool:
    return any(directory.glob("*/summary.json"))
