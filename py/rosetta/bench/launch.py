"""Starting one worker's process for one session."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from rosetta import environments
from rosetta.bench import conditions
from rosetta.coordinator import Process, Session, WorkerFailureError
from rosetta.workers import Worker

LIBZMQ_VARIABLE = "ROSETTA_LIBZMQ"


def launch(session: Session, worker: Worker, *, name: str, scratch: Path, log: Path) -> Path:
    """Start `worker` for `session`, in an empty folder; returns its connection file.

    `name` is for its files in `scratch`. Raises `WorkerFailureError` when it can't be started.
    """
    file = scratch.resolve() / f"{name}.connection.json"
    session.write_connection_file(file)
    working_folder = scratch / name
    state = environments.status(worker)
    if state.interpreter is None:  # it was there when the run began
        raise WorkerFailureError("failed", f"its environment is gone: {state.reason}")
    interpreter = state.interpreter
    try:
        working_folder.mkdir()
    except OSError as error:
        raise WorkerFailureError("failed", f"{working_folder}: {error.strerror}") from error
    command = worker.command(interpreter, file)
    session.process = Process(
        command,
        variables(session.threads, worker),
        log,
        working_folder,
        conditions.processors(session.threads, session.device),
    )
    return file


def variables(threads: int, worker: Worker | None = None) -> dict[str, str]:
    """The environment of a worker's process: the user's, the worker's, a bench's conditions.

    None for a process that isn't one of the workers'.
    """
    declared = environments.variables(worker) if worker else {}
    return environments.clean_environment(
        {**_libzmq_variable(), **declared, **conditions.variables(threads)}
    )


def _libzmq_variable() -> dict[str, str]:
    """Where a worker without a ZeroMQ of its own finds one, unless the user has said where."""
    chosen = os.environ.get(LIBZMQ_VARIABLE) or _own_libzmq()
    return {LIBZMQ_VARIABLE: chosen} if chosen else {}


@cache
def _own_libzmq() -> str | None:
    """The library in pyzmq's wheel; None where pyzmq was built for this machine's own."""
    spec = find_spec("zmq")
    if spec is None or spec.origin is None:
        return None
    beside = Path(spec.origin).parents[1] / "pyzmq.libs"
    return next(map(str, sorted(beside.glob("libzmq-*.so*"))), None)
