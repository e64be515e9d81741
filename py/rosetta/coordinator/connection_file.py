"""The file that a worker is started with (SPEC section 2)."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from rosetta.coordinator.encryption import CurveKeys
from rosetta.errors import UserError
from rosetta.protocol import VERSION


def write(
    path: Path,
    *,
    endpoint: str,
    run: str,
    key: str,
    worker: str,
    device: str,
    threads: int,
    curve: CurveKeys | None = None,
) -> None:
    """Write a connection file that only its owner can read: whoever has it can join the run."""
    content: dict[str, Any] = {
        "protocol": VERSION,
        "endpoint": endpoint,
        "run": run,
        "key": key,
        "worker": worker,
        "device": device,
        "threads": threads,
    }
    if curve:
        content["curve"] = dataclasses.asdict(curve)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")


def read(path: Path) -> dict[str, Any]:
    """Content of a connection file. Raises `UserError` for a file that isn't one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"connection file {path}: {error}") from error
    if not isinstance(content, dict):
        raise UserError(f"connection file {path}: not a JSON object")
    return content
