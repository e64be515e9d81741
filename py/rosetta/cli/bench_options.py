"""What `rosetta bench` is asked, as `run.json` keeps it, and the plan that follows from it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from rosetta import doctor, machine, tasks, workers
from rosetta.bench import Plan, conditions
from rosetta.bench.features import check_target
from rosetta.bench.plan import plan_task
from rosetta.bench.resume import Earlier
from rosetta.bench.schedule import Schedule
from rosetta.cli import options
from rosetta.coordinator import Deadlines, Plane
from rosetta.datasets import images
from rosetta.errors import UserError
from rosetta.results.directory import new_run_id
from rosetta.tasks import Task
from rosetta.tasks.weights import read_weights
from rosetta.workers import Worker

DEADLINES = Deadlines()
REFERENCE = "numpy"
"""The worker that comes first by default, so that ratios refer to it: every machine has it."""
_FORWARD_ONLY = ("images", "weights", "features")
"""Options for tasks that go forward only."""
EVERY = "all"
"""Stands for every framework, also those that aren't in the default set."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one call; see `bench.command` for what each means."""

    task: list[str] | None
    worker: list[str] | None
    quick: bool
    steps: int | None
    epochs: int | None
    data: str
    data_dir: list[str] | None
    download: bool
    batch_size: int | None
    learning_rate: float | None
    seed: int
    threads: int | None
    device: str
    warmup: int | None
    schedule: Schedule
    repeats: int
    block: int | None
    credit: int | None
    test_samples: int | None
    proof: bool
    allow_unproved: bool
    baseline: str | None
    join: list[str] | None
    bind: str | None
    plane: Plane
    encrypt: bool
    out: Path | None
    start_deadline: float
    step_deadline: float
    images: Path | None = None
    weights: Path | None = None
    features: Path | None = None


def recorded(earlier: Earlier) -> Options:
    """What the run was asked when it was begun. Raises UserError where that can't be read."""
    try:
        return msgspec.convert(
            {
                **earlier.run.options,
                # What all frameworks were then; a path stays the word that was typed.
                "worker": earlier.run.options.get("worker") or list(earlier.run.workers),
                "out": earlier.path,
            },
            Options,
            dec_hook=lambda kind, value: kind(value),  # a path is text in JSON
        )
    except msgspec.ValidationError as error:
        sentence = f"the options in {earlier.path / 'run.json'} are another version's"
        raise UserError(f"{sentence}: {error}") from error


def plan(asked: Options, note: Callable[[str], None], earlier: Earlier | None = None) -> Plan:
    """The plan of a run, its data loaded; `note` receives what is said meanwhile.

    With `earlier` it is that run's, which goes on. Raises UserError.
    """
    if asked.steps is not None and asked.epochs is not None:
        raise UserError("--steps and --epochs exclude each other: give one of them")
    chosen = chosen_workers(asked.worker, asked.join)
    source = options.DataOptions(asked.data, asked.data_dir, asked.download, asked.seed)
    planned, notes = [], []
    names = _tasks(asked.task, chosen)
    _check_forward_only(asked, names)
    for name in names:
        definition = _definition(asked, name)
        if asked.images and not definition.trains:
            dataset = images.load(asked.images, definition.to_wire())
        else:
            dataset, said = source.load(definition, note)
            notes += said
        planned.append(
            plan_task(
                definition,
                dataset,
                seed=asked.seed,
                steps=asked.steps,
                epochs=asked.epochs,
                quick=asked.quick,
                warmup=asked.warmup,
                block=asked.block,
                test_samples=asked.test_samples,
                weights=_weights(asked, definition),
            )
        )
    identity = earlier.run.run if earlier else new_run_id()
    threads = asked.threads or machine.usable_cpus()
    return Plan(
        tasks=planned,
        workers=chosen,
        joining=frozenset(workers.get(word).name for word in options.split(asked.join)),
        out=asked.out or Path("runs") / identity,
        run=identity,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=asked.seed,
        threads=threads,
        device=asked.device,
        schedule=asked.schedule,
        repeats=asked.repeats,
        credit=asked.credit,
        bind=asked.bind,
        encrypt=asked.encrypt,
        plane=asked.plane,
        baseline=baseline(asked.baseline, chosen),
        deadlines=_deadlines(asked.start_deadline, asked.step_deadline),
        prove=asked.proof,
        allow_unproved=asked.allow_unproved,
        features=asked.features,
        earlier=earlier,
        warnings=[*conditions.warnings(threads), *_load_warnings()],
        notes=notes,
        options={name: _recorded(asked, name) for name in asked.__struct_fields__},
        command=[options.printable(word) for word in sys.argv],
    )


