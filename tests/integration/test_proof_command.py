"""`rosetta prove`, and the proof as the first phase of `rosetta bench`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from integration.conftest import read_steps
from rosetta import datasets, environments, workers
from rosetta.bench import Plan, run
from rosetta.bench.plan import plan_task
from rosetta.bench.progress import PlainReporter
from rosetta.cli.bench import show

WRONG = Path(__file__).parents[1] / "rosetta" / "proof" / "wrong"


@pytest.mark.exhaustive
@pytest.mark.alone
def test_prove_says_what_it_measured(rosetta):
    process = rosetta("prove", "numpy", "torch", "--task", "mlp", "--threads", 1)
    output, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    assert "numpy on mlp: same network" in output
    assert "torch on mlp: same network" in output
    assert output.count("ok  logits: ") == 2
    assert "NOT" not in output


def test_a_worker_that_computes_nothing_is_not_the_same_network(rosetta):
    process = rosetta("prove", "null", "--task", "mlp", "--threads", 1)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "null on mlp: not the same network: logits: 1" in output


def test_nothing_to_prove_is_not_taken_for_proved(rosetta):
    process = rosetta("prove", "opencv-dnn")
    output, complaint = process.communicate(timeout=60)
    assert (process.returncode, output) == (2, "")
    assert complaint == "rosetta: opencv-dnn: no task mlp, cnn, gru: there is resnet50\n"


@pytest.mark.alone
def test_bench_marks_what_it_has_proved(rosetta, tmp_path):
    out = tmp_path / "run"
    process = rosetta(
        *("bench", "--task", "mlp", "--worker", "numpy,torch", "--data", "synthetic"),
        *("--steps", 10, "--threads", 1, "--test-samples", 50, "--out", out),
    )
    output, progress = process.communicate(timeout=150)
    assert process.returncode == 0, progress
    assert output.count("same network") == 2
    rows = json.loads((out / "summary.json").read_text())["rows"]
    assert [row["proof"] for row in rows] == ["same", "same"]
    assert all(row["ratio"] for row in rows)


def bench_of_a_wrong_worker(tmp_path, monkeypatch, **more):
    """A run of `numpy` and of a worker with dropout left out, on a small `cnn`."""
    from rosetta.conformance.small import small

    monkeypatch.setenv("ROSETTA_WRONG", "Adam without bias correction")
    numpy = workers.get("numpy")
    environments.ensure(numpy)
    argv = (sys.executable, "-m", "rosetta_worker", str(WRONG), "--connect", "{connection_file}")
    wrong = msgspec.structs.replace(numpy, argv=argv)
    task = small("mlp")
    data = datasets.load("synthetic", task=task.to_wire())
    sizes = {"epochs": None, "quick": False, "warmup": 1, "block": 2, "test_samples": 20}
    plan = Plan(
        tasks=[plan_task(task, data, seed=1, steps=10, **sizes)],
        workers=[wrong],
        joining=frozenset(),
        out=tmp_path / "run",
        run="test",
        started="now",
        seed=1,
        threads=1,
        device="cpu",
        baseline="numpy",
        **more,
    )
    return run(plan, PlainReporter(Console(stderr=True))), read_steps(tmp_path / "run")


def test_another_network_is_not_timed(tmp_path, monkeypatch):
    summary, steps = bench_of_a_wrong_worker(tmp_path, monkeypatch)
    (row,) = summary.rows
    assert (row.status, row.proof) == ("failed", "different")
    assert row.proof_detail.startswith("change of ")
    assert row.reason == f"not the same network: {row.proof_detail}"
    assert row.samples_per_s is None
    assert not steps


def test_another_network_may_be_timed_but_is_marked(tmp_path, monkeypatch, capsys):
    summary, steps = bench_of_a_wrong_worker(tmp_path, monkeypatch, allow_unproved=True)
    (row,) = summary.rows
    assert (row.status, row.proof, row.ratio) == ("ok", "different", None)
    assert row.samples_per_s > 0
    assert len(steps) == 12
    show(summary, tmp_path)
    assert "not the same network" in capsys.readouterr().out
