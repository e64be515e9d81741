"""The whole benchmark: part after part, each kept in `harness.json` as soon as it is there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec

from rosetta import environments, machine, workers
from rosetta.bench import conditions
from rosetta.bench.record import revision
from rosetta.coordinator import WorkerFailureError
from rosetta.environments import EnvironmentUnavailable
from rosetta.errors import UserError
from rosetta.harness import ceiling, memory, overhead, round_trip
from rosetta.harness.companion import CompanionError
from rosetta.harness.extent import FULL, PARTS, QUICK, Extent
from rosetta.harness.goals import goals
from rosetta.harness.peers import AnsweringCarrier, PeerError
from rosetta.harness.ray_peer import NAME as RAY
from rosetta.harness.ray_peer import RayStore
from rosetta.harness.ray_peer import description as ray_description
from rosetta.harness.record import Harness
from rosetta.results import RunDirectory
from rosetta.scratch import ScratchFolder
from rosetta.workers import Worker

FILE = "harness.json"
_DIFFERENT_LOSSES = 1e-3

DEFAULT = "torch"
"""The worker whose environment is made if it isn't there."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Choices:
    """What the command line asks for."""

    out: Path
    run: str
    """Run id."""
    extent: Extent = FULL
    parts: Sequence[str] = PARTS
    workers: Sequence[str] = (DEFAULT,)
    tasks: Sequence[str] = tuple(FULL.overhead)
    threads: int = 1
    seed: int = 1
    ray: bool = False
    """With Ray's object store among the peers."""
    notes: Sequence[str] = ()
    """What a reader of the numbers must know of the machine."""


def run(choices: Choices, say: Say) -> Harness:
    """Measure, and return what is in `harness.json` too; `say` gets lines about what is going on.

    What can't be measured is absent, with the reason, and stops nothing else. Raises UserError
    before anything is started where the choices can't be carried out at all.
    """
    compared = [_comparable(name) for name in choices.workers]
    with ScratchFolder() as scratch, RunDirectory(choices.out) as directory:
        harness = _begun(choices)
        made = _environments(choices, compared, harness, say)
        for part in choices.parts:
            folder = scratch / part
            folder.mkdir()
            _Measuring(choices, harness, directory, folder, made, say).measure(part)
            harness.goals = goals(harness)
            _write(directory.path / FILE, harness)
    return harness


class _Measuring:
    """Measures into a `Harness`."""

    def __init__(
        self,
        choices: Choices,
        harness: Harness,
        directory: RunDirectory,
        scratch: Path,
        made: Mapping[str, Worker],
        say: Say,
    ) -> None:
        self._choices = choices
        self._harness = harness
        self._directory = directory
        self._scratch = scratch
        self._made = made
        """By name, the workers whose environment is there."""
        self._say = say

    def measure(self, part: str) -> None:
        """Measure `part` of `PARTS`."""
        if part == "overhead":
            for name in self._choices.workers:
                if name in self._made:
                    self._overheads(self._made[name])
        elif part == "memory":
            self._memory()
        elif "null" in self._made and part == "ceiling":
            self._ceiling()
        elif "null" in self._made:
            self._round_trip()

    def _overheads(self, worker: Worker) -> None:
        found = self._harness.overhead.setdefault(worker.name, {})
        for task in self._choices.tasks:
            what = f"overhead.{worker.name}.{task}"
            self._say(f"{what}: the worker and a plain script in turns")
            with self._or_absent(what):
                found[task] = overhead.measure(
                    worker,
                    task,
                    self._choices.extent.overhead[task],
                    threads=self._choices.threads,
                    seed=self._choices.seed,
                    directory=self._directory,
                    scratch=self._scratch,
                )
                if found[task].loss_difference > _DIFFERENT_LOSSES:
                    self._harness.notes.append(
                        f"{what}: the losses differ: the two don't train the same network"
                    )

    def _ceiling(self) -> None:
        more: dict[str, Callable[[], AnsweringCarrier]] = {}
        extent = self._choices.extent
        if RAY in self._made:
            most = max(extent.workers)
            more[RAY] = lambda: RayStore(most, self._directory, self._scratch)
        with self._or_absent("ceiling"):
            self._harness.ceiling = ceiling.measure(
                extent.ceiling,
                extent.workers,
                seed=self._choices.seed,
                directory=self._directory,
                scratch=self._scratch,
                more=more,
                say=self._say,
            )

    def _round_trip(self) -> None:
        self._say("round_trip: an empty batch, and a raw ping-pong")
        with self._or_absent("round_trip"):
            self._harness.round_trip = round_trip.measure(
                self._choices.extent.round_trip,
                seed=self._choices.seed,
                directory=self._directory,
                scratch=self._scratch,
            )

    def _memory(self) -> None:
        steps = self._choices.extent.memory_steps
        self._say(f"memory: {steps:,} steps of a null worker")
        with self._or_absent("memory"):
            self._harness.memory_growth_bytes = memory.measure(
                steps, directory=self._directory, scratch=self._scratch
            )
            self._harness.memory_steps = steps

    @contextlib.contextmanager
    def _or_absent(self, what: str) -> Iterator[None]:
        try:
            yield
        except (
            WorkerFailureError,
            CompanionError,
            PeerError,
            memory.MemoryUnknownError,
            UserError,
        ) as error:
            self._harness.absent[what] = str(error)
            self._say(f"{what} is absent: {error}")


def with_environment() -> list[str]:
    """The default worker, and all others with a plain script whose environment is there."""
    return [
        name
        for name in sorted(overhead.scripts(), key=lambda name: (name != DEFAULT, name))
        if name == DEFAULT or environments.status(workers.get(name)).ready
    ]


def _comparable(name: str) -> Worker:
    """The worker, if there is a plain script to compare it with. Raises UserError."""
    worker = workers.get(name)
    overhead.script_of(worker)
    return worker


def _begun(choices: Choices) -> Harness:
    return Harness(
        run=choices.run,
        rosetta=metadata.version("rosetta-bench"),
        revision=revision(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        quick=choices.extent == QUICK,
        threads=choices.threads,
        processors=conditions.processors(choices.threads, "cpu"),
        notes=list(choices.notes),
        machine=machine.describe(),
    )


def _environments(
    choices: Choices, compared: Sequence[Worker], harness: Harness, say: Say
) -> dict[str, Worker]:
    """The workers that are needed and whose environment is there, by name; the rest is absent."""
    needed = list(compared) if "overhead" in choices.parts else []
    if set(choices.parts) - {"overhead"}:
        needed.append(workers.get("null"))
    if choices.ray and "ceiling" in choices.parts:
        needed.append(ray_description())
    elif "ceiling" in choices.parts:
        harness.absent[f"ceiling.peers.{RAY}"] = "not asked for: --ray"
    there = {worker.name: worker for worker in needed}
    for name, made in environments.ensure_all(needed, say).items():
        if isinstance(made, EnvironmentUnavailable):
            del there[name]
            what = f"ceiling.peers.{RAY}" if name == RAY else name
            harness.absent[what] = str(made)
            say(f"{what} is absent: {made}")
    return there


def _write(file: Path, harness: Harness) -> None:
    """A reader finds the old content or the new one, never half of it. Raises UserError."""
    temporary = file.with_name(f".{file.name}.part")
    try:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(harness), indent=2) + b"\n")
        temporary.replace(file)
    except OSError as error:
        raise UserError(f"can't write {file}: {error}") from error
