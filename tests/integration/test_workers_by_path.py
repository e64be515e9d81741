"""A worker in a folder of the user's own is named by its path, wherever a worker is named."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from integration.observe import eventually, steps_in
from rosetta.results import read_summary

CHECKOUT = Path(__file__).parents[2]
ASKED = ("--no-proof", "--task", "mlp", "--steps", 4, "--data", "synthetic", "--threads", 1)


@pytest.fixture
def mine(tmp_path):
    """The worker `mine`: the `numpy` worker's code under another name."""
    folder = tmp_path / "workers" / "mine"
    shutil.copytree(CHECKOUT / "py" / "workers" / "numpy", folder)
    file = folder / "worker.toml"
    file.write_text(file.read_text().replace('name = "numpy"', 'name = "mine"'))
    return folder


@pytest.fixture
def home(tmp_path):
    """Environments of its own, so that the checkout's stay as they are."""
    return {"ROSETTA_HOME": str(tmp_path / "home")}


@pytest.mark.exhaustive
def test_it_can_be_the_baseline(rosetta, mine, home, tmp_path):
    process = rosetta(
        *("bench", *ASKED, "--worker", f"numpy,{mine}", "--baseline", mine),
        *("--out", tmp_path / "run"),
        **home,
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    summary = read_summary(tmp_path / "run")
    assert summary.baseline == "mine"
    assert [(row.worker, row.status) for row in summary.rows] == [("numpy", "ok"), ("mine", "ok")]


@pytest.mark.exhaustive
def test_it_can_be_started_by_hand(rosetta, mine, home, tmp_path):
    """With the command that the run prints."""
    run = tmp_path / "run"
    bench = rosetta("bench", *ASKED, "--worker", mine, "--join", mine, "--out", run, **home)
    file = run / "mine.mlp.connection.json"
    assert eventually(file.exists, 60), bench.communicate()[1]
    worker = rosetta("worker", mine, "--connect", file, **home)
    _, said = bench.communicate(timeout=120)
    assert bench.returncode == 0, said
    assert f"rosetta worker {mine} --connect {file}" in said
    worker.communicate(timeout=30)


@pytest.mark.exhaustive
def test_a_run_with_it_can_be_gone_on_with(rosetta, mine, home, tmp_path):
    run = tmp_path / "run"
    process = rosetta(
        *("bench", "--no-proof", "--task", "mlp,gru", "--steps", 40, "--data", "synthetic"),
        *("--threads", 1, "--worker", mine, "--out", run),
        **home,
    )
    assert eventually(lambda: steps_in(run) > 0, 60), process.communicate()[1]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert read_summary(run).state == "interrupted"
    process = rosetta("bench", "--resume", run, **home)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert {row.status for row in read_summary(run).rows} == {"ok"}


def test_two_of_one_name_are_refused(rosetta, mine, home, tmp_path):
    other = tmp_path / "other" / "mine"
    shutil.copytree(mine, other)
    process = rosetta("bench", *ASKED, "--worker", f"{mine},{other}", **home)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors == f"rosetta: two workers are called mine: {mine} and {other}\n"
