"""Running uv: which program it is, and what it said when it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from uv import find_uv_bin

from rosetta.environments import programs
from rosetta.environments.programs import Ran
from rosetta.environments.python.pip_settings import redacted
from rosetta.errors import UserError
from rosetta.workers import Worker

QUIETLY = {"UV_NO_PROGRESS": "1"}
_REASON_LENGTH = 300
_CONCLUSION = ", we can conclude that your requirements are unsatisfiable"


@cache
def program() -> Path:
    """The uv that was installed with Rosetta. Raises UserError when it is missing."""
    try:
        return Path(find_uv_bin())
    except FileNotFoundError:
        raise UserError("uv is missing from this environment: pip install uv") from None


def ask(
    arguments: Sequence[str | Path],
    limit_s: float = 20.0,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Runs uv and returns what it wrote; a run longer than `limit_s` seconds has failed."""
    return programs.ask([program(), *arguments], limit_s, {**QUIETLY, **(variables or {})})


def logged(
    command: Sequence[str | Path], log: Path, variables: Mapping[str, str], keep_open: int
) -> Ran:
    """As `programs.logged`, without uv's progress bars."""
    return programs.logged(command, log, {**QUIETLY, **variables}, keep_open)


def without_isolation(worker: Worker) -> list[str]:
    """The options by which uv builds some packages with what lies in the environment already."""
    names = worker.uv.no_build_isolation
    return [word for name in names for word in ("--no-build-isolation-package", name)]


def telling_line(output: str) -> str:
    """Why uv failed, in one line.

    uv writes ``error: …`` and indented ``cause: …`` lines, each perhaps going on in the next lines
    (before 0.10 it drew a tree of ``×``, ``╰─▶`` and ``Caused by:``). The error says what was
    tried, the last cause why it failed, and both are needed.
    """
    if programs.is_out_of_space(output):
        return "no space left on the disk"
    entries = _entries(output)
    if not entries:
        return "uv gave no reason"
    first, last = entries[0], entries[-1].rstrip(".").removesuffix(_CONCLUSION)
    says_enough = last == first.rstrip(".") or "No solution found" in first
    reason = last if says_enough else f"{first}: {last}"
    return reason if len(reason) <= _REASON_LENGTH else reason[: _REASON_LENGTH - 1] + "…"


_ENTRY = re.compile(r"^\s*(?:error:|cause:|Caused by:|×|╰─▶|├─▶)\s*(?P<text>.*)$")
_END = re.compile(r"^\s*(?:hint:|help:|\[stdout\]|\[stderr\]|$)")


def _entries(output: str) -> list[str]:
    """The error and its causes, each joined to one line."""
    entries: list[list[str]] = []
    inside = False
    for line in output.splitlines():
        found = _ENTRY.match(line)
        if found:
            entries.append([found["text"]])
            inside = True
        elif _END.match(line):
            inside = False
        elif inside:
            entries[-1].append(line.strip(" │"))
    return [_without_secrets(" ".join(parts).strip()) for parts in entries]


def _without_secrets(text: str) -> str:
    return re.sub(r"[a-z][a-z0-9+.-]*://[^\s`]+", lambda found: redacted(found[0]), text)
