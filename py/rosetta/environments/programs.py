"""Running other programs: with the variables that are theirs, and leaving none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LEAKING = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")


@dataclass(frozen=True)
class Ran:
    """How a run of a program ended."""

    succeeded: bool
    output: str
    status: int | None = None
    """Its exit status, negative for a signal; None when it had to be ended."""


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's variables for a child in another environment, and `more`.

    What points Python at our own environment must not leak into a worker's.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _LEAKING}
    return kept | dict(more or {})


def ask(
    command: Sequence[str | Path], limit_s: float, variables: Mapping[str, str] | None = None
) -> Ran:
    """Runs `command` and returns what it wrote; a run longer than `limit_s` seconds has failed.

    Raises OSError when it can't be started.
    """
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=clean_environment(variables),
        start_new_session=True,  # a group of its own, with whatever it starts in turn
    )
    with child, _ended_with_us(child):
        try:
            output, _ = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            _end(child)
            return Ran(False, f"error: no answer within {limit_s:.0f} s")
    return Ran(child.returncode == 0, output, child.returncode)


def logged(
    command: Sequence[str | Path],
    log: Path,
    variables: Mapping[str, str],
    keep_open: int,
    limit_s: float | None = None,
    folder: str | None = None,
) -> Ran:
    """Runs `command` with its output appended to `log`, however long it takes, or for `limit_s`.

    `keep_open` is a file descriptor that the child inherits: with it an flock lasts as long as the
    child does, even when this process is killed. It runs in `folder`; None: where we are.

    Raises OSError when it can't be started.
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
            env=clean_environment(variables),
            cwd=folder,
            start_new_session=True,
        )
        with _ended_with_us(child):
            try:
                status = child.wait(limit_s)
            except subprocess.TimeoutExpired:
                _end(child)
                return Ran(False, f"error: no end within {limit_s:.0f} s")
    output = log.read_bytes()[start:].decode(errors="replace")
    return Ran(status == 0, output, status)


def is_out_of_space(output: str) -> bool:
    return "No space left on device" in output


class Together:
    """What several threads run, so that all of it can be ended.

    Only a process's main thread hears of Ctrl-C; what it ends stays ended, also for a thread that
    has only just begun.
    """

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._children: set[subprocess.Popen[Any]] = set()

    def run(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Calls `function`; programs that it runs in this thread are ended with the others."""
        token = _together.set(self)
        try:
            return function(*arguments, **named)
        finally:
            _together.reset(token)

    def end(self) -> None:
        """Ends every program that runs; the threads that wait for them are interrupted."""
        self._ending.set()
        for child in list(self._children):
            _kill(child)

    @contextmanager
    def holding(self, child: subprocess.Popen[Any]) -> Iterator[None]:
        self._children.add(child)
        try:
            yield
        finally:
            self._children.discard(child)

    def interrupt_if_ending(self) -> None:
        if self._ending.is_set():
            raise KeyboardInterrupt


_NOBODY_ELSE = Together()
_together: ContextVar[Together] = ContextVar("_together", default=_NOBODY_ELSE)


def interrupt_if_ending() -> None:
    """Raises KeyboardInterrupt in a thread whose programs have been ended: see `Together`."""
    _together.get().interrupt_if_ending()


@contextmanager
def _ended_with_us(child: subprocess.Popen[Any]) -> Iterator[None]:
    """Ends `child` when we are interrupted.

    An orphan would hold the lock, and nobody could make this environment again.
    """
    with _together.get().holding(child):
        try:
            interrupt_if_ending()
            yield
            interrupt_if_ending()
        except BaseException:
            _end(child)
            raise


def _end(child: subprocess.Popen[Any]) -> None:
    """Ends `child` and whatever it has started."""
    _kill(child)
    child.wait()


def _kill(child: subprocess.Popen[Any]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
