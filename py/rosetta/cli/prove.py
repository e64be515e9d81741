"""`rosetta prove`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from rosetta import machine, tasks, workers
from rosetta.bench.proving import Outcome, prove_workers
from rosetta.cli import as_json, completion, options
from rosetta.errors import UserError, one_line
from rosetta.proof import Verdict


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Workers [all frameworks]", autocompletion=completion.workers),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Task; repeat or separate with commas [all that train]",
            autocompletion=completion.tasks,
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a worker")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
    json: as_json.Option = False,
) -> int:
    """Prove that the workers train the same network as the float64 reference.

    Exit code 0 only if every worker is the same network on every task.

    --json prints a list of {worker, task, proof (same, different, unproved), detail, duration_ns,
    measurements (quantity, deviation, tolerance, passed), notes}.
    """
    found = workers.catalogue()
    chosen = options.split(names) or [n for n, w in found.items() if not w.harness and w.default]
    wanted = options.split(task) or [n for n in tasks.names() if tasks.load(n).trains]
    asked = [workers.get(name) for name in chosen]
    if not any(name in worker.tasks for worker in asked for name in wanted):
        able = sorted({name for worker in asked for name in worker.tasks})
        raise UserError(
            f"{', '.join(chosen)}: no task {', '.join(wanted)}: there is {', '.join(able)}"
        )
    outcomes = prove_workers(
        asked,
        [tasks.load(name) for name in wanted],
        device=device,
        threads=threads or machine.usable_cpus(),
    )
    done = []
    for outcome in outcomes:
        done.append(outcome)
        if not json:
            _show(outcome)
    if json:
        as_json.write([_plain(outcome) for outcome in done])
    return 0 if all(outcome.verdict and outcome.verdict.same for outcome in done) else 1


def _plain(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict or Verdict(unproved=outcome.reason or "")
    unproved = verdict.unproved is not None
    return {
        "worker": outcome.worker,
        "task": outcome.task,
        "proof": "unproved" if unproved else "same" if verdict.same else "different",
        "detail": verdict.unproved
        if unproved
        else verdict.first_failure and str(verdict.first_failure),
        "duration_ns": round(outcome.seconds * 1e9),
        "measurements": [
            {**asdict(measurement), "passed": measurement.passed}
            for measurement in verdict.measurements
        ],
        "notes": verdict.notes,
    }


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
