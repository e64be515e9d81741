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
from rosetta.environments.python import attempts, uv
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

    Raises EnvironmentUnavailable.
    """
    target = worker.folder / worker.uv.lock
    try:
        pinned = _pinned(worker, report)
        before = target.read_text(encoding="utf-8") if target.exists() else ""
        changes = _changes(before, pinned)
        for change in changes or ["no package has changed"]:
            report(f"{worker.name}: {change}")
        if pinned != before:
            _write(target, pinned)
    except OSError as error:
        where = error.filename or target
        raise EnvironmentUnavailable(f"{where}: {error.strerror or error}") from error


def _pinned(worker: Worker, report: Report) -> str:
    """The content of a new lock."""
    environment = worker.uv
    requirements = worker.folder / environment.requirements
    with tempfile.TemporaryDirectory() as folder:
        # A file that isn't there yet: uv would keep the versions of an old one.
        output = Path(folder, "requirements.lock")
        command: list[str | Path] = ["pip", "compile", requirements, "-o", output, *_OPTIONS]
        command += ["--python-version", environment.python]

        def run(variables: Mapping[str, str], options: Sequence[str]) -> programs.Ran:
            return uv.ask([*command, *options], _LIMIT_S, variables)

        # Another build's packages would be in the way on every other machine.
        why = attempts.first_success(worker, report, run, any_build=False)
        if why:
            raise EnvironmentUnavailable(f"uv could not lock {environment.requirements}: {why}")
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
