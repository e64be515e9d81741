"""`rosetta env`: the workers' environments."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from rosetta import environments, workers
from rosetta.cli import as_json, completion, options
from rosetta.environments import EnvironmentUnavailable, NotInstalled
from rosetta.workers import WORKERS_FOLDERS, UvEnvironment, Worker

app = typer.Typer(help="Make, measure, pin and remove the workers' environments.")

Names = Annotated[
    list[str] | None, typer.Argument(help="Workers [all]", autocompletion=completion.workers)
]


@app.command()
def create(
    names: Names = None,
    where_possible: Annotated[
        bool,
        typer.Option(
            "--where-possible", help="Named or not, what isn't Rosetta's to make may lack"
        ),
    ] = False,
) -> int:
    """Make the environments that are missing or out of date, several at a time.

    Packages for Julia are installed only for workers that are named. Exit code 1 when an
    environment could not be made; without names, what isn't Rosetta's to make may be missing.
    """
    named = bool(options.split(names)) and not where_possible
    chosen = _chosen(names)
    console = Console(stderr=True)
    made = environments.ensure_all(chosen, options.say, console, install_packages=named)
    failed = 0
    for worker in chosen:
        result = made[worker.name]
        if not isinstance(result, EnvironmentUnavailable):
            options.say(f"{worker.name}: ready at {result.path}")
        elif named or not _may_be_missing(worker, result):
            options.say(f"{worker.name}: {result}")
            failed += 1
        else:
            options.say(f"{worker.name}: left out: {result}")
    return 1 if failed else 0


@app.command()
def lock(
    names: Annotated[list[str], typer.Argument(help="Workers", autocompletion=completion.workers)],
) -> int:
    """Pin the newest packages that fit a worker's requirements; rewrites its lock."""
    failed = 0
    for worker in _chosen(names):
        try:
            environments.lock(worker, options.say)
        except EnvironmentUnavailable as error:
            options.say(f"{worker.name}: {error}")
            failed += 1
    return 1 if failed else 0


@app.command()
def size(names: Names = None, json: as_json.Option = False) -> int:
    """Print the disk space that each environment takes; a Julia that isn't Rosetta's counts 0.

    --json prints an object: name of the environment, its bytes.
    """
    each = _each_environment(names)
    if json:
        as_json.write({worker.environment_name: environments.size(worker) for worker in each})
        return 0
    for worker in each:
        where = "" if worker.folder.parent in WORKERS_FOLDERS else f"  {worker.folder}"
        megabytes = f"{environments.size(worker) / 2**20:8,.0f} MB"
        print(f"{worker.environment_name:<20} {megabytes}{where}")
    return 0


@app.command()
def clean(names: Names = None) -> int:
    """Remove environments; they are made again when they are needed."""
    for worker in _each_environment(names):
        environments.remove(worker)
    return 0


def _each_environment(names: list[str] | None) -> list[Worker]:
    """One worker of each environment."""
    return list({worker.environment_name: worker for worker in _chosen(names)}.values())


def _may_be_missing(worker: Worker, error: EnvironmentUnavailable) -> bool:
    optional = isinstance(worker.environment, UvEnvironment) and worker.environment.optional
    return optional or isinstance(error, NotInstalled)


def _chosen(names: list[str] | None) -> list[Worker]:
    if names:
        return [workers.get(name) for name in options.split(names)]
    return list(workers.catalogue().values())
