"""What a worker's process leaves behind: processes, shared memory, files, sockets."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from rosetta.conformance.worker_under_test import WorkerUnderTest
from rosetta.coordinator import WorkerFailureError

MARK = "ROSETTA_CONFORMANCE"
"""Every process that a worker starts inherits this variable, whatever group it is in."""

_SHARED_MEMORY = Path("/dev/shm")
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Departure:
    """How a process ended."""

    status: int
    left: list[str]
    """What it has left behind, each in a few words."""
    words: str
    """The last lines of its output."""

    @property
    def shown(self) -> str:
        """Its end in a few words."""
        how = f"killed by signal {-self.status}" if self.status < 0 else f"status {self.status}"
        return f"{how}{self.words}"


class Traces:
    """Marks processes, and looks for what is left of them."""

    def __init__(self) -> None:
        self._before = set(_shared_memory())

    def variables(self, worker: WorkerUnderTest) -> dict[str, str]:
        """What is added to the environment of a worker's process."""
        return {MARK: worker.key}

    def departure(self, worker: WorkerUnderTest, seconds: float) -> Departure:
        """Wait for the exit of a worker's process, and look for what is left of it.

        Raises `WorkerFailureError` when it still runs after `seconds`.
        """
        assert worker.process
        deadline = time.monotonic() + seconds
        while not worker.exited():
            if time.monotonic() > deadline:
                raise WorkerFailureError("timeout", f"still runs after {seconds:g} s")
            worker.router.pump(_POLL_SECONDS)
        left = self._left_behind(worker)
        status = worker.process.exit_status()
        assert status is not None
        return Departure(status, left, worker.process.last_words())

    def _left_behind(self, worker: WorkerUnderTest) -> list[str]:
        """Looked for until nothing is left, for some seconds: what ends with it may take a while"""
        deadline = time.monotonic() + _GRACE_SECONDS
        while left := [*self._processes(worker), *self._files(worker)]:
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
        return left

    def _processes(self, worker: WorkerUnderTest) -> Iterator[str]:
        assert worker.process
        for process in family(worker):
            with contextlib.suppress(psutil.Error):
                yield f"process {process.pid} ({' '.join(process.cmdline())[:80]})"

    def _files(self, worker: WorkerUnderTest) -> Iterator[str]:
        for path in sorted(worker.folder.rglob("*")):
            kind = "socket" if stat.S_ISSOCK(path.lstat().st_mode) else "file"
            yield f"{kind} {path.relative_to(worker.folder)} in its working folder"
        known = {worker.folder, worker.file, worker.folder.parent / "log"}
        for path in sorted(set(worker.folder.parent.iterdir()) - known):
            yield f"{path.name} beside its connection file"
        for name in sorted(set(_shared_memory()) - self._before):
            if not _is_in_use(_SHARED_MEMORY / name):
                yield f"shared memory {_SHARED_MEMORY / name}"


def clear(worker: WorkerUnderTest) -> None:
    """End whatever a worker's process has left behind."""
    for process in family(worker):
        with contextlib.suppress(psutil.Error):
            process.kill()


def family(worker: WorkerUnderTest) -> list[psutil.Process]:
    """All that run of those that a worker's process has started, however far they have gone."""
    return [process for process in psutil.process_iter() if _is_of(process, worker)]


def _is_of(process: psutil.Process, worker: WorkerUnderTest) -> bool:
    assert worker.process
    try:
        if process.pid == worker.process.pid or process.status() == psutil.STATUS_ZOMBIE:
            return False
        marked = process.environ().get(MARK) == worker.key
        return marked or os.getsid(process.pid) == worker.process.pid
    except (psutil.Error, OSError):
        return False


def _shared_memory() -> Iterator[str]:
    """Names of this user's files in shared memory."""
    if not _SHARED_MEMORY.is_dir():
        return
    for path in _SHARED_MEMORY.iterdir():
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == os.getuid():
                yield path.name


def _is_in_use(path: Path) -> bool:
    """Whether some process has it mapped or open: then it isn't a trace of one that is gone."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            opened = any(file.path == str(path) for file in process.open_files())
            if opened or str(path) in Path(f"/proc/{process.pid}/maps").read_text():
                return True
    return False
