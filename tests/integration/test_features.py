"""`rosetta bench --task resnet50`: features of images, timed and written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

import rosetta_reference
from integration.conftest import read_steps
from rosetta import datasets, tasks

QUICK = ("--threads", 1, "--batch-size", 2, "--steps", 1, "--warmup", 0, "--no-proof")


def test_features_of_a_folder_with_ones_own_weights(rosetta, tmp_path):
    """Of every image, in the order of the names; the batches' last one is smaller."""
    folder = tmp_path / "images"
    folder.mkdir()
    random = np.random.default_rng(0)
    for name in ("c.png", "a.jpg", "b.png"):
        pixels = random.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name)
    task = tasks.load("resnet50")
    weights = tasks.initial_parameters(task, 7)
    save_file(weights, tmp_path / "w.safetensors")
    process = rosetta(
        *("bench", "--task", "resnet50", "--worker", "numpy", *QUICK, "--out", tmp_path / "run"),
        *("--images", folder, "--weights", tmp_path / "w.safetensors"),
        *("--features", tmp_path / "out.npz"),
    )
    output, complaint = process.communicate(timeout=240)
    assert process.returncode == 0, complaint
    found = np.load(tmp_path / "out.npz")
    assert list(found["files"]) == ["a.jpg", "b.png", "c.png"]
    inputs = datasets.images.load(folder, task.to_wire()).train.inputs
    expected = rosetta_reference.Network(task.to_wire(), weights, np.float64).predict(inputs)
    assert found["numpy"].shape == (3, 2048)
    np.testing.assert_allclose(found["numpy"], expected, atol=2e-6 * expected.max())

    (row,) = json.loads((tmp_path / "run" / "summary.json").read_bytes())["rows"]
    assert (row["status"], row["forward_only"], row["data"]) == ("ok", True, "images")
    assert (row["accuracy"], row["final_loss"], row["batch_size"]) == (None, None, 2)
    assert row["samples_per_s"] == pytest.approx(2e9 / row["step_ns_median"], rel=0.2)
    assert [step.loss for step in read_steps(tmp_path / "run")] == [None, None]
    assert "s per 1000 images" in output and "accuracy" not in output


@pytest.mark.exhaustive
def test_both_planes_carry_the_weights(rosetta, tmp_path):
    """102 MB of them: in shared memory once, or as frames. The features are the same."""
    found = {}
    for plane in ("shm", "inline"):
        process = rosetta(
            *("bench", "--task", "resnet50", "--worker", "torch,numpy", *QUICK, "--plane", plane),
            *("--data", "synthetic", "--out", tmp_path / plane),
            *("--steps", 2, "--batch-size", 1, "--features", tmp_path / f"{plane}.npz"),
            *("--images", make_images(tmp_path)),
        )
        _, complaint = process.communicate(timeout=280)
        assert process.returncode == 0, complaint
        found[plane] = np.load(tmp_path / f"{plane}.npz")
    for name in ("numpy", "torch"):
        np.testing.assert_array_equal(found["shm"][name], found["inline"][name])
    close = 4e-6 * found["shm"]["numpy"].max()
    np.testing.assert_allclose(found["shm"]["torch"], found["shm"]["numpy"], atol=close)


def make_images(tmp_path):
    folder = tmp_path / "few"
    folder.mkdir(exist_ok=True)
    Image.fromarray(np.full((50, 50, 3), 90, np.uint8)).save(folder / "one.png")
    return folder


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--task", "mlp", "--features", "f.npz"), "--features is for tasks that go forward only"),
        (("--task", "mlp", "--weights", "w"), "add --task resnet50"),
        (("--task", "resnet50", "--epochs", 1), "resnet50 goes forward only and has no epochs"),
        (("--task", "resnet50", "--images", "absent"), "--images absent: No such file"),
        (("--task", "resnet50", "--weights", "absent"), "--weights absent: not a readable"),
        (("--task", "resnet50", "--features", "no/f.npz"), "--features no/f.npz: no folder no"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_started(rosetta, tmp_path, arguments, complaint):
    process = rosetta("bench", "--worker", "numpy", *arguments, "--out", tmp_path / "run")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert complaint in errors
    assert len(errors.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()
    assert output == ""
