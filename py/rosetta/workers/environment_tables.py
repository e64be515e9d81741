"""What is wrong with an ``[environment]`` table, where its types can't say it."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from pathlib import Path

from rosetta.workers.description import Environment, ProgramEnvironment, UvEnvironment

_FILES = ("requirements", "lock", "build_requirements", "build_lock", "project")
_OF_A_STEP = ("python", "folder", "environment")
_OF_A_VARIABLE = ("folder", "environment")
_ROSETTAS_OWN = re.compile(r"_THREADS$|^OMP_|^PYTHON|^ROSETTA_|^VIRTUAL_ENV$")
"""Variables that are set alike for every worker, or that would lead Python elsewhere."""


def environment_complaints(environment: Environment) -> list[str]:
    """A sentence each."""
    complaints = list(_outside(environment))
    if isinstance(environment, UvEnvironment):
        complaints += _halves(environment)
        for word in environment.compile:
            complaints += _placeholders("compile", word, _OF_A_STEP)
        for name, text in environment.variables.items():
            key = f"variables.{name}"
            complaints += _placeholders(key, text, _OF_A_VARIABLE)
            if _ROSETTAS_OWN.search(name):
                complaints.append(
                    f"environment.{key}: not a worker's to set: Rosetta sets it alike for all"
                )
    return complaints


def _outside(environment: Environment) -> Iterator[str]:
    """Files that don't lie in the worker's folder."""
    named = [(key, getattr(environment, key, None)) for key in _FILES]
    if isinstance(environment, ProgramEnvironment):
        named += [("needs", name) for name in environment.needs]
    for key, value in named:
        path = Path(value or "")
        if path.is_absolute() or ".." in path.parts:
            yield f"environment.{key}: {str(path)!r} is outside the worker's folder"


def _halves(environment: UvEnvironment) -> Iterator[str]:
    """Keys that say nothing without another one."""
    if bool(environment.build_requirements) != bool(environment.build_lock):
        yield "environment.build_requirements, environment.build_lock: both or neither"
    if environment.no_build_isolation and not environment.build_lock:
        yield "environment.no_build_isolation: needs a build_lock with what these are built with"
    if environment.needs and not environment.install:
        yield "environment.install: missing: what to do where one of its needs isn't there"
    if environment.install and not environment.needs:
        yield "environment.install: says how to get what is needed, but there are no needs"


def _placeholders(key: str, text: str, known: tuple[str, ...]) -> Iterator[str]:
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        yield f"environment.{key}: {text!r}: {error}"
        return
    for _, name, spec, conversion in pieces:
        if name is not None and (name not in known or spec or conversion):
            choices = ", ".join(f"{{{choice}}}" for choice in known)
            yield f"environment.{key}: unknown placeholder in {text!r}: known: {choices}"
