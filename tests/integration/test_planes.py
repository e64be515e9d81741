"""Whichever way the batches come, they are the same batches."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("task", ["mlp", pytest.param("gru", marks=pytest.mark.exhaustive)])
def test_both_planes_give_the_same_losses_and_accuracy(rosetta, tmp_path, task):
    """The numpy worker, which computes bit by bit the same."""
    found = {}
    for plane in ("shm", "inline"):
        process = rosetta(
            *("bench", "--task", task, "--worker", "numpy", "--data", "synthetic", "--no-proof"),
            *("--steps", 3, "--warmup", 1, "--threads", 1, "--test-samples", 128),
            *("--plane", plane, "--out", tmp_path / plane),
        )
        _, complaint = process.communicate(timeout=100)
        assert process.returncode == 0, complaint
        (row,) = json.loads((tmp_path / plane / "summary.json").read_text())["rows"]
        assert row["plane"] == plane
        lines = (tmp_path / plane / "steps.jsonl").read_text().splitlines()
        found[plane] = [json.loads(line)["loss"] for line in lines], row["accuracy"]
    assert found["shm"] == found["inline"]
