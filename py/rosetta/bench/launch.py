"""Starting one worker's process for one session."""

from __future__ import annotations

from pathlib import Path

from rosetta import environments
from rosetta.bench import conditions
from rosetta.coordinator import Process, Session
from rosetta.workers import Worker


def launch(session: Session, worker: Worker, *, name: str, scratch: Path, log: Path) -> Path:
    """Start `worker` for `session`, in an empty folder; returns its connection file.

    `name` is for its files in `scratch`. Raises `WorkerFailureError` when it can't be started.
    """
    file = scratch.resolve() / f"{name}.connection.json"
    session.write_connection_file(file)
    working_folder = scratch / name
    working_folder.mkdir()
    python = environments.status(worker).python
    assert python is not None  # whoever has no environment isn't started
    session.process = Process(
        worker.command(python, file),
        environments.clean_environment(conditions.variables(session.threads)),
        log,
        working_folder,
    )
    return file
