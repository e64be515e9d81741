"""`rosetta worker NAME`: one worker alone, from a tape or for somebody else's coordinator."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rosetta import environments, tasks, workers
from rosetta.bench import conditions
from rosetta.bench.tape import make_tape
from rosetta.cli import options
from rosetta.coordinator import connection_file
from rosetta.errors import UserError
from rosetta.workers import Worker


def command(
    name: Annotated[str, typer.Argument(help="Worker")],
    connect: Annotated[
        Path | None, typer.Option(help="Join a coordinator: its connection file")
    ] = None,
    tape: Annotated[Path | None, typer.Option(help="Run from this tape")] = None,
    task: Annotated[str, typer.Option(help="Without a tape: make one of this task")] = "mlp",
    steps: Annotated[int, typer.Option(min=1, help="Steps of the tape that is made")] = 20,
    data: Annotated[str, typer.Option(help=options.DATA_HELP)] = "auto",
    data_dir: Annotated[list[str] | None, typer.Option(help=options.DATA_DIR_HELP)] = None,
    download: Annotated[bool, typer.Option(help="Fetch data sets that are missing")] = True,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Samples of a batch")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the tape")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
    save: Annotated[Path | None, typer.Option(help="Keep the tape that is made")] = None,
) -> int:
    """Run one worker alone and print its per-batch times and losses.

    With --connect it joins a coordinator that waits for it (`rosetta bench --join NAME`).
    """
    worker = workers.get(name)
    if connect and tape:
        raise UserError("--connect and --tape exclude each other: give one of them")
    for file in (connect, tape):
        if file and not file.is_file():
            raise UserError(f"no file {file}")
    say = options.say
    if connect:
        asked = connection_file.read(connect).get("threads")
        command_line = worker.command(_python(worker), connect.resolve())
        return _run(command_line, threads or asked or options.usable_cpus())
    count = threads or options.usable_cpus()
    if tape:
        return _run(
            worker.tape_command(_python(worker), tape.resolve(), device=device, threads=count),
            count,
        )
    definition = tasks.load(task).override(batch_size=batch_size)
    if task not in worker.tasks:
        raise UserError(f"worker {name} has no task {task}: it has {', '.join(worker.tasks)}")
    dataset, _ = options.DataOptions(data, data_dir, download, seed).load(definition, say)
    with tempfile.TemporaryDirectory(prefix="rosetta-") as folder:
        made = save or Path(folder) / f"{task}.tape"
        make_tape(made, definition, dataset.train, steps=steps, seed=seed, threads=count)
        say(f"{task} on {dataset.label}, batch {definition.training.batch_size}")
        command_line = worker.tape_command(
            _python(worker), made.resolve(), device=device, threads=count
        )
        return _run(command_line, count)


def _python(worker: Worker) -> Path:
    python = environments.ensure(worker, options.say).python
    assert python is not None  # `ensure` has made it or raised
    return python


def _run(command_line: list[str], threads: int) -> int:
    """Run the worker in the foreground, under the conditions of a bench, in an empty folder."""
    variables = environments.clean_environment(conditions.variables(threads))
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="rosetta-") as folder:
        return subprocess.run(command_line, env=variables, cwd=folder).returncode
