"""Ctrl-C, SIGTERM and SIGKILL in the middle of a run: nothing is left behind, nothing is lost."""

from __future__ import annotations

import json
import os
import signal

import pytest

from integration.observe import alive, children, command_line, eventually, steps_in

ENDLESS = (
    "--no-proof",
    "--task",
    "mlp",
    "--worker",
    "null,numpy",
    "--epochs",
    100000,
    "--data",
    "synthetic",
)


@pytest.fixture
def running(rosetta, tmp_path):
    """A run that goes on until it is stopped, some steps in."""
    process = rosetta("bench", *ENDLESS, "--threads", 1, "--out", tmp_path / "run")
    assert eventually(lambda: steps_in(tmp_path / "run") > 50, 60), process.communicate()[1]
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_had(running, number, tmp_path):
    mine = children(running.pid)
    running.send_signal(number)
    output, _ = running.communicate(timeout=30)
    assert running.returncode == 130
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["state"] == "interrupted"
    assert summary["missing"] == ["mlp"]
    assert {row["status"] for row in summary["rows"]} == {"interrupted"}
    lines = (tmp_path / "run" / "steps.jsonl").read_text().splitlines()
    assert sum(row["steps"] for row in summary["rows"]) == len([json.loads(x) for x in lines])
    assert "interrupted: mlp not finished" in output
    assert not any(map(alive, mine))
    assert not list(tmp_path.rglob("*connection*"))


def test_a_second_signal_changes_nothing(running, tmp_path):
    for _ in range(3):
        running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["state"] == "interrupted"


@pytest.mark.exhaustive
def test_workers_leave_when_their_coordinator_was_killed(running, tmp_path):
    mine = children(running.pid)
    assert len(mine) == 2
    running.kill()
    running.communicate(timeout=10)
    assert eventually(lambda: not any(map(alive, mine)), 30)
    # what it had written can be read: whole lines, and a summary that doesn't claim to be complete
    for line in (tmp_path / "run" / "steps.jsonl").read_text().splitlines():
        json.loads(line)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["state"] == "running"


def test_a_worker_killed_in_a_step_leaves_the_others_alone(rosetta, tmp_path):
    process = rosetta(
        *(
            "bench",
            "--no-proof",
            "--task",
            "gru",
            "--worker",
            "numpy,null",
            "--steps",
            30,
            "--data",
            "synthetic",
        ),
        *("--out", tmp_path / "run", "--threads", 1, "--test-samples", 64),
    )
    assert eventually(lambda: steps_in(tmp_path / "run") > 8, 90)
    (victim,) = [p for p in children(process.pid) if "workers/numpy" in command_line(p)]
    os.kill(victim, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == 1
    rows = json.loads((tmp_path / "run" / "summary.json").read_text())["rows"]
    assert [row["status"] for row in rows] == ["crashed", "ok"]
    assert rows[0]["reason"].startswith("was killed by SIGKILL")
    assert rows[0]["steps"] > 0
    assert rows[1]["steps"] == 36
