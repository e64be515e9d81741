"""Pinning a worker's packages anew: from its requirements file to its lock.

The lock is used on other machines, so it must not say where this one has its packages from: it
holds no index and no folder, and no local version labels, which other indexes don't have
(``torch==2.13.0+cpu`` here is ``torch==2.13.0`` there).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rosetta.environments import programs
from rosetta.environments.errors import EnvironmentUnavailable
from rosetta.environments.exclusive import Report
from rosetta.environments.python import attempts, interpreters, uv
from rosetta.workers import Worker

_LIMIT_S = 600.0
"""Where there are no wheels, packages are built to learn what they need."""
_OPTIONS = ("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
_PIN = re.compile(r"^(?P<name>[\w.-]+(?:\[[^\]]*\])?)==(?P<version>[^\s;+]+)(?:\+[^\s;]+)?")


def lock(worker: Worker, report: Report = lambda line: None) -> None:
    """Pins the newest packages that fit the worker's requirements, and writes its lock.

    They are looked for where they would be installed from (see `attempts`), for the worker's Python
    on a machine like this one. `report` is told each change, a line a package. A lock that stays
    the same isn't touched, and neither is one for which nothing could be found.

    What is needed for building is pinned before, and holds for the rest too.

    Raises EnvironmentUnavailable.
    """
    declared = worker.uv
    target = worker.folder / declared.lock
    try:
        if declared.build_requirements and declared.build_lock:
            target = worker.folder / declared.build_lock
            build = _pinned(worker, declared.build_requirements, report)
            _renew(worker, target, build, report)
            target = worker.folder / declared.lock
            pinned = _pinned_with(worker, worker.folder / declared.build_lock, report)
        else:
            pinned = _pinned(worker, declared.requirements, report)
        _renew(worker, target, pinned, report)
    except OSError as error:
        where = error.filename or target
        raise EnvironmentUnavailable(f"{where}: {error.strerror or error}") from error


def _renew(worker: Worker, target: Path, pinned: str, report: Report) -> None:
    """Writes `pinned` into the lock `target`, if it is another one, and says what has changed."""
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    subject = worker.name if target.name == worker.uv.lock else f"{worker.name}, {target.name}"
    for change in _changes(before, pinned) or ["no package has changed"]:
        report(f"{subject}: {change}")
    if pinned != before:
        _write(target, pinned)


def _pinned_with(worker: Worker, build: Path, report: Report) -> str:
    """The content of a new lock, for an environment that holds the packages of `build` already.

    What some packages need is known only once they are built: with these, in a venv for that.
    """
    options: list[str | Path] = ["--constraints", build]
    if not worker.uv.no_build_isolation:
        return _pinned(worker, worker.uv.requirements, report, options)
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv", "bin", "python")
        interpreter = interpreters.find(worker.uv.python, report)
        _succeed(uv.ask(["venv", "--python", interpreter, python.parents[1]]), "make a venv")

        def run(variables: Mapping[str, str], options: Sequence[str]) -> programs.Ran:
            command: list[str | Path] = ["pip", "install", "--python", python, "-r", build]
            return uv.ask([*command, *options], _LIMIT_S, variables)

        why = attempts.first_success(worker, report, run)
        if why:
            raise EnvironmentUnavailable(f"uv could not install {build.name}: {why}")
        options += ["--python", python, *uv.without_isolation(worker)]
        return _pinned(worker, worker.uv.requirements, report, options)


def _succeed(ran: programs.Ran, what: str) -> None:
    if not ran.succeeded:
        raise EnvironmentUnavailable(f"uv could not {what}: {uv.telling_line(ran.output)}")


def _pinned(worker: Worker, name: str, report: Report, more: Sequence[str | Path] = ()) -> str:
    """The pins of the requirements file `name`, found with `more` options."""
    with tempfile.TemporaryDirectory() as folder:
        # A file that isn't there yet: uv would keep the versions of an old one.
        output = Path(folder, "requirements.lock")
        command: list[str | Path] = ["pip", "compile", worker.folder / name, "-o", output]
        command += [*_OPTIONS, "--python-version", worker.uv.python, *more]

        def run(variables: Mapping[str, str], options: Sequence[str]) -> programs.Ran:
            return uv.ask([*command, *options], _LIMIT_S, variables)

        # Another build's packages would be in the way on every other machine.
        why = attempts.first_success(worker, report, run, any_build=False)
        if why:
            raise EnvironmentUnavailable(f"uv could not lock {name}: {why}")
        lines = output.read_text(encoding="utf-8").splitlines()
    return "".join(f"{_without_label(line)}\n" for line in lines)


def _without_label(line: str) -> str:
    return _PIN.sub(r"\g<name>==\g<version>", line)


def _changes(before: str, after: str) -> list[str]:
    """``numpy 2.4.6 → 2.5.0``, one a package, by name."""
    old, new = _versions(before), _versions(after)
    changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return [f"{name} {old.get(name, 'none')} → {new.get(name, 'none')}" for name in changed]


def _versions(content: str) -> dict[str, str]:
    pins = filter(None, map(_PIN.match, content.splitlines()))
    return {pin["name"]: pin["version"] for pin in pins}


def _write(target: Path, content: str) -> None:
    """Whoever reads the lock meanwhile sees the old one or the new one."""
    partial = target.with_name(f"{target.name}.tmp")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
