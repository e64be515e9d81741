"""`rosetta bench` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from rosetta.results import Step

SCHEMAS = Path(__file__).parents[2] / "protocol" / "schema" / "results"
TINY = (
    "--no-proof",
    "--steps",
    12,
    "--warmup",
    2,
    "--block",
    4,
    "--test-samples",
    200,
    "--data",
    "synthetic",
)


@pytest.fixture
def finished(rosetta, tmp_path):
    """Runs `rosetta bench` to its end; returns (exit code, standard output, standard error)."""

    def go(*arguments):
        process = rosetta("bench", *TINY, "--out", tmp_path / "run", *arguments)
        output, complaints = process.communicate(timeout=200)
        return process.returncode, output, complaints

    return go


@pytest.mark.alone
def test_two_frameworks_train_the_same_network(finished, tmp_path):
    code, output, progress = finished("--task", "mlp,gru", "--worker", "numpy,torch")
    assert code == 0, progress
    run = tmp_path / "run"
    summary = check(run, "summary")
    rows = {(row["task"], row["worker"]): row for row in summary["rows"]}
    assert list(rows) == [(t, w) for t in ("mlp", "gru") for w in ("numpy", "torch")]
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert all(row["timed_steps"] == 12 and row["steps"] == 15 for row in rows.values())
    assert summary["state"] == "complete"

    steps = [msgspec.json.decode(line, type=Step) for line in open_lines(run)]
    for task in ("mlp", "gru"):
        numpy, torch = ([s for s in steps if (s.task, s.worker) == (task, w)] for w in WORKERS)
        assert [s.step for s in numpy] == [s.step for s in torch] == list(range(15))
        assert [s.loss for s in numpy] == pytest.approx([s.loss for s in torch], rel=1e-5)
        assert [s.phase for s in numpy] == ["first", "warmup", "warmup"] + ["timed"] * 12
        for step in numpy + torch:  # both tell the parts of a step; the rest is the update
            assert 0 < step.forward_ns + step.backward_ns < step.step_ns

    assert "mlp: step 15/15, loss" not in progress  # a line names the worker, not the task
    assert "torch: step 15/15, loss" in progress
    assert "synthetic" in output
    assert "synthetic data" in (run / "summary.md").read_text()
    assert {path.name for path in (run / "logs").iterdir()} == {"numpy.log", "torch.log"}
    assert not list(run.glob("*connection*"))


def test_the_run_says_how_to_repeat_it(finished, tmp_path):
    code, _, _ = finished("--task", "mlp", "--worker", "null", "--batch-size", 32, "--seed", 7)
    assert code == 0
    run = check(tmp_path / "run", "run")
    assert run["options"]["seed"] == 7
    assert run["tasks"]["mlp"]["content"]["training"]["batch_size"] == 32
    assert len(run["tasks"]["mlp"]["sha256"]) == 64
    assert run["data"]["mlp"]["kind"] == "synthetic"
    assert len(run["workers"]["null"]["lock_sha256"]) == 64
    hello = run["workers"]["null"]["hello"]
    assert hello["versions"]["numpy"]
    assert "key" not in hello
    assert run["environment"]["OMP_WAIT_POLICY"] == "PASSIVE"
    assert run["machine"]["logical_cores"] >= 1


def test_the_same_seed_gives_the_same_losses(rosetta, tmp_path):
    losses = []
    for name in ("a", "b"):
        out = tmp_path / name
        code = rosetta("bench", *TINY, "--task", "mlp", "--worker", "numpy", "--out", out).wait(100)
        assert code == 0
        losses.append([json.loads(line)["loss"] for line in open_lines(out)])
    assert losses[0] == losses[1]


def test_epochs_are_examined_one_by_one(rosetta, tmp_path):
    out = tmp_path / "run"
    command = ("bench", "--task", "mlp", "--worker", "numpy", "--epochs", 2, "--data", "synthetic")
    assert rosetta(*command, "--no-proof", "--batch-size", 500, "--out", out).wait(100) == 0
    (row,) = check(out, "summary")["rows"]
    assert [e["after_step"] for e in row["evaluations"]] == [20, 40]
    assert [e["samples"] for e in row["evaluations"]] == [2000, 2000]
    assert row["accuracy"] == row["evaluations"][-1]["accuracy"] > 0.5  # ten classes


def test_a_worker_without_the_task_is_skipped(finished, tmp_path):
    code, _, _ = finished("--task", "resnet50,mlp", "--worker", "null", "--batch-size", 8)
    assert code == 0
    rows = check(tmp_path / "run", "summary")["rows"]
    assert [row["status"] for row in rows] == ["skipped", "ok"]
    assert "has no task resnet50" in rows[0]["reason"]


WORKERS = ("numpy", "torch")


def open_lines(run: Path) -> list[str]:
    return (run / "steps.jsonl").read_text().splitlines()


def check(run: Path, name: str) -> dict:
    """Content of a run's file, checked against its schema."""
    content = json.loads((run / f"{name}.json").read_text())
    jsonschema.validate(content, json.loads((SCHEMAS / f"{name}.json").read_text()))
    return content
