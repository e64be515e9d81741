"""What a worker declares to be run once its packages are there: something that must be compiled."""

from __future__ import annotations

import tempfile

from rosetta.environments import programs, state
from rosetta.environments.errors import EnvironmentUnavailable
from rosetta.environments.state import Place
from rosetta.errors import one_line, without_escapes
from rosetta.workers import Worker

_REASON_LENGTH = 300


def run(worker: Worker, where: Place, lock: int) -> None:
    """Runs the worker's compile step, if it has one, in an empty folder; its output is logged.

    `lock` is inherited by it (see `programs.logged`). Raises EnvironmentUnavailable with the last
    line that it wrote.
    """
    if not worker.uv.compile:
        return
    command = [worker.uv.filled(word, worker.folder, where.path) for word in worker.uv.compile]
    with tempfile.TemporaryDirectory() as folder:
        try:
            ran = programs.logged(command, where.log, state.variables(worker), lock, folder=folder)
        except OSError as error:
            why = f"{command[0]}: {error.strerror}"
        else:
            if ran.succeeded:
                return
            why = _last_line(ran)
    raise EnvironmentUnavailable(f"its compile step failed: {why}; log: {where.log}")


def _last_line(ran: programs.Ran) -> str:
    if programs.is_out_of_space(ran.output):
        return "no space left on the disk"
    lines = [one_line(line) for line in without_escapes(ran.output).splitlines()]
    last = next((line for line in reversed(lines) if line), f"exit status {ran.status}, no word")
    return last if len(last) <= _REASON_LENGTH else last[: _REASON_LENGTH - 1] + "…"
