"""Golden tapes of which a message is another one, and workers that run from them."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from julia_worker import julia_process
from protocol.golden_files import GOLDEN, MAGIC

CHECKOUT = Path(__file__).parents[2]
TAPES = GOLDEN / "1.0" / "tapes"
NUMPY = CHECKOUT / "py" / "workers" / "numpy"
JULIA = CHECKOUT / "julia" / "workers" / "julia"

Header = dict[str, Any]
Message = tuple[bytes, Header, list[bytes]]
"""Sender, header, frames of the arrays."""
Change = Callable[[Message], Message | None]


@dataclass(frozen=True)
class Played:
    """How a worker that ran from a tape ended, and what it said."""

    status: int
    output: str
    errors: str

    def verdicts(self) -> list[str]:
        """The sentences about recorded answers, wherever they were written."""
        lines = [*self.output.splitlines(), *self.errors.splitlines()]
        said = [line.removeprefix("rosetta worker: ") for line in lines]
        return [line for line in said if "recorded one" in line or " not compared" in line]


Play = Callable[[Path], Played]


def play_in_python(tape: Path, worker: Path = NUMPY, **variables: str) -> Played:
    """Run a Python worker from a tape, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "rosetta_worker", worker, "--tape", tape, "--threads", "1"],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Played(ran.returncode, ran.stdout, ran.stderr)


def play_in_julia(driver: julia_process.Driver, tape: Path) -> Played:
    """Run the worker in plain Julia from a tape."""
    arguments = [JULIA, "--tape", tape, "--threads", "1"]
    reply = driver.ask("main", arguments=list(map(str, arguments)))
    return Played(reply["status"], reply["output"], reply["errors"])


def messages(tape: Path) -> list[Message]:
    """What is on a tape."""
    data, position, found = tape.read_bytes(), len(MAGIC), []
    assert data.startswith(MAGIC)
    while position < len(data):
        sender, count = struct.unpack_from("<cI", data, position)
        position, frames = position + 5, []
        for _ in range(count):
            (length,) = struct.unpack_from("<Q", data, position)
            frames.append(data[position + 8 : position + 8 + length])
            position += 8 + length
        found.append((sender, msgpack.unpackb(frames[0]), frames[1:]))
    return found


def write(path: Path, content: list[Message]) -> Path:
    """Write a tape."""
    with path.open("wb") as file:
        file.write(MAGIC)
        for sender, header, frames in content:
            everything = [msgpack.packb(header), *frames]
            file.write(struct.pack("<cI", sender, len(everything)))
            for frame in everything:
                file.write(struct.pack("<Q", len(frame)) + frame)
    return path


def doctored(name: str, path: Path, change: Change) -> Path:
    """The golden tape of that name with each message as `change` gives it, or without it."""
    changed = map(change, messages(TAPES / f"{name}.tape"))
    return write(path, [message for message in changed if message is not None])


def only(kind: str, sender: bytes = b"W", **fields: Any) -> Change:
    """A change to the messages of that type (of those with a step, to step 3): other values."""

    def change(message: Message) -> Message:
        said_by, header, frames = message
        wanted = (said_by, header["type"]) == (sender, kind) and header.get("step", 3) == 3
        return (said_by, {**header, **fields}, frames) if wanted else message

    return change


def other_loss(message: Message) -> Message:
    sender, header, frames = message
    if header["type"] == "RESULT" and header["step"] == 3:
        header = {**header, "loss": header["loss"] * (1 + 3e-6)}
    return sender, header, frames
