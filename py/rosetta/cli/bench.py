"""`rosetta bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rosetta.bench import interrupts, run
from rosetta.bench import resume as resuming
from rosetta.bench.plan import DEFAULT_WARMUP
from rosetta.bench.progress import reporter
from rosetta.bench.schedule import Schedule
from rosetta.cli import as_json, bench_options, completion, options
from rosetta.cli.show import show
from rosetta.coordinator import Plane
from rosetta.errors import UserError
from rosetta.results import Summary


def command(
    context: typer.Context,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Task; repeat or separate with commas [all that train]",
            autocompletion=completion.tasks,
        ),
    ] = None,
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="Worker; repeat or separate with commas; all: every one [the default set]",
            autocompletion=completion.workers,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes: the task's bench steps")
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Timed steps of each task")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, max=10**6, help="Epochs of each task")
    ] = None,
    data: Annotated[
        str, typer.Option(help=options.DATA_HELP, autocompletion=completion.data)
    ] = "auto",
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
        int | None,
        typer.Option(
            min=0, max=1000, help=f"Steps after the first that aren't timed [{DEFAULT_WARMUP}]"
        ),
    ] = None,
    schedule: Annotated[
        Schedule, typer.Option(help="Workers take turns, or one follows the other")
    ] = "interleaved",
    repeats: Annotated[
        int, typer.Option(min=1, max=1000, help="Train this often, in fresh processes each time")
    ] = 1,
    block: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Steps of one turn [10, or a tenth of all]"),
    ] = None,
    credit: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Batches under way; 1: no prefetch [shm 32, inline 2]"),
    ] = None,
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
        str | None,
        typer.Option(
            help="Worker that the ratios refer to [the first]", autocompletion=completion.worker
        ),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(
            help="Workers of this run that you start by hand with `rosetta worker`",
            autocompletion=completion.workers,
        ),
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
    ] = bench_options.DEADLINES.start,
    step_deadline: Annotated[
        float, typer.Option(min=0.1, help="Seconds of a step; the first one has ten times that")
    ] = bench_options.DEADLINES.step,
    images: Annotated[
        Path | None, typer.Option(help="resnet50: a folder of JPEGs and PNGs [synthetic]")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(help="resnet50: a .safetensors file with torchvision's names [seeded]"),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="resnet50: write each worker's features to this .npz file")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on with the interrupted run in this directory", autocompletion=completion.runs
        ),
    ] = None,
    json: as_json.Option = False,
) -> int:
    """Train the tasks on the workers, batch by batch in turn, and print what came out.

    Without --quick, --steps or --epochs each task is trained for the epochs of its task file, which
    takes hours on a CPU. --resume goes on with a run as it was begun: it takes no other option
    but --json, which prints summary.json (protocol/schema/results/summary.json).
    """
    earlier = None
    if resume:
        _only_resume(context)
        earlier = resuming.read(resume)
        asked = bench_options.recorded(earlier)
    else:
        asked = msgspec.convert(_given(locals()), bench_options.Options)
    events = reporter(options.ProgressConsole())
    the_plan = bench_options.plan(asked, events.note, earlier)
    with interrupts.at_once():
        summary = run(the_plan, events)
    if json:
        as_json.write(summary)
    else:
        show(summary, the_plan.out)
    return _exit_code(summary)


def _only_resume(context: typer.Context) -> None:
    """Raise UserError where another option was given: the run has its own."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [n for n, source in sources.items() if source and source.name == "COMMANDLINE"]
    others = ", ".join(
        f"--{name.replace('_', '-')}" for name in given if name not in ("resume", "json")
    )
    if others:
        raise UserError(f"--resume takes the run's own options: leave out {others}")


def _given(local: dict[str, object]) -> dict[str, object]:
    """The options of this call."""
    return {name: local[name] for name in bench_options.Options.__struct_fields__}


def _exit_code(summary: Summary) -> int:
    if summary.state == "interrupted":
        return 130
    if summary.unwritten:
        return 1
    good = [row for row in summary.rows if row.status == "ok"]
    return 0 if good and all(row.status in ("ok", "skipped") for row in summary.rows) else 1
