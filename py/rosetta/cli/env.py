"""`rosetta env`: the workers' environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from rosetta import environments, workers
from rosetta.cli import options
from rosetta.environments import EnvironmentUnavailable, NotInstalled
from rosetta.workers import UvEnvironment, Worker

app = typer.Typer(help="Make, measure, pin and remove the workers' environments.")

Names = Annotated[list[str] | None, typer.Argument(help="Workers [all]")]


@app.command()
def create(names: Names = None) -> int:
    """Make the environments that are missing or out of date.

    Packages for Julia are installed only for workers that are named. Exit code 1 when an
    environment could not be made; without names, what isn't Rosetta's to make may be missing.
    """
    named = bool(options.split(names))

    def make(worker: Worker) -> None:
        try:
            console = Console(stderr=True)
            state = environments.ensure(worker, options.say, console, install_packages=named)
        except EnvironmentUnavailable as error:
            if named or not _may_be_missing(worker, error):
                raise
            options.say(f"{worker.name}: left out: {error}")
        else:
            options.say(f"{worker.name}: ready at {state.path}")

    return _each(_chosen(names), make)


@app.command()
def lock(names: Annotated[list[str], typer.Argument(help="Workers")]) -> int:
    """Pin the newest packages that fit a worker's requirements; rewrites its lock."""
    return _each(_chosen(names), lambda worker: environments.lock(worker, options.say))


@app.command()
def size(names: Names = None) -> int:
    """Print the disk space that each environment takes; a Julia that isn't Rosetta's counts 0."""
    for worker in _chosen(names):
        print(f"{worker.name:<14} {environments.size(worker) / 2**20:8,.0f} MB")
    return 0


@app.command()
def clean(names: Names = None) -> int:
    """Remove environments; they are made again when they are needed."""
    for worker in _chosen(names):
        environments.remove(worker)
    return 0


def _each(chosen: list[Worker], do: Callable[[Worker], None]) -> int:
    """Exit code 1 when it could not be done for one of them; the others are done all the same."""
    failed = 0
    for worker in chosen:
        try:
            do(worker)
        except EnvironmentUnavailable as error:
            options.say(f"{worker.name}: {error}")
            failed += 1
    return 1 if failed else 0


def _may_be_missing(worker: Worker, error: EnvironmentUnavailable) -> bool:
    optional = isinstance(worker.environment, UvEnvironment) and worker.environment.optional
    return optional or isinstance(error, NotInstalled)


def _chosen(names: list[str] | None) -> list[Worker]:
    if names:
        return [workers.get(name) for name in options.split(names)]
    return list(workers.catalogue().values())
