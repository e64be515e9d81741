"""The file that a worker is started with (SPEC section 2)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rosetta.protocol import VERSION


def write(
    path: Path, *, endpoint: str, run: str, key: str, worker: str, device: str, threads: int
) -> None:
    """Write a connection file that only its owner can read: whoever has it can join the run."""
    content = {
        "protocol": VERSION,
        "endpoint": endpoint,
        "run": run,
        "key": key,
        "worker": worker,
        "device": device,
        "threads": threads,
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
