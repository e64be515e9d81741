"""A run of features that was interrupted, and is gone on with from another folder."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

from integration.observe import eventually, steps_in
from rosetta import tasks

pytestmark = pytest.mark.exhaustive


def test_it_goes_on_with_the_same_images_and_weights(rosetta, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("a.png", "b.png"):
        Image.fromarray(np.full((40, 40, 3), 99, np.uint8)).save(folder / name)
    weights = tasks.initial_parameters(tasks.load("resnet50"), 3)
    save_file(weights, tmp_path / "w.safetensors")
    run = tmp_path / "run"
    process = rosetta(
        *("bench", "--task", "resnet50", "--worker", "numpy", "--threads", 1, "--no-proof"),
        *("--batch-size", 1, "--steps", 500, "--warmup", 0, "--images", folder, "--out", run),
        *("--weights", tmp_path / "w.safetensors", "--features", tmp_path / "f.npz"),
    )
    assert eventually(lambda: steps_in(run) > 0, 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (tmp_path / "f.npz").exists()

    record = json.loads((run / "run.json").read_text())
    assert record["options"]["images"] == str(folder)
    assert len(record["tasks"]["resnet50"]["weights_sha256"]) == 64
    record["options"]["steps"] = 1  # or the test would take minutes
    record["tasks"]["resnet50"] |= {"steps": 2, "block": 1}
    (run / "run.json").write_text(json.dumps(record))
    again = rosetta("bench", "--resume", run)
    _, complaint = again.communicate(timeout=120)
    assert again.returncode == 0, complaint
    assert np.load(tmp_path / "f.npz")["numpy"].shape == (2, 2048)


def test_other_weights_are_another_run(rosetta, tmp_path):
    weights = tasks.initial_parameters(tasks.load("resnet50"), 3)
    save_file(weights, tmp_path / "w.safetensors")
    run = tmp_path / "run"
    process = rosetta(
        *("bench", "--task", "resnet50", "--worker", "numpy", "--threads", 1, "--no-proof"),
        *("--batch-size", 1, "--steps", 500, "--warmup", 0, "--data", "synthetic", "--out", run),
        *("--weights", tmp_path / "w.safetensors"),
    )
    assert eventually(lambda: steps_in(run) > 0, 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    weights["conv1.weight"] *= 2
    save_file(weights, tmp_path / "w.safetensors")
    again = rosetta("bench", "--resume", run)
    _, complaint = again.communicate(timeout=60)
    assert again.returncode == 2
    assert "task resnet50 is another one now; begin a new run" in complaint
