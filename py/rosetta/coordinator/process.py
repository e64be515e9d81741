"""A worker's process: started in its own process group, logged to a file, never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from rosetta.coordinator.failure import WorkerFailureError
from rosetta.errors import one_line, without_escapes

_TAIL_BYTES = 4096
_POLL_SECONDS = 0.02
_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0


class Process:
    """One running worker."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        folder: Path,
        processors: Sequence[int] = (),
    ) -> None:
        """Start `command` in `folder`; its output goes to the file `log`.

        It may run on the logical CPUs `processors` only; empty: wherever this process may.
        Raises `WorkerFailureError` when the operating system can't start it.
        """
        self.log = log
        self.peak_memory_bytes = 0
        self._status: int | None = None
        try:
            with log.open("ab") as output, _bound_to(processors):
                self._log_start = output.tell()  # an earlier process's words aren't this one's
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

    def exit_status(self) -> int | None:
        """None while it runs; afterwards its status, negative for the signal that killed it."""
        if self._status is None and self.is_waiting_to_be_reaped():
            # Until it is reaped nobody else can have its number: whatever the signal reaches is
            # what it has left behind.
            self._signal_group(signal.SIGKILL)
            self._status = self._popen.wait()
        return self._status

    def is_waiting_to_be_reaped(self) -> bool:
        """It has exited, and what it has left behind is still to be seen."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._popen.pid, options) is not None

    def exit_reason(self) -> str | None:
        """None while it runs; afterwards one sentence with the last lines of its log."""
        status = self.exit_status()
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
                file.seek(max(self._log_start, self.log.stat().st_size - _TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        shown = [one_line(line) for line in without_escapes(text).splitlines()]
        tail = [line for line in shown if line][-lines:]
        return ": " + " | ".join(tail) if tail else ""

    def sample_memory(self) -> int | None:
        """Resident bytes now; None when it is gone.

        Raises `peak_memory_bytes` to what it and what it has started have or ever had.
        """
        with contextlib.suppress(psutil.Error, OSError):
            now: int = sum(member.memory_info().rss for member in self.family())
            self.peak_memory_bytes = max(self.peak_memory_bytes, now, _high_water_mark(self.pid))
            return now
        return None

    def family(self) -> list[psutil.Process]:
        """It, and what it has started and still runs. Raises psutil.Error when it is gone."""
        return [self._observed, *self._observed.children(recursive=True)]

    def cpu_ns(self) -> int:
        """Processor time that it and what it has started have used so far."""
        total_s, family = 0.0, [self._observed]
        with contextlib.suppress(psutil.Error, OSError):
            family += self._observed.children(recursive=True)
        for member in family:
            with contextlib.suppress(psutil.Error, OSError):
                times = member.cpu_times()
                # Of children that have ended, too: their time must not vanish with them.
                total_s += times.user + times.system
                total_s += getattr(times, "children_user", 0) + getattr(times, "children_system", 0)
        return round(total_s * 1e9)

    def wait(self, seconds: float) -> bool:
        """Wait for its exit; False when it still runs after `seconds`."""
        deadline = time.monotonic() + seconds
        while self.exit_status() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def terminate(self) -> None:
        """Ask it and whatever it started to end."""
        if self.exit_status() is None:
            self._signal_group(signal.SIGTERM)

    def kill(self) -> None:
        """End it and whatever it started: SIGTERM to the group, SIGKILL two seconds later."""
        self.terminate()
        if not self.wait(_TERM_SECONDS):
            self._signal_group(signal.SIGKILL)
            self.wait(_KILL_SECONDS)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)


@contextlib.contextmanager
def _bound_to(processors: Sequence[int]) -> Iterator[None]:
    """A child that is started meanwhile by this thread begins on these logical CPUs.

    Set before it starts: what counts the processors does so in its first milliseconds.
    """
    if not processors or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


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
