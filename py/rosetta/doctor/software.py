"""Checks of what is installed and set: uv, interpreters, package sources, variables, data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from rosetta import machine
from rosetta.doctor.finding import Finding
from rosetta.environments.julia import debian_julia, find_julia
from rosetta.environments.julia import environment as julia_environment
from rosetta.environments.python import interpreters, pip_settings, uv
from rosetta.errors import UserError
from rosetta.workers import JuliaEnvironment, UvEnvironment, catalogue


def programs() -> Iterable[Finding]:
    yield Finding("ok", "python", f"Rosetta runs on Python {sys.version.split()[0]}")
    try:
        version = uv.ask(["--version"]).output.strip()
    except UserError as error:
        yield Finding("problem", "uv", str(error))
        return
    yield Finding("ok", "uv", f"{version} makes the environments")


def pythons() -> Iterable[Finding]:
    """Whether there is an interpreter for each worker."""
    found = catalogue()
    for error in found.errors.values():
        yield Finding("problem", "workers", str(error))
    wanted: dict[str, list[str]] = {}
    for worker in found.values():
        if isinstance(worker.environment, UvEnvironment):
            wanted.setdefault(worker.environment.python, []).append(worker.name)
    for version, names in sorted(wanted.items(), key=lambda item: _as_numbers(item[0])):
        python = interpreters.find_local(version)
        if python:
            yield Finding("ok", "interpreters", f"Python {version} is {python}")
        else:
            yield Finding(
                "warning",
                "interpreters",
                f"Python {version} is not here, for {', '.join(names)}: uv will try to fetch it; "
                f"without a network install it, for example with `pyenv install {version}`",
            )


def julias() -> Iterable[Finding]:
    """Which Julia the workers in Julia run on."""
    wanted: dict[str, list[str]] = {}
    for worker in catalogue().values():
        if isinstance(worker.environment, JuliaEnvironment):
            wanted.setdefault(worker.environment.version, []).append(worker.name)
    for version, names in sorted(wanted.items(), key=lambda item: _as_numbers(item[0])):
        found = find_julia.search(version)
        for phrase in found.passed_over:
            yield Finding("warning", "julia", f"{phrase}: passed over; mend or remove it")
        if found.julia:
            sentence = f"Julia {found.julia.version} is {found.julia.program}"
            yield Finding("ok", "julia", sentence)
        elif debian_julia.is_possible(version):
            sentence = f"no Julia {version} or later is here, for {', '.join(names)}: it will be "
            sentence += "made from Debian's packages, 65 MB to download"
            yield Finding("ok", "julia", sentence)
        else:
            sentence = f"{julia_environment.missing_julia(version)}; for {', '.join(names)}"
            yield Finding("warning", "julia", sentence)


def package_sources() -> Iterable[Finding]:
    settings = pip_settings.read()
    phrases = settings.described()
    if phrases:
        yield Finding("ok", "packages", "uv is given pip's settings: " + ", ".join(phrases))
    else:
        yield Finding("ok", "packages", "pip has no settings here: uv uses the public index")
    for folder in settings.missing_folders():
        sentence = f"pip's find-links names {folder}, which is not there: correct pip's settings"
        yield Finding("warning", "packages", sentence)


def variables() -> Iterable[Finding]:
    found = machine.speed_variables(os.environ)
    for name, value in found.items():
        why = machine.SPEED_VARIABLES[name]
        sentence = f"{name}={value} is set: {why}; unset it to compare with other runs"
        yield Finding("warning", "variables", sentence)
    if not found:
        yield Finding("ok", "variables", "none is set that changes the frameworks' speed")


def data() -> Iterable[Finding]:
    chosen = os.environ.get("ROSETTA_DATA")
    if not chosen:
        sentence = (
            "ROSETTA_DATA is not set: data sets are downloaded when first needed; "
            "without a network set it to a folder that holds them, or use synthetic data"
        )
        yield Finding("ok", "data", sentence)
    elif Path(chosen).is_dir():
        yield Finding("ok", "data", f"data sets are read from {chosen}")
    else:
        sentence = f"ROSETTA_DATA is {chosen}, which is not a folder: correct or unset it"
        yield Finding("problem", "data", sentence)


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
