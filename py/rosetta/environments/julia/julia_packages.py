"""A Julia worker's packages: which it needs, whether they are there, and installing them."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rosetta.environments import programs
from rosetta.environments.errors import EnvironmentUnavailable, NotInstalled
from rosetta.environments.julia.find_julia import Julia
from rosetta.errors import one_line
from rosetta.workers import CHECKOUT, Worker

_FIND_LIMIT_S = 60.0
_FIND = """
for name in ARGS
    path = Base.find_package(name)
    println("package\\t", name, "\\t", path === nothing ? "" : path)
end
"""
_INSTALL = "using Pkg; Pkg.instantiate()"


@dataclass(frozen=True)
class Package:
    """A package as a worker's Julia would load it."""

    name: str
    path: Path
    """Its main source file."""
    version: str | None
    """None where its Project.toml doesn't say."""


def needed(worker: Worker) -> list[str]:
    """The names of the packages that must be there: the framework's, or all of the project's."""
    if worker.julia.package:
        return [worker.julia.package]
    return sorted(_toml(project).get("deps", {})) if (project := project_file(worker)) else []


def project_file(worker: Worker) -> Path | None:
    """The worker's Project.toml, if it has one."""
    return worker.folder / worker.julia.project if worker.julia.project else None


def manifest_file(worker: Worker, julia: Julia) -> Path | None:
    """Where Julia has written down which packages it has resolved; None before it has."""
    project = project_file(worker)
    if project is None:
        return None
    minor = ".".join(julia.version.split(".")[:2])
    names = (f"Manifest-v{minor}.toml", "Manifest.toml")
    return next((file for name in names if (file := project.with_name(name)).exists()), None)


def find(worker: Worker, julia: Julia) -> list[Package]:
    """The packages that `worker` needs, without loading them.

    Raises NotInstalled, naming those that aren't there and how to install them.
    """
    names = needed(worker)
    if not names:
        return []
    found = _find(julia, tuple(worker.interpreter_options()), tuple(names))
    missing = [name for name in names if name not in found]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        command = _install_command(worker, julia, missing)
        raise NotInstalled(f"{' and '.join(missing)} {are} not installed ({command})")
    return [found[name] for name in names]


def install(worker: Worker, julia: Julia, log: Path, lock: int) -> None:
    """Installs what the worker's project names, where it isn't there yet.

    Raises EnvironmentUnavailable.
    """
    project = project_file(worker)
    if project is None:
        return
    command: list[str | Path] = [julia.program, "--startup-file=no", f"--project={project.parent}"]
    ran = programs.logged([*command, "-e", _INSTALL], log, {}, lock)
    _find.cache_clear()
    if not ran.succeeded:
        reason = telling_line(ran.output)
        raise EnvironmentUnavailable(
            f"Julia could not install {worker.julia.project}: {reason}; log: {log}"
        )


def telling_line(output: str) -> str:
    """Why a run of Julia failed, in one line: its first error."""
    if programs.is_out_of_space(output):
        return "no space left on the disk"
    lines = [one_line(line) for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines[-1:] or ["it gave no reason"])[0][:300]


@cache
def _find(julia: Julia, options: Sequence[str], names: Sequence[str]) -> dict[str, Package]:
    command: list[str | Path] = [julia.program, *options, "-e", _FIND, *names]
    ran = programs.ask(command, _FIND_LIMIT_S)
    if not ran.succeeded:
        reason = telling_line(ran.output)
        raise EnvironmentUnavailable(f"Julia could not look for {', '.join(names)}: {reason}")
    lines = [line.split("\t") for line in ran.output.splitlines()]
    paths = {line[1]: Path(line[2]) for line in lines if line[0] == "package" and line[-1]}
    return {name: Package(name, path, _version(path)) for name, path in paths.items()}


def _version(source: Path) -> str | None:
    """Of the package whose main source file is `source`, ``Knet/src/Knet.jl``."""
    file = source.parents[1] / "Project.toml"
    version = _toml(file).get("version") if file.exists() else None
    return str(version) if version else None


def _install_command(worker: Worker, julia: Julia, names: Sequence[str]) -> str:
    """What to type, from the checkout."""
    program = shutil.which("julia")
    word = "julia" if program and Path(program) == julia.program else str(julia.program)
    project = project_file(worker)
    if project is None:
        listed = ", ".join(f'"{name}"' for name in names)
        return f"{word} -e 'using Pkg; Pkg.add([{listed}])'"
    folder = project.parent
    if folder.is_relative_to(CHECKOUT):
        folder = folder.relative_to(CHECKOUT)
    return f"{word} --project={folder} -e '{_INSTALL}'"


def _toml(file: Path) -> dict[str, Any]:
    """Raises EnvironmentUnavailable."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EnvironmentUnavailable(f"{file}: {one_line(str(error))}") from None
