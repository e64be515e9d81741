"""The environment of a worker in any other language: a program of this machine's.

Rosetta makes nothing here. It looks whether the program and what it needs are there, and says what
its author has said to do where they aren't.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from rosetta.environments.errors import NotInstalled
from rosetta.environments.state import EnvironmentStatus
from rosetta.workers import Worker


def ensure(worker: Worker) -> EnvironmentStatus:
    """The environment of `worker`. Raises NotInstalled, with what has to be done."""
    found = status(worker)
    if not found.ready:
        raise NotInstalled(found.reason or "")
    return found


def status(worker: Worker) -> EnvironmentStatus:
    """Whether the program and the files that it needs are there. Starts nothing."""
    program, lacking = find(worker), _lacking(worker)
    reason = None
    if program is None:
        where = f"in {worker.folder}" if "/" in worker.program.program else "on the PATH"
        reason = f"{worker.program.program} is not {where}"
    elif lacking:
        reason = f"{lacking} is missing in {worker.folder}"
    return EnvironmentStatus(
        worker=worker.name,
        path=worker.folder,
        ready=reason is None,
        reason=reason and f"{reason}: {worker.program.install}",
        interpreter=program,
        framework_version=None,
    )


def pins(worker: Worker) -> dict[str, object]:
    """The program, and a digest of each file that is needed, for ``run.json``."""
    program = find(worker)
    files = {name: worker.folder / name for name in worker.program.needs}
    digests = {
        n: hashlib.sha256(f.read_bytes()).hexdigest() for n, f in files.items() if f.is_file()
    }
    return {"program": str(program) if program else None, "sha256": digests}


def find(worker: Worker) -> Path | None:
    """The program: on the PATH, or in the worker's folder where its name has a slash."""
    name = worker.program.program
    found = shutil.which(str(worker.folder / name) if "/" in name else name)
    return Path(found) if found else None


def _lacking(worker: Worker) -> str | None:
    return next((n for n in worker.program.needs if not (worker.folder / n).exists()), None)
