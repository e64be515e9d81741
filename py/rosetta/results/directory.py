"""A run directory: written as things happen, readable whenever the run stops."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from pathlib import Path
from types import TracebackType

import msgspec

from rosetta.errors import UserError
from rosetta.results.records import Run, Step, Summary


def new_run_id() -> str:
    """UTC time and four random hexadecimal digits: sorts by time."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


class RunDirectory:
    """The open directory of the run under way."""

    def __init__(self, path: Path) -> None:
        """Create `path`. Raises `UserError` when it exists and isn't empty, or can't be written."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise UserError(f"run directory {path} is not empty: choose another --out")
            (path / "logs").mkdir()
            self._length = 0
            self._steps = (path / "steps.jsonl").open("ab", buffering=0)
        except OSError as error:
            raise UserError(f"can't write the run directory {path}: {error}") from error

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._steps.close()

    def log(self, worker: str) -> Path:
        """The file that the worker's output goes to."""
        return self.path / "logs" / f"{worker}.log"

    def add_step(self, step: Step) -> None:
        """Append one line to `steps.jsonl`; it is in the file, whole, when this returns.

        Raises `UserError` where it can't be written (no space); the file then ends as before.
        """
        line = msgspec.json.encode(step) + b"\n"
        try:
            if self._steps.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with contextlib.suppress(OSError):
                self._steps.truncate(self._length)
            raise UserError(f"can't write {self.path / 'steps.jsonl'}: {error}") from error
        self._length += len(line)

    def write_run(self, run: Run) -> None:
        """Write `run.json`."""
        self._replace("run.json", _pretty(run))

    def write_summary(self, summary: Summary, markdown: str) -> None:
        """Write `summary.json` and `summary.md`."""
        self._replace("summary.json", _pretty(summary))
        self._replace("summary.md", markdown.encode())

    def _replace(self, name: str, content: bytes) -> None:
        """Write a file so that a reader finds the old content or the new one, never half of it."""
        temporary = self.path / f".{name}.part"
        try:
            temporary.write_bytes(content)
            os.replace(temporary, self.path / name)  # noqa: PTH105 - says what it does
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise UserError(f"can't write {self.path / name}: {error}") from error


def read_summary(path: Path) -> Summary:
    """`summary.json` of a run directory (or the file itself). Raises `UserError`."""
    file = path / "summary.json" if path.is_dir() else path
    try:
        return msgspec.json.decode(file.read_bytes(), type=Summary)
    except OSError as error:
        raise UserError(f"no summary at {file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{file} is not a summary: {error}") from error


def _pretty(record: Run | Summary) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
