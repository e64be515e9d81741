"""`rosetta tape record`: a session in a file, with which other workers are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosetta import environments, protocol, tasks
from rosetta.bench.tape import record_tape
from rosetta.coordinator import WorkerFailureError
from rosetta.datasets import load
from rosetta.protocol.messages import FROM_COORDINATOR, FROM_WORKER, Hello, Result, Setup, type_of
from rosetta.protocol.tape import read_tape

OPTIONS = ("--data", "synthetic", "--batch-size", 16, "--threads", 1)


def record(rosetta, worker, tape, *more):
    process = rosetta("tape", "record", worker, tape, *OPTIONS, *more)
    output, complaint = process.communicate(timeout=120)
    return process.returncode, output, complaint


def replay(rosetta, worker, tape):
    process = rosetta("worker", worker, "--tape", tape, "--threads", 1)
    output, complaint = process.communicate(timeout=120)
    return process.returncode, output, complaint


def messages(tape: Path):
    for sender, frames in read_tape(tape):
        expected = FROM_COORDINATOR if sender == b"C" else FROM_WORKER
        yield protocol.decode(frames, expected=expected)[0]


def test_a_session_is_recorded_with_its_answers_and_another_worker_compared(rosetta, tmp_path):
    tape = tmp_path / "numpy.tape"
    status, output, complaint = record(rosetta, "numpy", tape, "--steps", 5)
    assert status == 0, complaint
    assert f"mlp on synthetic, 5 steps of numpy: {tape}" in complaint
    found = list(messages(tape))
    reading = ["PREDICT", "PREDICTIONS", "PARAMETERS", "VALUES"]
    assert [type_of(type(message)) for message in found] == [
        *("HELLO", "WELCOME", "SETUP", "READY", "PREDICT", "PREDICTIONS", "BATCH", "RESULT"),
        *reading,
        *["BATCH", "RESULT"] * 3,
        *reading,
        *("BATCH", "RESULT", "END", "ENDED", "BYE", "BYE"),
    ]
    losses = [message.loss for message in found if isinstance(message, Result)]
    assert [f"{loss:.7f}" for loss in losses] == [line.split()[1] for line in output.splitlines()]
    (hello,) = (message for message in found if isinstance(message, Hello))
    assert (hello.run, hello.key, hello.worker, hello.host) == ("tape", "", "numpy", "")
    (setup,) = (message for message in found if isinstance(message, Setup))
    assert setup.dropout is False

    status, output, complaint = replay(rosetta, "torch", tape)
    assert status == 0, complaint
    assert "the losses are the recorded ones, 5 compared" in output
    assert "the predictions are the recorded ones, 3 compared" in output
    assert "the parameters are the recorded ones, 2 compared" in output

    status, _, complaint = replay(rosetta, "null", tape)  # which computes nothing
    assert status == 1
    assert "the losses are not the recorded ones, 5 compared" in complaint
    assert "the predictions are not the recorded ones" in complaint
    assert "the parameters are not the recorded ones" in complaint


def test_what_can_not_be_recorded_is_one_line_and_leaves_no_tape(rosetta, tmp_path):
    tape = tmp_path / "a.tape"
    mistakes = {
        ("nobody",): "nobody",
        ("numpy", "--task", "resnet50"): "task resnet50 has no training that could be recorded",
        ("numpy", "--device", "cuda"): "no tape was written",
    }
    for (worker, *more), words in mistakes.items():
        status, output, complaint = record(rosetta, worker, tape, *more)
        assert (status, output) == (2, "")
        assert words in complaint.splitlines()[-1]
        assert list(tmp_path.glob("*.tape*")) == list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize(
    "behaviour", ["exits at start", "answers SETUP with ERROR", "predicts other classes"]
)
def test_a_worker_that_fails_leaves_no_tape(behaviour, rogue, tmp_path):
    worker = rogue(behaviour)
    environments.ensure(worker)
    task = tasks.load("mlp")
    train = load("synthetic", task=task.to_wire()).train
    with pytest.raises(WorkerFailureError):
        record_tape(tmp_path / "a.tape", worker, task, train, steps=3, seed=1, threads=1)
    assert not list(tmp_path.glob("*.tape*"))
