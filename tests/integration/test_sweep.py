"""`rosetta sweep`: real runs at every combination."""

from __future__ import annotations

import json
import os
import signal

import psutil
import pytest

from integration.observe import eventually, steps_in
from rosetta.results import read_summary

ASKED = ("--no-proof", "--task", "mlp", "--worker", "null", "--steps", 5, "--data", "synthetic")


def test_every_combination_is_a_run_and_a_column(rosetta, tmp_path):
    process = rosetta(
        *("sweep", "--batch-size", "8,16", "--threads", "1,2", *ASKED, "--out", tmp_path / "s")
    )
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    found = {}
    assert "<h1>Sweep s</h1>" in (tmp_path / "s" / "report.html").read_text("utf-8")
    for run in (path for path in (tmp_path / "s").iterdir() if path.is_dir()):
        (row,) = read_summary(run).rows
        found[run.name] = (row.batch_size, row.threads, row.status)
    assert found == {
        f"batch_{size}-{threads}_thread{'s' * (threads > 1)}": (size, threads, "ok")
        for size in (8, 16)
        for threads in (1, 2)
    }
    for words in ("batch 8, 1 thread ", "batch 16, 2 threads", "samples/s"):
        assert words in output
    assert "sweep: batch 16, 2 threads (4 of 4)" in errors


@pytest.mark.exhaustive
def test_a_run_that_ends_badly_does_not_stop_the_others(rosetta, silent, tmp_path):
    asked = [word if word != "null" else silent for word in ASKED]
    more = ("--start-deadline", 0.5, "--out", tmp_path / "s")
    process = rosetta("sweep", "--threads", "1,2", *asked, *more)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert [line.split() for line in output.splitlines()].count(
        ["silent", "timeout", "timeout"]
    ) == 1


def test_what_was_done_is_shown_when_it_is_interrupted(rosetta, tmp_path):
    """Ctrl-C reaches the sweep and the bench under way, which writes what it has."""
    asked = ("--task", "mlp", "--worker", "null", "--data", "synthetic", "--no-proof")
    run = tmp_path / "s" / "batch_16"
    sizes = ("--batch-size", "8,16,32", "--steps", 100_000, "--block", 10)
    process = rosetta("sweep", *sizes, *asked, "--out", tmp_path / "s")
    assert eventually(lambda: steps_in(tmp_path / "s" / "batch_8") > 0, 60)
    interrupt_all(process)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert not run.exists()
    summary = json.loads((tmp_path / "s" / "batch_8" / "summary.json").read_text())
    assert summary["state"] == "interrupted"
    assert "batch 8" in output
    assert (tmp_path / "s" / "report.html").is_file()


def interrupt_all(process):
    """As a terminal does."""
    for one in (*psutil.Process(process.pid).children(), process):
        os.kill(one.pid, signal.SIGINT)


def test_a_combination_that_is_refused_does_not_stop_the_others(rosetta, tmp_path):
    asked = ("--task", "mlp", "--worker", "null", "--data", "synthetic", "--no-proof", "--quick")
    sizes = ("--batch-size", "4,99999999,8", "--steps", 2)
    process = rosetta("sweep", *sizes, *asked, "--out", tmp_path / "s")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.count("batch size 99999999 is larger than") == 1
    assert "batch 4" in output and "batch 8" in output


def test_features_of_several_runs_would_be_one_file(rosetta, tmp_path):
    process = rosetta("sweep", "--batch-size", "1,2", "--features", "f.npz", "--out", tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "leave it out" in errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "needs --batch-size or --threads"),
        (("--threads", "1,x"), "positive numbers"),
        (("--threads", "0"), "positive numbers"),
        (("--batch-size", ""), "positive numbers"),
        (("--threads", "1", "--no-such-option"), "--no-such-option"),
        (("--threads", "1", "--task", "mpl"), "did you mean mlp?"),
    ],
)
def test_a_mistake_is_one_line(rosetta, tmp_path, arguments, words):
    process = rosetta("sweep", *arguments, "--out", tmp_path / "s")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert words in errors.splitlines()[-1]
