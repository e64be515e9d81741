"""How far an incomplete run has come, from its steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canned_results import summary
from rosetta.report import under_way
from rosetta.results import RunDirectory, Step


def step(worker: str, number: int, task: str = "mlp", **more: Any) -> Step:
    times = {"wait_ns": 1, "copy_ns": 1, "step_ns": 1}
    return Step(
        task=task, worker=worker, step=number, phase="timed", block=0, loss=1.0, **times, **more
    )


def written(folder: Path, *steps: Step) -> Path:
    with RunDirectory(folder) as directory:
        for one in steps:
            directory.add_step(one)
    return folder


def test_the_steps_of_the_task_that_is_missing_are_counted(tmp_path: Path) -> None:
    steps = [step("numpy", 7, task="gru"), step("numpy", 0), step("torch", 0), step("numpy", 1)]
    run = written(tmp_path / "run", *steps)
    running = summary(state="running", missing=["mlp", "cnn"])
    assert under_way(run, running) == ["mlp: numpy 2 steps, torch 1 steps so far"]
    assert under_way(run, summary(state="running", missing=["cnn"])) == []
    assert under_way(run, summary()) == []


def test_only_the_last_attempt_counts(tmp_path: Path) -> None:
    run = written(tmp_path / "run", step("numpy", 9), step("numpy", 3, attempt=2))
    stopped = summary(state="interrupted", missing=["mlp"])
    assert under_way(run, stopped) == ["mlp: numpy 4 steps so far"]


def test_a_line_that_is_being_written_is_passed_over(tmp_path: Path) -> None:
    run = written(tmp_path / "run", step("numpy", 0))
    with (run / "steps.jsonl").open("a") as file:
        file.write('{"task": "mlp", "wor')
    assert under_way(run, summary(state="running", missing=["mlp"])) == [
        "mlp: numpy 1 steps so far"
    ]
    assert under_way(tmp_path / "nothing", summary(state="running", missing=["mlp"])) == []
