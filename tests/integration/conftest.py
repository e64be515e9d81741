"""Real runs: real processes, real sockets, the real command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rosetta import datasets, environments, tasks, workers
from rosetta.bench import Plan, run
from rosetta.bench.plan import plan_task
from rosetta.bench.progress import PlainReporter
from rosetta.coordinator import Deadlines
from rosetta.results import Step, Summary
from rosetta.workers import Worker

CHECKOUT = Path(__file__).parents[2]
ROGUE = Path(__file__).with_name("rogue.py")
MANIFEST = """
name = "rogue"
title = "misbehaves"
language = "python"
status = "living"
tasks = ["mlp"]
argv = [{python!r}, {script!r}, {behaviour!r}, "{{connection_file}}"]
tape_argv = ["{{python}}", "{{tape}}"]

[environment]
kind = "uv"
python = "{version}"
requirements = "requirements.in"
lock = "requirements.lock"
"""

SILENT = """
name = "silent"
title = "never greets"
language = "sh"
status = "living"
tasks = ["mlp"]
argv = ["{program}", "-c", "sleep 600", "{connection_file}"]
tape_argv = ["{program}", "-c", "exit 1", "{tape}"]

[environment]
kind = "program"
program = "sh"
install = "nothing: it is everywhere"
"""


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """The folder of a worker that starts and never says a word: its row is a `timeout`.

    No deadline is so short that a machine can't stand still for longer, and then hear a worker that
    greets within it.
    """
    folder = tmp_path / "workers" / "silent"
    folder.mkdir(parents=True)
    (folder / "worker.toml").write_text(SILENT)
    return folder


@pytest.fixture(scope="session")
def rogues() -> Iterator[list[Worker]]:
    """The misbehaving workers that were made; they share one environment, removed at the end."""
    made: list[Worker] = []
    yield made
    if made:
        environments.remove(made[0])


@pytest.fixture
def rogue(tmp_path: Path, rogues: list[Worker]) -> Callable[[str], Worker]:
    """Makes the worker with a named misbehaviour; it needs nothing in its environment."""

    def make(behaviour: str) -> Worker:
        folder = tmp_path / "workers" / "rogue"
        folder.mkdir(parents=True)
        (folder / "requirements.in").touch()
        (folder / "requirements.lock").touch()
        (folder / "worker.toml").write_text(
            MANIFEST.format(
                python=sys.executable,
                script=str(ROGUE),
                behaviour=behaviour,
                version=f"{sys.version_info.major}.{sys.version_info.minor}",
            )
        )
        worker = workers.read(folder / "worker.toml")[0]
        rogues.append(msgspec.structs.replace(worker, environment_name="rogue"))
        return rogues[-1]

    return make


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., tuple[Summary, list[Step]]]:
    """Runs workers on `mlp` with synthetic data; returns the summary and the recorded steps."""

    def go(*chosen: Worker, steps: int = 4, deadlines: Deadlines | None = None):
        task = tasks.load("mlp")
        data = datasets.load("synthetic", task=task.to_wire())
        options = {"epochs": None, "quick": False, "warmup": 1, "test_samples": 100}
        out = tmp_path / "run"
        plan = Plan(
            tasks=[plan_task(task, data, seed=1, steps=steps, block=2, **options)],
            workers=chosen,
            joining=frozenset(),
            out=out,
            run="test",
            started="now",
            seed=1,
            threads=1,
            device="cpu",
            prove=False,
            baseline=chosen[-1].name,
            deadlines=deadlines or Deadlines(start=30, setup=30, first_step=30, step=30, end=5),
        )
        summary = run(plan, PlainReporter(Console(stderr=True)))
        return summary, read_steps(out)

    return go


def read_steps(directory: Path) -> list[Step]:
    """Every line of a run's `steps.jsonl`, checked against its type."""
    lines = (directory / "steps.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Step) for line in lines]


@pytest.fixture
def rosetta(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command line in an empty folder, without the user's own data directories."""
    started: list[subprocess.Popen[str]] = []
    environment = {k: v for k, v in os.environ.items() if k != "ROSETTA_DATA"}

    def start(*arguments: object, **more: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "rosetta", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, "ROSETTA_HOME": str(CHECKOUT / ".rosetta"), **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
