"""`rosetta worker NAME`: one worker alone, from a tape or for somebody else's coordinator."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from rosetta import environments, machine, workers
from rosetta.bench import conditions, interrupts, launch
from rosetta.bench.tape import make_tape
from rosetta.cli import completion, options
from rosetta.coordinator import connection_file
from rosetta.errors import UserError
from rosetta.scratch import ScratchFolder
from rosetta.tasks import Task
from rosetta.workers import Worker


def command(
    name: Annotated[str, typer.Argument(help="Worker", autocompletion=completion.worker)],
    connect: Annotated[
        Path | None, typer.Option(help="Join a coordinator: its connection file")
    ] = None,
    tape: Annotated[Path | None, typer.Option(help="Run from this tape")] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Make a tape of this task [mlp]", autocompletion=completion.task),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, max=10**6, help="Steps of that tape [20]")
    ] = None,
    data: Annotated[str | None, typer.Option(help=options.DATA_HELP)] = None,
    data_dir: Annotated[list[str] | None, typer.Option(help=options.DATA_DIR_HELP)] = None,
    download: Annotated[bool, typer.Option(help="Fetch data sets that are missing")] = True,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Samples of a batch")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**31 - 1, help="Seed of that tape [1]")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep that tape")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Threads [all CPUs]")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 … [cpu]")] = None,
) -> int:
    """Run one worker alone and print its per-batch times and losses.

    Without --tape it runs from a tape that is made for it. With --connect it joins a coordinator
    that waits for it (`rosetta bench --join NAME`), on the device and the threads of that run.
    """
    worker = workers.get(name)
    making = {
        "--task": task,
        "--steps": steps,
        "--data": data,
        "--data-dir": data_dir,
        "--batch-size": batch_size,
        "--seed": seed,
        "--save": save,
    }
    if connect:
        _exclude("--connect", {"--tape": tape, "--threads": threads, "--device": device, **making})
        told = connection_file.read(connect)
        asked = told.get("threads") or machine.usable_cpus()
        command_line = worker.command(_interpreter(worker), connect.resolve())
        return _run(worker, command_line, asked, told.get("device") or "cpu")
    count, where = threads or machine.usable_cpus(), device or "cpu"
    for warning in conditions.warnings(count):
        options.say(warning)
    if tape:
        _exclude("--tape", making)
        if not tape.is_file():
            raise UserError(f"no file {tape}")
        return _replay(worker, tape, where, count)
    definition = options.task_of(worker, task or "mlp", batch_size)
    seed = 1 if seed is None else seed
    source = options.DataOptions(data or "auto", data_dir, download, seed)
    dataset, _ = source.load(definition, options.say)
    with ScratchFolder() as folder:
        made = save or folder / f"{definition.name}.tape"
        make_tape(
            made,
            definition,
            dataset.train,
            steps=steps or _steps(definition),
            seed=seed,
            threads=count,
        )
        batch_size = definition.training.batch_size
        options.say(f"{definition.name} on {dataset.label}, batch {batch_size}")
        return _replay(worker, made, where, count)


def _steps(task: Task) -> int:
    """Enough to see how the times settle."""
    return 20 if task.trains else task.bench.steps


def _exclude(option: str, others: Mapping[str, object]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise UserError(f"{option} excludes {', '.join(given)}: give one or the other")


def _replay(worker: Worker, tape: Path, device: str, threads: int) -> int:
    command_line = worker.tape_command(
        _interpreter(worker), tape.resolve(), device=device, threads=threads
    )
    return _run(worker, command_line, threads, device)


def _interpreter(worker: Worker) -> Path:
    interpreter = environments.ensure(worker, options.say).interpreter
    assert interpreter is not None  # `ensure` has made it or raised
    return interpreter


def _run(worker: Worker, command_line: list[str], threads: int, device: str) -> int:
    """Run the worker in the foreground, under the conditions of a bench, in an empty folder."""
    sys.stdout.flush()
    processors = conditions.processors(threads, device)
    if processors and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, processors)  # the child's too; we do nothing but wait for it
    with interrupts.at_once(), ScratchFolder() as folder:
        environment = launch.variables(threads, worker)
        return subprocess.run(command_line, env=environment, cwd=folder).returncode
