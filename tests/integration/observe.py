"""Looking at a run from outside: its processes and its files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether `condition` holds within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def steps_in(run: Path) -> int:
    """Number of steps that a run has recorded so far."""
    path = run / "steps.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def children(pid: int) -> list[int]:
    """Process ids of the workers that a coordinator has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split() if "rosetta_worker" in command_line(int(word))]


def command_line(pid: int) -> str:
    """Its arguments; empty when it is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether the process still runs."""
    return bool(command_line(pid))
