"""The real data sets through the whole path."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

SMALL = Path(os.environ.get("ROSETTA_DATA", "")) / "small"

pytestmark = pytest.mark.skipif(
    not os.environ.get("ROSETTA_DATA"), reason="ROSETTA_DATA is not set"
)


def run_on(rosetta, tmp_path, *arguments) -> dict:
    """The summary of a run on the small files."""
    out = tmp_path / "run"
    process = rosetta(
        *("bench", "--no-proof", "--data-dir", SMALL, "--out", out, *arguments),
        ROSETTA_CACHE=str(tmp_path / "cache"),
    )
    _, progress = process.communicate(timeout=280)
    assert process.returncode == 0, progress
    return json.loads((out / "summary.json").read_text())


def test_gru_learns_from_real_reviews(rosetta, tmp_path):
    summary = run_on(
        *(rosetta, tmp_path, "--task", "gru", "--data", "imdb", "--worker", "torch"),
        *("--epochs", 2, "--threads", 2),
    )
    (row,) = summary["rows"]
    assert row["data"] == "imdb (2,000 reviews)"
    assert row["accuracy"] > 0.6  # two classes, 500 test reviews: 0.5 ± 0.022 by chance
    assert any("differs from the published file" in note for note in summary["notes"])


def test_cnn_learns_from_real_images(rosetta, tmp_path):
    summary = run_on(
        *(rosetta, tmp_path, "--task", "cnn", "--data", "cifar10", "--worker", "torch"),
        *("--steps", 90, "--learning-rate", 0.02, "--threads", 2),
    )
    (row,) = summary["rows"]
    assert row["data"] == "cifar10 (2,000 images)"
    assert row["evaluations"][0]["samples"] == 500
    assert row["accuracy"] > 0.17  # ten classes, 500 images: 0.1 ± 0.013 by chance
