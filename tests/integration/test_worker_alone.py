"""One worker without a coordinator, and one that joins by hand."""

from __future__ import annotations

import json
import re
import stat

import pytest

from integration.observe import eventually

LINE = re.compile(r"^ +(\d+) +(\S+) +[\d.]+ +[\d.]+ +[\d.]+$", re.MULTILINE)


def test_a_worker_runs_from_a_tape_that_is_made_for_it(rosetta):
    process = rosetta("worker", "torch", "--data", "synthetic", "--steps", 6, "--threads", 1)
    output, complaint = process.communicate(timeout=90)
    assert process.returncode == 0, complaint
    assert output.startswith("PyTorch 2.13.0")
    assert "101770 parameters" in output
    assert "mlp on synthetic, batch 64" in complaint
    rows = LINE.findall(output)
    assert [int(step) for step, _ in rows] == list(range(6))
    assert 1.5 < float(rows[0][1]) < 4  # ten classes, untrained: about ln 10


@pytest.mark.exhaustive
def test_two_workers_read_the_same_tape(rosetta, tmp_path):
    tape = tmp_path / "gru.tape"
    options = ("--data", "synthetic", "--threads", 1)
    first = rosetta(
        *("worker", "numpy", "--task", "gru", "--steps", 3, "--batch-size", 16),
        *("--save", tape, *options),
    )
    numpy, _ = first.communicate(timeout=90)
    torch, _ = rosetta("worker", "torch", "--tape", tape, "--threads", 1).communicate(timeout=90)
    losses = [[float(loss) for _, loss in LINE.findall(text)] for text in (numpy, torch)]
    assert len(losses[0]) == 3
    assert max(abs(a - b) for a, b in zip(*losses, strict=True)) < 1e-6


def test_a_damaged_tape_is_said_in_one_line(rosetta, tmp_path):
    tape = tmp_path / "cut.tape"
    options = ("worker", "null", "--data", "synthetic", "--steps", 2)
    assert rosetta(*options, "--save", tape).wait(60) == 0
    tape.write_bytes(tape.read_bytes()[:-3])
    process = rosetta("worker", "null", "--tape", tape)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 1
    assert complaint.strip().splitlines()[-1].endswith("ends in the middle of a message")


def test_a_worker_joins_by_connection_file(rosetta, tmp_path):
    out = tmp_path / "run"
    run = rosetta(
        *(
            "bench",
            "--no-proof",
            "--task",
            "mlp",
            "--worker",
            "null",
            "--join",
            "numpy",
            "--data",
            "synthetic",
        ),
        *("--steps", 5, "--warmup", 0, "--test-samples", 10, "--threads", 1, "--out", out),
    )
    file = out / "numpy.mlp.connection.json"
    assert eventually(file.exists, 60)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    worker = rosetta("worker", "numpy", "--connect", file)
    _, progress = run.communicate(timeout=90)
    assert run.returncode == 0, progress
    assert f"rosetta worker numpy --connect {file}" in progress
    assert worker.wait(30) == 0
    rows = {r["worker"]: r for r in json.loads((out / "summary.json").read_text())["rows"]}
    assert rows["numpy"]["status"] == rows["null"]["status"] == "ok"
    assert rows["numpy"]["steps"] == 6
    assert not file.exists()


def test_a_worker_finds_nobody_where_it_should_join(rosetta, tmp_path):
    file = tmp_path / "old.json"
    content = {
        "protocol": "1.0",
        "endpoint": f"ipc://{tmp_path}/gone",
        "run": "r",
        "key": "k",
        "worker": "null",
    }
    file.write_text(json.dumps({**content, "protocol": "2.0"}))
    process = rosetta("worker", "null", "--connect", file)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "is for protocol 2.0; this worker speaks 1.0" in complaint


@pytest.mark.exhaustive
def test_a_tape_whose_questions_are_answered_with_errors_fails(rosetta, tmp_path):
    """A worker that can't do what it is asked isn't a worker that ran."""
    rosetta("new", "mine", "--into", tmp_path / "workers").wait(60)
    home = {"ROSETTA_HOME": str(tmp_path / "home")}
    options = ("--data", "synthetic", "--steps", 2, "--threads", 1)
    process = rosetta("worker", tmp_path / "workers" / "mine", *options, **home)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == "rosetta worker: 2 answers are errors"
