"""`rosetta harness`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rosetta import doctor, harness, machine
from rosetta.bench import conditions, interrupts
from rosetta.cli import as_json, completion, options
from rosetta.errors import UserError, unknown
from rosetta.harness.tables import ceiling_tables, goals_table, sentences
from rosetta.results.directory import new_run_id


def command(
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="Worker to compare with a plain script [torch, tensorflow if installed]",
            autocompletion=completion.workers,
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Task; repeat or separate with commas [mlp,cnn,gru]")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(help="Only these: overhead, ceiling, round_trip, memory"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Under a minute: short series, wide intervals")
    ] = False,
    ray: Annotated[
        bool, typer.Option("--ray", help="With Ray's object store, in an environment of its own")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Threads of worker and script")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="Of parameters, batches and dropout")
    ] = 1,
    out: Annotated[Path | None, typer.Option(help="Run directory [runs/<time>-<id>]")] = None,
    json: as_json.Option = False,
) -> int:
    """Measure what the harness itself costs, against doing without it, and print the goals.

    Everything is a ratio of series that took turns in this one run. It is a benchmark, not a test:
    the exit code is 0 whether the goals are met or not.

    --json prints harness.json (protocol/schema/results/harness.json).
    """
    extent = harness.QUICK if quick else harness.FULL
    count = threads or machine.usable_cpus()
    busy = [finding.sentence for finding in doctor.load() if finding.severity != "ok"]
    number = new_run_id()
    choices = harness.Choices(
        out=out or Path("runs") / number,
        run=number,
        extent=extent,
        parts=_known("part", part, harness.PARTS),
        workers=options.split(worker) or harness.with_environment(),
        tasks=_known("task", task, tuple(extent.overhead)),
        threads=count,
        seed=seed,
        ray=ray,
        notes=[*conditions.warnings(count), *busy],
    )
    with interrupts.at_once():
        found = harness.run(choices, options.say)
    if json:
        as_json.write(found)
    else:
        show(found, choices.out)
    return 0


def show(found: harness.Harness, directory: Path) -> None:
    """Print the tables and what must be said beside them, on standard output."""
    console = options.output()
    if found.ceiling:
        console.print(*ceiling_tables(found))
    console.print(goals_table(found.goals))
    for sentence in sentences(found):
        console.print(Text(sentence), soft_wrap=True)
    console.print(Text(f"run directory: {directory}"), soft_wrap=True)


def _known(what: str, asked: list[str] | None, there: tuple[str, ...]) -> list[str]:
    """What was asked for, in the order of `there`; all of it by default. Raises UserError."""
    words = options.split(asked) or list(there)
    for word in words:
        if word not in there:
            raise UserError(unknown(what, word, there))
    return [word for word in there if word in words]
