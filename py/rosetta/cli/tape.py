"""`rosetta tape record`: one worker's session in a file, with the answers that it gave."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosetta import environments, machine, workers
from rosetta.bench.tape import record_tape
from rosetta.cli import as_json, completion, options
from rosetta.coordinator import WorkerFailureError
from rosetta.errors import UserError

app = typer.Typer(help="Sessions in a file, which a worker can run from without a coordinator.")


@app.callback()
def group() -> None:
    """Sessions in a file, which a worker can run from without a coordinator."""


@app.command("record")
def record(
    name: Annotated[str, typer.Argument(help="Worker", autocompletion=completion.worker)],
    out: Annotated[Path, typer.Argument(help="The tape")],
    task: Annotated[str, typer.Option(help="Task", autocompletion=completion.task)] = "mlp",
    steps: Annotated[int, typer.Option(min=1, max=10**6, help="Steps")] = 10,
    data: Annotated[str, typer.Option(help=options.DATA_HELP)] = "auto",
    data_dir: Annotated[list[str] | None, typer.Option(help=options.DATA_DIR_HELP)] = None,
    download: Annotated[bool, typer.Option(help="Fetch data sets that are missing")] = True,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Samples of a batch")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed")] = 1,
    dropout: Annotated[
        bool, typer.Option(help="Train with dropout: such losses can't be compared")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Threads [all CPUs]")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
    json: as_json.Option = False,
) -> int:
    """Have a worker train for a few steps, and write what both sides said to a tape.

    Whoever runs another worker from it (`rosetta worker NAME --tape FILE`) is told whether losses,
    predictions and parameters are the recorded ones.

    --json prints {worker, task, tape, losses: one a step}.
    """
    worker = workers.get(name)
    definition = options.task_of(worker, task, batch_size)
    if not definition.trains:
        raise UserError(f"task {definition.name} has no training that could be recorded")
    environments.ensure(worker, options.say)
    losses: list[float] = []
    dataset, _ = options.DataOptions(data, data_dir, download, seed).load(definition, options.say)
    try:
        record_tape(
            out,
            worker,
            definition,
            dataset.train,
            steps=steps,
            seed=seed,
            threads=threads or machine.usable_cpus(),
            device=device,
            dropout=dropout,
            on_loss=(lambda _, loss: losses.append(loss)) if json else _show,
        )
    except WorkerFailureError as failure:
        raise UserError(f"{name} on {definition.name}: {failure}; no tape was written") from failure
    options.say(f"{definition.name} on {dataset.label}, {steps} steps of {name}: {out}")
    if json:
        as_json.write({"worker": name, "task": definition.name, "tape": out, "losses": losses})
    return 0


def _show(step: int, loss: float) -> None:
    print(f"{step:6d} {loss:12.7f}", flush=True)
