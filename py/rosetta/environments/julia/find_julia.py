"""Finding a Julia: where one may lie, and whether what lies there runs.

A file called ``julia`` proves nothing: juliaup's launcher fails when no version is chosen, and a
Julia made for another machine doesn't start. So a candidate counts only when it runs and says what
it is.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rosetta.environments import programs, state
from rosetta.errors import one_line

_PROBE_LIMIT_S = 20.0
_PROBE = ("--startup-file=no", "-e", 'println("Julia ", VERSION)')
_SAID = re.compile(r"^Julia (?P<version>\d+\.\d+\.\d+\S*)$", re.MULTILINE)
_REASON_LENGTH = 120


@dataclass(frozen=True)
class Julia:
    """A Julia that runs."""

    program: Path
    """Absolute; links are not followed, since juliaup's launcher goes by its name."""
    version: str
    """Such as ``1.5.3``."""


@dataclass(frozen=True)
class Search:
    """What came of looking for a Julia."""

    julia: Julia | None
    passed_over: tuple[str, ...]
    """Why the candidates that came before it won't do, a phrase each."""


def search(version: str) -> Search:
    """The first Julia on this machine that is of the minor `version` or a later one.

    Every candidate is run once a process.
    """
    passed_over: list[str] = []
    for candidate in dict.fromkeys(candidates()):
        answer = probe(candidate)
        if isinstance(answer, str):
            passed_over.append(f"{candidate} {answer}")
        elif numbers(answer.version) < numbers(version):
            passed_over.append(f"{candidate} is Julia {answer.version}")
        else:
            return Search(answer, tuple(passed_over))
    return Search(None, tuple(passed_over))


@cache
def probe(candidate: Path) -> Julia | str:
    """What `candidate` is, or else why it is no Julia that can be used."""
    try:
        ran = programs.ask([candidate, *_PROBE], _PROBE_LIMIT_S)
    except OSError as error:
        return f"can't be started: {error.strerror or error}"
    if ran.status is None:
        return f"gave no answer within {_PROBE_LIMIT_S:g} s"
    said = _SAID.search(ran.output)
    if ran.succeeded and said:
        return Julia(candidate, said["version"])
    words = one_line(ran.output)[:_REASON_LENGTH] or "it said nothing"
    return f"is no Julia that runs: {words}"


def forget() -> None:
    """Lets every candidate be run anew: one of them has changed."""
    probe.cache_clear()


def numbers(version: str) -> tuple[int, int]:
    """Major and minor of ``1.5`` or ``1.12.0-rc1``."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def prefix() -> Path:
    """Where Rosetta puts a Julia that it has made itself."""
    return state.home() / "julia"


def candidates() -> Iterator[Path]:
    """The programs that may be a Julia, the user's choice first and Rosetta's own last."""
    chosen = os.environ.get("JULIA")
    if chosen:
        yield Path(shutil.which(chosen) or chosen).expanduser().absolute()
    folders = os.environ.get("PATH", "").split(os.pathsep)
    guesses = [Path(folder) / "julia" for folder in folders if folder]
    guesses += [Path.home() / ".juliaup" / "bin" / "julia", *_from_juliapkg(), _own()]
    yield from (path.absolute() for path in guesses if os.access(path, os.X_OK) and path.is_file())


def _own() -> Path:
    return prefix() / "bin" / "julia"


def _from_juliapkg() -> Iterator[Path]:
    """Where juliapkg, which juliacall uses, puts the Julia that it fetches.

    In its project: of the virtual or conda environment, or else of the Julia depot.
    """
    told = os.environ.get("PYTHON_JULIAPKG_EXE")
    if told:
        yield Path(told)
    environments = [os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX"), sys.prefix]
    environments += map(str, sorted((state.home() / "environments").glob("*/")))
    depot = os.environ.get("JULIA_DEPOT_PATH", "").split(os.pathsep)[0] or Path.home() / ".julia"
    projects = [
        os.environ.get("PYTHON_JULIAPKG_PROJECT"),
        *(Path(environment, "julia_env") for environment in environments if environment),
        Path(depot, "environments", "pyjuliapkg"),
    ]
    for project in projects:
        if project:
            yield Path(project, "pyjuliapkg", "install", "bin", "julia")
