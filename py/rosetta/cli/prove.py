"""`rosetta prove`."""

from __future__ import annotations

from typing import Annotated

import typer

from rosetta import machine, tasks, workers
from rosetta.bench.proving import Outcome, prove_workers
from rosetta.cli import options
from rosetta.errors import one_line


def command(
    names: Annotated[list[str] | None, typer.Argument(help="Workers [all frameworks]")] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Task; repeat or separate with commas [all that train]")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a worker")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
) -> int:
    """Prove that the workers train the same network as the float64 reference.

    Exit code 0 only if every worker is the same network on every task.
    """
    found = workers.catalogue()
    chosen = options.split(names) or [n for n, worker in found.items() if not worker.harness]
    wanted = options.split(task) or [n for n in tasks.names() if tasks.load(n).trains]
    outcomes = prove_workers(
        [workers.get(name) for name in chosen],
        [tasks.load(name) for name in wanted],
        device=device,
        threads=threads or machine.usable_cpus(),
    )
    failed = 0
    for outcome in outcomes:
        failed += outcome.verdict is None or not outcome.verdict.same
        _show(outcome)
    return 1 if failed else 0


def _show(outcome: Outcome) -> None:
    print(f"{outcome.worker} on {outcome.task}: {_headline(outcome)} ({outcome.seconds:.0f} s)")
    if outcome.verdict is None:
        return
    for measurement in outcome.verdict.measurements:
        print(f"  {'ok ' if measurement.passed else 'NOT'} {one_line(str(measurement))}")
    for note in outcome.verdict.notes:
        print(f"  {note}")


def _headline(outcome: Outcome) -> str:
    if outcome.verdict is None:
        return f"unproved: {one_line(outcome.reason or '')}"
    if outcome.verdict.unproved:
        return f"unproved: {one_line(outcome.verdict.unproved)}"
    failure = outcome.verdict.first_failure
    return "same network" if failure is None else f"not the same network: {one_line(str(failure))}"
