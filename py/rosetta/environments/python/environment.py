"""Making a worker's environment: an interpreter, a venv, what the lock names.

A virtual environment cannot be moved, so it is built where it will stay, under a lock that uv
inherits: should this process be killed, the lock lasts until the uv that it started has ended, and
nobody builds in a folder that is still being written to.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from rosetta.environments import programs, state
from rosetta.environments.errors import EnvironmentUnavailable, NotInstalled
from rosetta.environments.exclusive import Report, alone, disk_errors, spinner
from rosetta.environments.python import attempts, compile_step, interpreters, uv
from rosetta.environments.state import EnvironmentStatus, Place
from rosetta.workers import Worker


def ensure(
    worker: Worker, report: Report = lambda line: None, console: Console | None = None
) -> EnvironmentStatus:
    """The environment of `worker`, made first where it is missing or no longer fits the lock.

    `report` receives single lines about what is being done; on `console` a spinner turns meanwhile.
    Raises EnvironmentUnavailable; NotInstalled where a program that it needs isn't there. A second
    process that wants the same environment waits.
    """
    missing = state.missing_program(worker)
    if missing:
        raise NotInstalled(missing)
    with disk_errors():
        if not state.status(worker).ready:
            with _alone(worker, report) as lock:
                if not state.status(worker).ready:
                    with spinner(console, f"{worker.name}: installing {worker.uv.lock}"):
                        _make(worker, report, lock)
        state.link_checkout(worker)
    return state.status(worker)


def remove(worker: Worker) -> None:
    """Removes the environment and its log, when they exist.

    Raises EnvironmentUnavailable when the disk does not allow it.
    """
    where = state.place(worker)
    if not where.path.exists() and not where.log.exists():
        return
    with disk_errors(), _alone(worker, lambda line: None):
        state.discard(where)
        where.log.unlink(missing_ok=True)


def _make(worker: Worker, report: Report, lock: int) -> None:
    """Builds from scratch. What is left of a failed attempt is removed; its log stays."""
    where = state.place(worker)
    started = time.monotonic()
    try:
        digest = state.lock_digest(worker)
    except OSError as error:
        file = error.filename or worker.uv.lock
        raise EnvironmentUnavailable(f"{Path(file).name}: {error.strerror}") from error
    state.discard(where)
    where.log.write_bytes(b"")
    report(_announcement(worker))
    try:
        _create(where, _interpreter(worker, report), lock)
        if worker.uv.build_lock:
            _install(worker, where, report, lock, worker.uv.build_lock)
        _install(worker, where, report, lock, worker.uv.lock, uv.without_isolation(worker))
        compile_step.run(worker, where, lock)
        _compile(worker, where, lock)
        state.mark_ready(worker, digest)
    except BaseException:
        with contextlib.suppress(OSError):
            state.discard(where)
        raise
    taken_s, megabytes = time.monotonic() - started, state.size(worker) / 1e6
    report(f"{worker.name}: ready after {taken_s:.0f} s, {megabytes:.0f} MB on the disk")


def _interpreter(worker: Worker, report: Report) -> Path:
    """Raises EnvironmentUnavailable; NotInstalled where many machines can't have that Python."""
    try:
        return interpreters.find(worker.uv.python, lambda line: report(f"{worker.name}: {line}"))
    except EnvironmentUnavailable as error:
        raise NotInstalled(str(error)) if worker.uv.optional else error from None


def _announcement(worker: Worker) -> str:
    line = f"{worker.name}: making its environment with Python {worker.uv.python}"
    download = worker.uv.download
    return f"{line}; about {download} to download" if download else line


def _create(where: Place, python: Path, lock: int) -> None:
    command: list[str | Path] = [uv.program(), "venv", "--python", python, where.path]
    ran = uv.logged(command, where.log, {}, lock)
    if not ran.succeeded:
        raise EnvironmentUnavailable(_failure("make a venv", where, uv.telling_line(ran.output)))


def _install(
    worker: Worker,
    where: Place,
    report: Report,
    lock: int,
    name: str,
    more: Sequence[str] = (),
) -> None:
    """Tries one way after the other until the file `name` is installed, with `more` options.

    ``uv pip install``, not ``sync``: another platform may need packages that the lock, made
    elsewhere, does not name.
    """
    command: list[str | Path] = [uv.program(), "pip", "install", "--python", where.python]
    command += ["-r", worker.folder / name, *more]

    def run(variables: Mapping[str, str], options: Sequence[str]) -> programs.Ran:
        return uv.logged([*command, *options], where.log, variables, lock)

    why = attempts.first_success(worker, report, run)
    if why:
        raise EnvironmentUnavailable(_failure(f"install {name}", where, why))


def _compile(worker: Worker, where: Place, lock: int) -> None:
    """Compiles what was installed, so that no worker that is timed has to.

    Without it torch takes a second and a half longer to import, at each start where Python may not
    write bytecode. By the environment's own compileall, since uv's fails on Python 3.6; packages
    may hold files that do not compile, so failures are left in the log.
    """
    site = where.site_packages(worker.uv.python)
    uv.logged([where.python, "-m", "compileall", "-q", "-j", "0", site], where.log, {}, lock)


def _failure(what: str, where: Place, why: str) -> str:
    """One line: the reason, and where uv's own words are."""
    return f"uv could not {what}: {why}; log: {where.log}"


def _alone(worker: Worker, report: Report) -> contextlib.AbstractContextManager[int]:
    def named(line: str) -> None:
        report(f"{worker.name}: {line}")

    return alone(state.place(worker).lock, named, "its environment")
