"""A user's own weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from rosetta import tasks
from rosetta.conformance.small import small
from rosetta.errors import UserError
from rosetta.tasks.weights import read_weights

TASK = small("resnet50")


@pytest.fixture
def weights() -> dict[str, np.ndarray]:
    return dict(tasks.initial_parameters(TASK, 5))


def test_they_come_back_in_the_tasks_order(tmp_path: Path, weights) -> None:
    """With what torchvision's files have beside them."""
    beside = {"fc.weight": np.zeros((10, 128)), "fc.bias": np.zeros(10)}
    beside["bn1.num_batches_tracked"] = np.array(7)
    save_file({**weights, **beside}, tmp_path / "w.safetensors")
    found = read_weights(tmp_path / "w.safetensors", TASK)
    assert list(found) == [parameter.name for parameter in TASK.parameters]
    for name, values in weights.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats_become_float32(tmp_path: Path, weights, dtype) -> None:
    save_file({n: v.astype(dtype) for n, v in weights.items()}, tmp_path / "w.safetensors")
    found = read_weights(tmp_path / "w.safetensors", TASK)
    name = "layer4.2.conv3.weight"
    np.testing.assert_array_equal(found[name], weights[name].astype(dtype).astype(np.float32))


def without(name):
    return lambda weights: weights.pop(name)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without("bn1.bias"), "bn1.bias missing: resnet50 has torchvision's names"),
        (lambda w: w.clear() or w.update(a=np.ones(1, "f4")), "bn1.bias and 264 more missing"),
        (lambda w: w.update({"layer5.0.conv1.weight": np.ones(1)}), "no layer5.0.conv1.weight"),
        (lambda w: w.update({"bn1.bias": np.ones(5)}), r"bn1.bias is float64 \(5,\), not float32"),
        (lambda w: w.update({"bn1.bias": np.ones(4, int)}), r"bn1.bias is int64 \(4,\), not"),
        (lambda w: w["bn1.bias"].fill(np.nan), "bn1.bias isn't finite everywhere"),
        (lambda w: w.update({"bn1.bias": np.full(4, 1e300)}), "bn1.bias isn't finite everywhere"),
        (lambda w: w["bn1.running_var"].fill(-1), "bn1.running_var is a variance, and negative"),
    ],
)
def test_another_network_is_refused(tmp_path: Path, weights, change, complaint) -> None:
    change(weights)
    file = tmp_path / "w.safetensors"
    save_file(weights, file)
    with pytest.raises(UserError, match=f"--weights {file}: .*{complaint}"):
        read_weights(file, TASK)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is a folder: name the \.safetensors file in it"):
        read_weights(tmp_path, TASK)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a pickle", b"\xff" * 100, None])
def test_what_is_no_safetensors_file_is_one_line(tmp_path: Path, content) -> None:
    file = tmp_path / "w.safetensors"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match="not a readable safetensors file") as caught:
        read_weights(file, TASK)
    assert "\n" not in str(caught.value)
