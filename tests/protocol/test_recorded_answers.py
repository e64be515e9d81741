"""What a worker says of answers that aren't the recorded ones, in Python and in Julia."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol import doctored
from protocol.doctored import (
    NUMPY,
    TAPES,
    Message,
    Play,
    messages,
    only,
    other_loss,
    play_in_python,
)
from rosetta_worker import recorded


def other_array(kind: str) -> Callable[[Message], Message]:
    """The first element of the first array of those messages is 1 % larger."""

    def change(message: Message) -> Message:
        sender, header, frames = message
        if (sender, header["type"]) == (b"W", kind):
            (number,) = struct.unpack("<f", frames[0][:4])
            frames = [struct.pack("<f", number * 1.01) + frames[0][4:], *frames[1:]]
        return sender, header, frames

    return change


ERROR = {"code": "bad_shape", "message": "no", "fatal": False}
OTHERS = {
    "loss": (other_loss, "the losses are not the recorded ones, 10 compared: step 3 with "),
    "loss, not a number": (
        only("RESULT", loss=math.nan),
        "the losses are not the recorded ones, 10 compared: step 3 with ",
    ),
    "logit": (
        other_array("PREDICTIONS"),
        "the predictions are not the recorded ones, 3 compared: a logit before any step deviates ",
    ),
    "parameter": (
        other_array("VALUES"),
        "the parameters are not the recorded ones, 3 compared: the change of fc1.weight before ",
    ),
    "parameter's name": (
        only("READY", parameters=[]),
        "the names and shapes are not the recorded ones, 1 compared: READY has another `param",
    ),
    "type": (
        only("RESULT", type="ERROR", **ERROR),
        "the answers are not the recorded ones, 1 compared: RESULT where ERROR bad_shape no was",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_an_answer_that_is_not_the_recorded_one_is_said(
    what: str, play: Play, tmp_path: Path
) -> None:
    change, sentence = OTHERS[what]
    played = play(doctored.doctored("mlp", tmp_path / "other.tape", change))
    assert played.status == 1
    assert played.errors.startswith(f"rosetta worker: {sentence}")
    assert len(played.errors.splitlines()) == 1


def test_a_loss_that_was_no_number_is_the_same_only_if_it_is_none_again() -> None:
    comparison = recorded.Comparison("losses")
    nan, one = {"step": 0, "loss": math.nan}, {"step": 0, "loss": 1.0}
    follower = recorded.Recorded()
    follower._compare_result(comparison, nan, {}, nan, {})
    assert comparison.right
    follower._compare_result(comparison, nan, {}, one, {})
    assert not comparison.right


def without_answers(message: Message) -> Message | None:
    return message if message[0] == b"C" else None


def test_a_tape_without_answers_runs_as_ever(play: Play, tmp_path: Path) -> None:
    played = play(doctored.doctored("mlp", tmp_path / "old.tape", without_answers))
    assert (played.status, played.errors, played.verdicts()) == (0, "", [])
    assert "     9 " in played.output


def test_what_can_not_be_compared_is_said(play: Play, tmp_path: Path) -> None:
    with_dropout = doctored.doctored("cnn", tmp_path / "a.tape", only("SETUP", b"C", dropout=True))
    played = play(with_dropout)
    assert (played.status, played.errors) == (0, "")
    reason = "dropout is on, and each worker draws masks of its own"
    assert f"losses not compared, 5: {reason}" in played.verdicts()
    assert f"predictions not compared, 2: {reason}" in played.verdicts()
    other = only("HELLO", forms={"adam": "hat"})
    played = play(doctored.doctored("mlp", tmp_path / "b.tape", other))
    assert (played.status, played.errors) == (0, "")
    reason = "recorded by a worker whose form of adam is hat"
    assert f"losses not compared, 9: {reason}" in played.verdicts()


def test_too_many_steps_are_not_compared(play: Play, tmp_path: Path) -> None:
    """Two sessions' batches one after the other, of which the second one's losses are wrong."""
    content = messages(TAPES / "mlp.tape")
    trained = [message for message in content if message[1]["type"] in ("BATCH", "RESULT")]
    again = []
    for sender, header, frames in trained:
        number = "id" if sender == b"C" else "re"
        changed = {number: header[number] + 1000, "step": header["step"] + 10}
        again.append((sender, {**header, **changed}, frames))
    end = next(n for n, message in enumerate(content) if message[1]["type"] == "END")
    played = play(doctored.write(tmp_path / "long.tape", content[:end] + again + content[end:]))
    assert (played.status, played.errors) == (0, "")
    reason = "too many steps after SETUP, rounding has grown"
    assert f"losses not compared, 10: {reason}" in played.verdicts()


def test_an_answer_that_can_not_be_read_is_said(play: Play, tmp_path: Path) -> None:
    def without_frames(message: Message) -> Message:
        sender, header, frames = message
        return sender, header, [] if header["type"] == "PREDICTIONS" else frames

    played = play(doctored.doctored("mlp", tmp_path / "a.tape", without_frames))
    assert played.status == 1
    expected = "the answers are not the recorded ones, 3 compared: the one at byte "
    assert played.errors.startswith(f"rosetta worker: {expected}")
    assert len(played.errors.splitlines()) == 1


def test_a_recorded_answer_that_lacks_something_is_the_tapes_fault(
    play: Play, tmp_path: Path
) -> None:
    """The session goes on: all other answers are compared."""

    def lossless(message: Message) -> Message:
        sender, header, arrays = message
        if header["type"] == "RESULT" and header["step"] == 1:
            header = {key: value for key, value in header.items() if key != "loss"}
        return sender, header, arrays

    played = play(doctored.doctored("mlp", tmp_path / "a.tape", lossless))
    assert played.status == 1
    assert any("can't be read" in line for line in played.verdicts())
    assert not any("backend" in line for line in played.verdicts())
    assert any("the losses are the recorded ones" in line for line in played.verdicts())


def test_a_recording_of_a_recording_has_one_workers_answers(tmp_path: Path) -> None:
    record = tmp_path / "again.tape"
    command = [sys.executable, "-m", "rosetta_worker", NUMPY, "--tape", TAPES / "mlp.tape"]
    subprocess.run([*command, "--record", record, "--threads", "1"], check=True, timeout=60)
    answers = [header for sender, header, _ in messages(record) if sender == b"W"]
    assert len([header for header in answers if header["type"] == "RESULT"]) == 10
    assert play_in_python(record).status == 0
