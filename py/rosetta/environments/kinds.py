"""What can be asked of every environment, answered by the kind of the worker's."""

from __future__ import annotations

from rich.console import Console

from rosetta.environments import program_environment, state
from rosetta.environments.exclusive import Report
from rosetta.environments.julia import environment as julia_environment
from rosetta.environments.python import environment as uv_environment
from rosetta.environments.python import locking
from rosetta.environments.state import EnvironmentStatus
from rosetta.workers import JuliaEnvironment, ProgramEnvironment, Worker


def ensure(
    worker: Worker,
    report: Report = lambda line: None,
    console: Console | None = None,
    *,
    install_packages: bool = False,
) -> EnvironmentStatus:
    """The environment of `worker`, made first where it is missing or no longer fits.

    `report` receives single lines about what is being done; on `console` a spinner turns meanwhile.
    What uv installs is installed in any case, Julia's packages only if `install_packages`: they
    belong to the user's Julia. A second process that wants the same environment waits.

    Raises EnvironmentUnavailable; NotInstalled where what is missing isn't Rosetta's to make.
    """
    if _is_program(worker):
        return program_environment.ensure(worker)
    if _is_julia(worker):
        return julia_environment.ensure(worker, report, console, install_packages=install_packages)
    return uv_environment.ensure(worker, report, console)


def status(worker: Worker) -> EnvironmentStatus:
    """Whether the environment of `worker` can be used. Makes nothing."""
    if _is_program(worker):
        return program_environment.status(worker)
    return julia_environment.status(worker) if _is_julia(worker) else state.status(worker)


def remove(worker: Worker) -> None:
    """Removes what Rosetta has made for `worker`. Raises EnvironmentUnavailable."""
    if _is_julia(worker):
        julia_environment.remove(worker)
    elif not _is_program(worker):
        uv_environment.remove(worker)


def size(worker: Worker) -> int:
    """Bytes on the disk of what Rosetta has made for `worker`."""
    if _is_program(worker):
        return 0
    return julia_environment.size(worker) if _is_julia(worker) else state.size(worker)


def lock(worker: Worker, report: Report = lambda line: None) -> None:
    """Pins the newest packages that fit the worker's requirements. Raises EnvironmentUnavailable.

    A worker in Julia has no lock: it runs on the Julia and the packages that are there, and a run
    records which.
    """
    if _is_julia(worker):
        report(f"{worker.name}: nothing to lock: it uses the Julia of this machine")
    elif _is_program(worker):
        report(f"{worker.name}: nothing to lock: it uses {worker.program.program} of this machine")
    else:
        locking.lock(worker, report)


def pins(worker: Worker) -> dict[str, object]:
    """What the environment of `worker` is made of, for ``run.json``."""
    if _is_julia(worker):
        return julia_environment.pins(worker)
    if _is_program(worker):
        return program_environment.pins(worker)
    try:
        digest = state.lock_digest(worker)
    except OSError:  # then it can't be made, and its row will say so
        digest = None
    pinned: dict[str, object] = {"python": worker.uv.python, "lock_sha256": digest}
    if worker.uv.variables:
        pinned["variables"] = worker.uv.variables
    return pinned


def _is_program(worker: Worker) -> bool:
    return isinstance(worker.environment, ProgramEnvironment)


def _is_julia(worker: Worker) -> bool:
    return isinstance(worker.environment, JuliaEnvironment)
