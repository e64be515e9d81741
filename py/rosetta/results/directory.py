"""A run directory: written as things happen, readable whenever the run stops."""

from __future__ import annotations

import contextlib
import errno
import fcntl
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

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        """Create `path`, or with `resume` go on in it.

        Raises `UserError` when it can't be written, isn't empty, or another process goes on in it.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not resume and any(path.iterdir()):
                raise UserError(f"run directory {path} is not empty: choose another --out")
            (path / "logs").mkdir(exist_ok=resume)
            self._steps = (path / "steps.jsonl").open("a+b", buffering=0)
            self._length = self._take_over()
        except OSError as error:
            why = error.strerror or error
            raise UserError(
                f"can't write the run directory {path}: {why}: choose another --out"
            ) from error

    def _take_over(self) -> int:
        """Lock the directory for this process; returns the length of the steps, whole lines."""
        try:
            fcntl.flock(self._steps, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._steps.close()
            raise UserError(f"the run in {self.path} is still going on") from None
        self._steps.seek(0)
        length = self._steps.read().rfind(b"\n") + 1
        self._steps.truncate(length)  # a line cut short by a machine that went down
        return length

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


def read_run(path: Path) -> Run:
    """`run.json` of a run directory. Raises `UserError`."""
    file = path / "run.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Run)
    except OSError as error:
        raise UserError(f"no run at {file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{file} is not the record of a run: {error}") from error


def _pretty(record: Run | Summary) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
