"""`rosetta bench`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from rosetta import doctor, machine, report, tasks, workers
from rosetta.bench import Plan, interrupts, run
from rosetta.bench.plan import DEFAULT_WARMUP, plan_task
from rosetta.bench.progress import reporter
from rosetta.cli import options
from rosetta.coordinator import Deadlines, Plane
from rosetta.errors import UserError
from rosetta.results import Summary
from rosetta.results.directory import new_run_id
from rosetta.workers import Worker

DEADLINES = Deadlines()
REFERENCE = "numpy"
"""The worker that comes first by default, so that ratios refer to it: every machine has it."""


def command(
    task: Annotated[
        list[str] | None, typer.Option(help="Task; repeat or separate with commas [all that train]")
    ] = None,
    worker: Annotated[
        list[str] | None,
        typer.Option(help="Worker; repeat or separate with commas [all frameworks]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes: the task's bench steps")
    ] = (False),
    steps: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Timed steps of each task")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, max=10**6, help="Epochs of each task")
    ] = None,
    data: Annotated[str, typer.Option(help=options.DATA_HELP)] = "auto",
    data_dir: Annotated[list[str] | None, typer.Option(help=options.DATA_DIR_HELP)] = None,
    download: Annotated[bool, typer.Option(help="Fetch data sets that are missing")] = True,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Samples of a batch")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(min=0, max=1e6, help="Learning rate")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="Of parameters, batches and dropout")
    ] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Threads of each worker")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
    warmup: Annotated[
        int, typer.Option(min=0, max=1000, help="Steps after the first that aren't timed")
    ] = (DEFAULT_WARMUP),
    block: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Steps of one turn [10, or a tenth of all]"),
    ] = None,
    credit: Annotated[
        int, typer.Option(min=1, max=1024, help="Batches under way; 1: no prefetch")
    ] = 2,
    test_samples: Annotated[
        int | None, typer.Option(min=1, help="Test samples for accuracy [512, or all after epochs]")
    ] = None,
    proof: Annotated[
        bool, typer.Option(help="Prove first that each worker is the same network")
    ] = True,
    allow_unproved: Annotated[
        bool, typer.Option("--allow-unproved", help="Time networks that aren't the same, marked")
    ] = False,
    baseline: Annotated[
        str | None, typer.Option(help="Worker that the ratios refer to [the first]")
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(help="Workers of this run that you start by hand with `rosetta worker`"),
    ] = None,
    bind: Annotated[
        str | None, typer.Option(help="Where to listen: ipc://PATH or tcp://ADDRESS:PORT")
    ] = None,
    plane: Annotated[
        Plane, typer.Option(help="How batches reach the workers of this machine")
    ] = "shm",
    encrypt: Annotated[
        bool,
        typer.Option("--encrypt", help="With CURVE: needed where other machines reach --bind"),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Run directory [runs/<time>-<id>]")] = None,
    start_deadline: Annotated[
        float, typer.Option(min=0.1, help="Seconds from a worker's start to its HELLO")
    ] = DEADLINES.start,
    step_deadline: Annotated[
        float, typer.Option(min=0.1, help="Seconds of a step; the first one has ten times that")
    ] = DEADLINES.step,
) -> int:
    """Train the tasks on the workers, batch by batch in turn, and print what came out.

    Without --quick, --steps or --epochs each task is trained for the epochs of its task file, which
    takes hours on a CPU.
    """
    if steps is not None and epochs is not None:
        raise UserError("--steps and --epochs exclude each other: give one of them")
    chosen = _workers(worker, join)
    events = reporter(options.ProgressConsole())
    source = options.DataOptions(data, data_dir, download, seed)
    planned, notes = [], []
    for name in _tasks(task, chosen):
        definition = tasks.load(name).override(
            batch_size=batch_size, epochs=epochs, learning_rate=learning_rate
        )
        dataset, said = source.load(definition, events.note)
        notes += said
        planned.append(
            plan_task(
                definition,
                dataset,
                seed=seed,
                steps=steps,
                epochs=epochs,
                quick=quick,
                warmup=warmup,
                block=block,
                test_samples=test_samples,
            )
        )
    now, identity = datetime.now(UTC), new_run_id()
    the_plan = Plan(
        tasks=planned,
        workers=chosen,
        joining=frozenset(options.split(join)),
        out=out or Path("runs") / identity,
        run=identity,
        started=now.isoformat(timespec="seconds"),
        seed=seed,
        threads=threads or machine.usable_cpus(),
        device=device,
        warmup=warmup,
        credit=credit,
        bind=bind,
        encrypt=encrypt,
        plane=plane,
        baseline=_baseline(baseline, chosen),
        deadlines=_deadlines(start_deadline, step_deadline),
        prove=proof,
        allow_unproved=allow_unproved,
        warnings=_load_warnings(),
        notes=notes,
        options=_given(locals()),
        command=[options.printable(word) for word in sys.argv],
    )
    with interrupts.at_once():
        summary = run(the_plan, events)
    show(summary, the_plan.out)
    return _exit_code(summary)


def show(summary: Summary, directory: Path) -> None:
    """Print the tables and what must be said beside them, on standard output."""
    console = options.output()
    for task in dict.fromkeys(row.task for row in summary.rows):
        console.print(report.table(summary, task, console.width))
    for sentence in report.notes(summary):
        console.print(Text(sentence))
    console.print(Text(f"run directory: {directory}"), soft_wrap=True)


def _tasks(asked: list[str] | None, chosen: list[Worker]) -> list[str]:
    names = options.split(asked)
    if names or asked:
        return names or _nothing("--task", asked)
    able = {name for worker in chosen for name in worker.tasks}
    return [name for name in tasks.names() if name in able and tasks.load(name).trains]


def _workers(asked: list[str] | None, join: list[str] | None) -> list[Worker]:
    names = options.split(asked)
    if asked and not names:
        _nothing("--worker", asked)
    if not names:
        names = [name for name, worker in workers.catalogue().items() if not worker.harness]
        names.sort(key=lambda name: name != REFERENCE)
    return [workers.get(name) for name in dict.fromkeys(names + options.split(join))]


def _nothing(option: str, asked: list[str] | None) -> NoReturn:
    raise UserError(f"{option} {','.join(asked or [])!r} names nothing: leave it out for all")


def _baseline(asked: str | None, chosen: list[Worker]) -> str | None:
    names = [worker.name for worker in chosen if not worker.harness]
    if asked is not None and asked not in names:
        raise UserError(f"--baseline {asked}: not one of this run's workers ({', '.join(names)})")
    return asked or next(iter(names), None)


def _load_warnings() -> list[str]:
    """What the doctor says of a machine that is busy with something else."""
    return [
        f"before this run, {finding.subject}: {finding.sentence}"
        for finding in (*doctor.load(), *doctor.busy_processes())
        if finding.severity != "ok"
    ]


def _deadlines(start: float, step: float) -> Deadlines:
    """The defaults, unless a step was given another time: its first one then has ten times that."""
    first_step = DEADLINES.first_step if step == DEADLINES.step else 10 * step
    return Deadlines(start=start, step=step, first_step=first_step)


def _given(local: dict[str, object]) -> dict[str, object]:
    """The options of this call, for `run.json`."""
    names = command.__annotations__.keys() - {"return"}
    return {
        name: options.printable(value) if isinstance(value, str | Path) else value
        for name, value in local.items()
        if name in names
    }


def _exit_code(summary: Summary) -> int:
    if summary.state == "interrupted":
        return 130
    good = [row for row in summary.rows if row.status == "ok"]
    return 0 if good and all(row.status in ("ok", "skipped") for row in summary.rows) else 1
