"""A run that was interrupted or killed, and is gone on with."""

from __future__ import annotations

import json
import signal
from collections import Counter

import pytest

from integration.conftest import read_steps
from integration.observe import alive, children, eventually, steps_in

ASKED = (
    *("bench", "--no-proof", "--task", "mlp,gru", "--worker", "null,numpy", "--steps", 6),
    *("--warmup", 1, "--data", "synthetic", "--threads", 1, "--batch-size", 16),
)
STEPS = 1 + 1 + 6
BOTH = {"null", "numpy"}


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture(
    params=[pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive), signal.SIGKILL],
    ids=["interrupted", "killed"],
)
def stopped(request, rosetta, tmp_path):
    """A run of two tasks that was stopped in its second."""
    process = rosetta(*ASKED, "--out", tmp_path / "run")
    second = 2 * STEPS + 1
    assert eventually(lambda: steps_in(tmp_path / "run") >= second, 60), process.communicate()[1]
    mine = children(process.pid)
    process.send_signal(request.param)
    process.communicate(timeout=30)
    assert eventually(lambda: not any(map(alive, mine)), 30)
    assert summary_of(tmp_path / "run")["missing"] == ["gru"]
    return tmp_path / "run"


def test_it_finishes_the_run_and_says_so(stopped, rosetta):
    before = (stopped / "steps.jsonl").read_text()
    first = summary_of(stopped)
    process = rosetta("bench", "--resume", stopped)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    summary = summary_of(stopped)
    assert (summary["state"], summary["missing"]) == ("complete", [])
    assert len(summary["resumed"]) == 1
    assert "resumed after an interruption" in output
    # What was done is kept as it was; what was under way was begun anew.
    assert [row for row in summary["rows"] if row["task"] == "mlp"] == [
        row for row in first["rows"] if row["task"] == "mlp"
    ]
    assert {row["worker"] for row in summary["rows"] if row["task"] == "gru"} == BOTH
    assert {row["status"] for row in summary["rows"]} == {"ok"}
    assert {row["steps"] for row in summary["rows"]} == {STEPS}
    # Nothing that had been written is lost, and the last attempt of each task is whole.
    assert (stopped / "steps.jsonl").read_text().startswith(before)
    steps = read_steps(stopped)
    counted = Counter((step.task, step.worker, step.attempt) for step in steps)
    for worker in BOTH:
        assert counted["mlp", worker, 1] == STEPS
        assert counted["gru", worker, 2] == STEPS
    assert counted["gru", "null", 1] + counted["gru", "numpy", 1] == len(before.splitlines()) - (
        2 * STEPS
    )
    run = json.loads((stopped / "run.json").read_text())
    assert run["run"] == summary["run"] == first["run"]
    assert all(worker["hello"] for worker in run["workers"].values())


def refused(rosetta, *arguments) -> str:
    process = rosetta(*arguments)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = errors.splitlines()
    return line


def change(folder, edit):
    record = json.loads((folder / "run.json").read_text())
    edit(record)
    (folder / "run.json").write_text(json.dumps(record))


def another_task(record):
    record["tasks"]["gru"]["content"]["optimiser"]["learning_rate"] = 0.5


def another_lock(record):
    record["workers"]["numpy"]["lock_sha256"] = "0" * 64


def other_data(record):
    record["data"]["gru"]["sha256"] = {"imdb.npz": "0" * 64}


def other_threads(record):
    record["environment"]["OMP_NUM_THREADS"] = "64"


def another_version(record):
    del record["options"]["steps"]


@pytest.fixture
def unfinished(rosetta, tmp_path):
    """A run that was stopped before its first step."""
    process = rosetta(*ASKED, "--out", tmp_path / "run")
    assert eventually((tmp_path / "run" / "summary.json").exists, 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (another_task, "task gru is another one now"),
        (another_lock, "the environment of numpy is pinned otherwise now"),
        (other_data, "the data of gru are others now"),
        (other_threads, "(environment) are others now"),
        (another_version, "another version's"),
    ],
)
def test_rows_that_could_not_stand_in_one_table_are_refused(unfinished, rosetta, edit, words):
    change(unfinished, edit)
    before = {p: p.read_bytes() for p in unfinished.rglob("*") if p.is_file()}
    assert words in refused(rosetta, "bench", "--resume", unfinished)
    assert before == {p: p.read_bytes() for p in unfinished.rglob("*") if p.is_file()}


def test_nothing_is_asked_of_it_again(unfinished, rosetta):
    said = refused(rosetta, "bench", "--resume", unfinished, "--steps", 3, "--seed", 4)
    assert "leave out --steps, --seed" in said


@pytest.mark.exhaustive
def test_a_run_that_goes_on_is_left_alone(rosetta, tmp_path):
    endless = ("bench", "--no-proof", "--task", "mlp", "--worker", "null", "--epochs", 100000)
    process = rosetta(*endless, "--data", "synthetic", "--threads", 1, "--out", tmp_path / "run")
    assert eventually(lambda: steps_in(tmp_path / "run") > 50, 60)
    assert "still going on" in refused(rosetta, "bench", "--resume", tmp_path / "run")
    before = steps_in(tmp_path / "run")
    assert eventually(lambda: steps_in(tmp_path / "run") > before, 30)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)


def test_a_finished_run_is_left_alone(rosetta, tmp_path):
    process = rosetta(*ASKED, "--task", "mlp", "--worker", "null", "--out", tmp_path / "run")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert "this run is complete" in refused(rosetta, "bench", "--resume", tmp_path / "run")
