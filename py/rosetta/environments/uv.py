"""Running uv: which program, with which variables, and what it said when it failed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from uv import find_uv_bin

from rosetta.environments.pip_settings import redacted
from rosetta.errors import UserError

_LEAKING = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
_REASON_LENGTH = 300
_CONCLUSION = ", we can conclude that your requirements are unsatisfiable"


@dataclass(frozen=True)
class Ran:
    """How a run of uv ended."""

    succeeded: bool
    output: str


@cache
def program() -> Path:
    """The uv that was installed with Rosetta. Raises UserError when it is missing."""
    try:
        return Path(find_uv_bin())
    except FileNotFoundError:
        raise UserError("uv is missing from this environment: pip install uv") from None


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's variables for a child in another environment, and `more`.

    What points Python at our own environment must not leak into a worker's.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _LEAKING}
    return kept | dict(more or {})


def ask(
    arguments: Sequence[str | Path],
    limit_s: float = 20.0,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Runs uv and returns what it wrote; a run longer than `limit_s` seconds has failed."""
    try:
        ran = subprocess.run(
            [program(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit_s,
            env=clean_environment({"UV_NO_PROGRESS": "1", **(variables or {})}),
        )
    except subprocess.TimeoutExpired:
        return Ran(False, f"error: no answer within {limit_s:.0f} s")
    return Ran(ran.returncode == 0, ran.stdout)


def logged(
    command: Sequence[str | Path], log: Path, variables: Mapping[str, str], keep_open: int
) -> Ran:
    """Runs `command` with its output appended to `log`, however long it takes.

    `keep_open` is a file descriptor that the child inherits: with it an flock lasts as long as the
    child does, even when this process is killed.
    """
    with log.open("ab") as file:
        file.write(f"$ {' '.join(map(str, command))}\n".encode())
        file.flush()
        start = file.tell()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            pass_fds=(keep_open,),
            env=clean_environment({"UV_NO_PROGRESS": "1", **variables}),
            start_new_session=True,  # a group of its own, with whatever it starts in turn
        )
        try:
            status = child.wait()
        except BaseException:
            # An orphan would hold the lock, and nobody could make this environment again.
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
    output = log.read_bytes()[start:].decode(errors="replace")
    return Ran(status == 0, output)


def is_out_of_space(output: str) -> bool:
    return "No space left on device" in output


def telling_line(output: str) -> str:
    """Why uv failed, in one line.

    uv writes ``error: …`` and indented ``cause: …`` lines, each perhaps going on in the next lines
    (before 0.10 it drew a tree of ``×``, ``╰─▶`` and ``Caused by:``). The error says what was
    tried, the last cause why it failed, and both are needed.
    """
    if is_out_of_space(output):
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
