"""The worker in Julia, started as a user starts it: from a tape, by hand, in a bench, to prove."""

from __future__ import annotations

import json
import os
import re
import signal

import psutil
import pytest

from integration.conftest import read_steps
from integration.observe import command_line, eventually
from rosetta import environments, workers
from rosetta.environments import EnvironmentUnavailable

LINE = re.compile(r"^ +(\d+) +(\S+) +[\d.]+ +[\d.]+ +[\d.]+$", re.MULTILINE)
TINY = ("--task", "mlp", "--data", "synthetic", "--threads", 1)


@pytest.fixture(autouse=True, scope="module")
def julia() -> environments.EnvironmentStatus:
    """The environment of the worker; without a Julia these tests say that they were skipped."""
    try:
        return environments.ensure(workers.get("julia"))
    except EnvironmentUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.exhaustive
def test_it_reads_the_tape_that_numpy_reads(rosetta, tmp_path):
    tape = tmp_path / "mlp.tape"
    first = rosetta("worker", "numpy", *TINY, "--steps", 4, "--save", tape)
    numpy, _ = first.communicate(timeout=90)
    process = rosetta("worker", "julia", "--tape", tape, "--threads", 1)
    output, complaint = process.communicate(timeout=200)
    assert process.returncode == 0, complaint
    losses = [[float(loss) for _, loss in LINE.findall(text)] for text in (numpy, output)]
    assert len(losses[0]) == len(losses[1]) == 4
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.alone
def test_a_bench_of_two_languages(rosetta, tmp_path, julia):
    out = tmp_path / "run"
    process = rosetta(
        *("bench", "--no-proof", "--worker", "numpy,julia", *TINY, "--steps", 10, "--warmup", 1),
        *("--test-samples", 100, "--out", out),
    )
    _, progress = process.communicate(timeout=250)
    assert process.returncode == 0, progress
    rows = {row["worker"]: row for row in json.loads((out / "summary.json").read_text())["rows"]}
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert rows["julia"]["final_loss"] == pytest.approx(rows["numpy"]["final_loss"], rel=1e-5)
    assert rows["julia"]["language"] == "julia"
    pins = json.loads((out / "run.json").read_text())["workers"]["julia"]
    assert pins["julia"] == julia.framework_version == rows["julia"]["language_version"]
    assert pins["packages"] == {}
    environment = json.loads((out / "run.json").read_text())["environment"]
    assert environment["JULIA_NUM_THREADS"] == "1"


@pytest.mark.exhaustive
def test_it_joins_by_connection_file(rosetta, tmp_path):
    out = tmp_path / "run"
    run = rosetta(
        *("bench", "--no-proof", "--worker", "null", "--join", "julia", *TINY, "--steps", 3),
        *("--warmup", 0, "--test-samples", 10, "--out", out),
    )
    file = out / "julia.mlp.connection.json"
    assert eventually(file.exists, 60)
    worker = rosetta("worker", "julia", "--connect", file)
    _, progress = run.communicate(timeout=200)
    assert run.returncode == 0, progress
    assert worker.wait(30) == 0


@pytest.mark.exhaustive
def test_killed_in_a_step_it_leaves_its_steps_and_the_others_their_run(rosetta, tmp_path):
    out = tmp_path / "run"
    process = rosetta(
        *("bench", "--no-proof", "--worker", "numpy,julia", *TINY, "--steps", 3000),
        *("--test-samples", 10, "--out", out),
    )
    recorded = out / "steps.jsonl"
    assert eventually(lambda: recorded.exists() and b'"julia"' in recorded.read_bytes(), 200)
    (victim,) = [pid for pid in descendants(process.pid) if "RosettaWorker" in command_line(pid)]
    os.kill(victim, signal.SIGKILL)
    _, progress = process.communicate(timeout=200)
    assert process.returncode == 1, progress
    rows = {row["worker"]: row for row in json.loads((out / "summary.json").read_text())["rows"]}
    assert rows["julia"]["status"] == "crashed"
    assert rows["julia"]["reason"].startswith("was killed by SIGKILL")
    steps = [step.worker for step in read_steps(out)]
    assert rows["julia"]["steps"] == steps.count("julia") > 0
    assert (rows["numpy"]["status"], rows["numpy"]["steps"]) == ("ok", 3006)


def descendants(pid):
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


@pytest.mark.exhaustive
@pytest.mark.alone
def test_it_is_the_same_network(rosetta):
    process = rosetta("prove", "julia", "--task", "mlp", "--threads", 1)
    output, complaint = process.communicate(timeout=250)
    assert process.returncode == 0, complaint
    assert "julia on mlp: same network" in output
