"""The file of features: whole or not there, and never poorer than it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rosetta import tasks
from rosetta.bench.features import FeatureFile, check_target
from rosetta.coordinator import WorkerFailureError
from rosetta.errors import UserError

TASK = tasks.load("resnet50").override(batch_size=2)
NAMES = ["a.png", "b.png", "c.png"]
IMAGES = np.zeros((3, 3, 4, 4), np.float32)


def session(name: str, value: float = 1.0) -> SimpleNamespace:
    """Stands for a worker's session, of which only this is asked."""

    def predict(chunks: Iterator[np.ndarray], outputs: int) -> Iterator[np.ndarray]:
        return (np.full((len(chunk), outputs), value, np.float32) for chunk in chunks)

    return SimpleNamespace(name=name, predict=predict)


def test_all_images_of_every_worker_under_its_name(tmp_path: Path) -> None:
    """Even one that is called like a parameter of NumPy's function."""
    features = FeatureFile(tmp_path / "f.npz", NAMES, "run")
    features.extract(session("numpy"), TASK, IMAGES)
    features.extract(session("file", 2), TASK, IMAGES)
    features.write()
    found = np.load(tmp_path / "f.npz")
    assert sorted(found.files) == ["file", "files", "numpy"]
    assert list(found["files"]) == NAMES
    np.testing.assert_array_equal(found["file"], np.full((3, 2048), 2))
    assert [path.name for path in tmp_path.iterdir()] == ["f.npz"]


def test_nothing_extracted_is_nothing_written(tmp_path: Path) -> None:
    (tmp_path / "f.npz").write_bytes(b"of another run")
    FeatureFile(tmp_path / "f.npz", NAMES, "run").write()
    assert (tmp_path / "f.npz").read_bytes() == b"of another run"


def test_a_resumed_run_adds_to_what_is_there(tmp_path: Path) -> None:
    before = FeatureFile(tmp_path / "f.npz", NAMES, "run")
    before.extract(session("numpy"), TASK, IMAGES)
    before.write()
    now = FeatureFile(tmp_path / "f.npz", NAMES, "run", resume=True)
    now.extract(session("torch"), TASK, IMAGES)
    now.write()
    assert sorted(np.load(tmp_path / "f.npz").files) == ["files", "numpy", "torch"]


@pytest.mark.parametrize("content", [None, b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_what_can_not_be_gone_on_with_is_begun_anew(tmp_path: Path, content) -> None:
    if content is not None:
        (tmp_path / "f.npz").write_bytes(content)
    now = FeatureFile(tmp_path / "f.npz", NAMES, "run", resume=True)
    now.extract(session("torch"), TASK, IMAGES)
    now.write()
    assert sorted(np.load(tmp_path / "f.npz").files) == ["files", "torch"]


def test_features_of_another_run_are_not_mixed_with_these(tmp_path: Path) -> None:
    """They may be of other weights."""
    other = FeatureFile(tmp_path / "f.npz", NAMES, "another")
    other.extract(session("numpy"), TASK, IMAGES)
    other.write()
    now = FeatureFile(tmp_path / "f.npz", NAMES, "run", resume=True)
    now.extract(session("torch"), TASK, IMAGES)
    now.write()
    assert sorted(np.load(tmp_path / "f.npz").files) == ["files", "torch"]


def test_features_that_are_no_numbers_are_a_failure(tmp_path: Path) -> None:
    features = FeatureFile(tmp_path / "f.npz", NAMES, "run")
    with pytest.raises(WorkerFailureError, match="aren't finite"):
        features.extract(session("numpy", np.nan), TASK, IMAGES)


def test_no_space_leaves_what_was_there(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "f.npz").write_bytes(b"of another run")
    features = FeatureFile(tmp_path / "f.npz", NAMES, "run")
    features.extract(session("numpy"), TASK, IMAGES)
    (tmp_path / ".f.npz.part").symlink_to("/dev/full")
    with pytest.raises(UserError, match=r"--features .*: No space left"):
        features.write()
    assert (tmp_path / "f.npz").read_bytes() == b"of another run"


@pytest.mark.parametrize("path", ["absent/f.npz", ".", "fifo", "/dev/full"])
def test_a_place_that_takes_no_file_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch, path
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with pytest.raises(UserError, match=f"--features {path}: "):
        check_target(Path(path))