def _definition(asked: Options, name: str) -> Task:
    """The task, with the hyper-parameters that were asked for."""
    task = tasks.load(name)
    quick = task.bench.batch_size if asked.quick else None
    return task.override(
        batch_size=asked.batch_size or quick,
        epochs=asked.epochs,
        learning_rate=asked.learning_rate,
    )


def _weights(asked: Options, task: Task) -> dict[str, NDArray[np.float32]] | None:
    """The user's own, for a task that goes forward only."""
    if asked.weights is None or task.trains:
        return None
    return read_weights(asked.weights, task)


def _check_forward_only(asked: Options, names: list[str]) -> None:
    """Raise UserError for options that no task has a use for, and where nothing can be written."""
    if asked.features is not None:
        check_target(asked.features)
    if any(not tasks.load(name).trains for name in names):
        return
    for option in _FORWARD_ONLY:
        if getattr(asked, option) is not None:
            one = next(name for name in tasks.names() if not tasks.load(name).trains)
            raise UserError(f"--{option} is for tasks that go forward only: add --task {one}")


def _recorded(asked: Options, name: str) -> Any:
    """An option as `run.json` keeps it; what --resume reads or writes again from wherever it is."""
    value = getattr(asked, name)
    if isinstance(value, Path) and name in _FORWARD_ONLY:
        value = value.absolute()
    return options.printable(value) if isinstance(value, str | Path) else value


def _tasks(asked: list[str] | None, chosen: list[Worker]) -> list[str]:
    names = options.split(asked)
    if names or asked:
        return names or _nothing("--task", asked)
    able = {name for worker in chosen for name in worker.tasks}
    found = [name for name in tasks.names() if name in able and tasks.load(name).trains]
    if not found and able:
        raise UserError(f"these workers train nothing: add --task {','.join(sorted(able))}")
    return found


def chosen_workers(asked: list[str] | None, join: list[str] | None) -> list[Worker]:
    """Those that were named, or all of the default set; and those that somebody starts by hand.

    `all` stands for every framework that there is.
    """
    names = options.split(asked)
    if asked and not names:
        _nothing("--worker", asked)
    if not names or EVERY in names:
        names = [name for name in names if name != EVERY] + _frameworks(every=bool(names))
        names.sort(key=lambda name: name != REFERENCE)
    chosen: dict[str, Worker] = {}
    for word in names + options.split(join):
        worker = workers.get(word)
        other = chosen.setdefault(worker.name, worker)
        if other.folder != worker.folder:
            raise UserError(
                f"two workers are called {worker.name}: {other.folder} and {worker.folder}"
            )
    return list(chosen.values())


def _frameworks(*, every: bool) -> list[str]:
    """Those of the default set, or `every` one."""
    found = workers.catalogue().items()
    return [name for name, one in found if not one.harness and (every or one.default)]


def _nothing(option: str, asked: list[str] | None) -> NoReturn:
    raise UserError(f"{option} {','.join(asked or [])!r} names nothing: leave it out for all")


def baseline(asked: str | None, chosen: list[Worker]) -> str | None:
    """The worker that ratios refer to. Raises UserError where it isn't one of the `chosen`."""
    names = [worker.name for worker in chosen if not worker.harness]
    if asked is not None and "/" in asked:
        asked = workers.get(asked).name
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
