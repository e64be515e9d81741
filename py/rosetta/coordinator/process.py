"""A worker's process: started in its own process group, logged to a file, never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from rosetta.coordinator.failure import WorkerFailureError
from rosetta.errors import one_line, without_escapes

_TAIL_BYTES = 4096


class Process:
    """One running worker."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path
    ) -> None:
        """Start `command` in `folder`; its output goes to the file `log`.

        Raises `WorkerFailureError` when the operating system can't start it.
        """
        self.log = log
        self.peak_memory_bytes = 0
        try:
            with log.open("ab") as output:
                self._popen = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(environment),
                    cwd=folder,
                    # Ctrl-C in the terminal is the coordinator's to handle: it ends its workers.
                    start_new_session=True,
                )
        except OSError as error:
            raise WorkerFailureError("crashed", f"could not be started: {error}") from error
        self._observed = psutil.Process(self._popen.pid)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    def exit_reason(self) -> str | None:
        """None while it runs; afterwards one sentence with the last lines of its log."""
        status = self._popen.poll()
        if status is None:
            return None
        how = f"was killed by {_signal_name(-status)}" if status < 0 else f"exited with {status}"
        return f"{how}{self.last_words()}"

    def last_words(self, lines: int = 3) -> str:
        """The last non-empty lines of its log as the end of a sentence; empty when there are none.

        Raw output of a foreign program: only its printable characters are kept.
        """
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        shown = [one_line(line) for line in without_escapes(text).splitlines()]
        tail = [line for line in shown if line][-lines:]
        return ": " + " | ".join(tail) if tail else ""

    def sample_memory(self) -> None:
        """Raise `peak_memory_bytes` to the resident memory that the process has or ever had."""
        with contextlib.suppress(psutil.Error, OSError):
            family = [self._observed, *self._observed.children(recursive=True)]
            now = sum(member.memory_info().rss for member in family)
            self.peak_memory_bytes = max(self.peak_memory_bytes, now, _high_water_mark(self.pid))

    def wait(self, seconds: float) -> bool:
        """Wait for its exit; False when it still runs after `seconds`."""
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it and whatever it started: SIGTERM to the group, SIGKILL two seconds later."""
        self._signal_group(signal.SIGTERM)
        if not self.wait(2.0):
            self._signal_group(signal.SIGKILL)
            self.wait(5.0)
        # The leader may have left children in its group.
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _high_water_mark(pid: int) -> int:
    """Largest resident memory so far in bytes as Linux keeps it; 0 where there is no such file."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
