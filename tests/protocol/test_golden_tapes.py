"""The golden tapes: who answers as recorded is told so, and who doesn't is told that, too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rosetta_reference
from protocol import doctored
from protocol.doctored import TAPES, Play, messages, only, play_in_python
from rosetta import protocol
from rosetta.proof import tolerances
from rosetta.protocol.messages import FROM_COORDINATOR, FROM_WORKER, Batch, Result, Setup
from rosetta.protocol.tape import read_tape
from rosetta_worker import recorded

CHECKOUT = Path(__file__).parents[2]
SCRIPT = CHECKOUT / "scripts" / "make-golden"
WRONG = CHECKOUT / "tests" / "rosetta" / "proof" / "wrong"
NAMES = ("mlp", "cnn", "gru")
LOSSES = {"mlp": 10, "cnn": 5, "gru": 10}

every_tape = pytest.mark.parametrize("name", NAMES)


# --- the files ------------------------------------------------------------------------------------


def test_they_are_small_and_know_nothing_of_the_machine() -> None:
    tapes = sorted(TAPES.iterdir())
    assert [tape.name for tape in tapes] == ["cnn.tape", "gru.tape", "mlp.tape"]
    assert sum(tape.stat().st_size for tape in tapes) < 10**6
    for tape in tapes:
        (hello,) = (header for _, header, _ in messages(tape) if header["type"] == "HELLO")
        assert (hello["key"], hello["host"], hello["pid"]) == ("", "", 0)
        assert hello["disclosures"] == hello["versions"] == {}


@every_tape
def test_the_coordinator_reads_every_message(name: str) -> None:
    for sender, frames in read_tape(TAPES / f"{name}.tape"):
        protocol.decode(frames, expected=FROM_COORDINATOR if sender == b"C" else FROM_WORKER)


@every_tape
def test_the_losses_are_the_references_in_float64(name: str) -> None:
    network: Any = None
    expected: list[float] = []
    found: list[float] = []
    for sender, frames in read_tape(TAPES / f"{name}.tape"):
        kinds = FROM_COORDINATOR if sender == b"C" else FROM_WORKER
        message, arrays = protocol.decode(frames, expected=kinds)
        if isinstance(message, Setup):
            network = rosetta_reference.Network(
                message.task, arrays, dtype=np.float64, dropout=False, adam_form="torch"
            )
        elif isinstance(message, Batch):
            if message.learning_rate is not None:
                network.set_learning_rate(message.learning_rate)
            expected.append(network.train_step(arrays["inputs"], arrays["labels"]))
        elif isinstance(message, Result):
            found.append(message.loss)
    assert len(found) == LOSSES[name]
    later = tolerances.LOSS_ROUGH if name == "cnn" else tolerances.LOSS_SMOOTH
    assert found == pytest.approx(expected, rel=later / 3)
    assert found[0] == pytest.approx(expected[0], rel=tolerances.FIRST_LOSS / 3)


def make_golden(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_finds_them_right() -> None:
    check = make_golden("--check")
    assert (check.returncode, check.stderr) == (0, "")


def test_the_command_names_those_that_differ_and_makes_them_anew(tmp_path: Path) -> None:
    shutil.copytree(TAPES.parent, tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "tapes"
    doctored.doctored("mlp", folder / "mlp.tape", doctored.other_loss)
    doctored.doctored("gru", folder / "gru.tape", only("BATCH", b"C", learning_rate=1e-3))
    (folder / "cnn.tape").unlink()
    (folder / "old.tape").write_bytes(b"x")
    check = make_golden("--check", "--folder", tmp_path)
    assert check.returncode == 1
    named = [Path(line.split(" differs")[0]).name for line in check.stderr.splitlines()]
    assert named == ["cnn.tape", "gru.tape", "mlp.tape", "old.tape"]
    assert make_golden("--folder", tmp_path).returncode == 0
    assert make_golden("--check", "--folder", tmp_path).returncode == 0


def test_the_tolerances_are_the_proofs() -> None:
    assert recorded.FIRST_LOSS == tolerances.FIRST_LOSS
    assert recorded.LATER_LOSS == tolerances.LOSS_SMOOTH
    assert recorded.LATER_LOSS_ROUGH == recorded.LATER_LOGITS == tolerances.LOSS_ROUGH
    assert recorded.FIRST_LOGITS == tolerances.LOGITS
    assert recorded.FIRST_CHANGE == tolerances.CHANGE_FIRST
    assert recorded.LATER_CHANGE == tolerances.CHANGE_LATER


# --- right and wrong workers ----------------------------------------------------------------------


@every_tape
def test_a_right_worker_is_told_so(name: str, play: Play) -> None:
    played = play(TAPES / f"{name}.tape")
    assert (played.status, played.errors) == (0, "")
    starts = [line.split(" compared")[0] for line in played.verdicts()]
    assert starts == [
        "the names and shapes are the recorded ones, 1",
        f"the losses are the recorded ones, {LOSSES[name]}",
        "the predictions are the recorded ones, 3",
        "the parameters are the recorded ones, 3",
    ]


WRONG_WORKERS = [
    ("mlp", "a bias missing"),
    ("mlp", "labels off by one"),
    ("mlp", "loss summed"),
    ("mlp", "own initialisation"),
    ("mlp", "pixels not scaled"),
    ("mlp", "losses from memory"),
    ("mlp", "Adam without bias correction"),
    ("cnn", "a bias missing"),
    ("cnn", "Nesterov momentum"),
    ("cnn", "dampening"),
    ("cnn", "weight decay"),
    ("cnn", "learning rate folded in"),
    ("cnn", "max-pool padded"),
    ("cnn", "kernels flipped"),
    ("cnn", "rows and columns swapped"),
    ("gru", "a bias missing"),
    ("gru", "classic GRU as cudnn"),
    ("gru", "update gate swapped"),
    ("gru", "padding behind"),
    ("gru", "Adam's epsilon 1e-7"),
    ("gru", "Adam's epsilon inside the root"),
    ("gru", "lazy Adam"),
]


@every_tape
def test_the_worker_that_is_wrong_in_nothing_is_right(name: str) -> None:
    played = play_in_python(TAPES / f"{name}.tape", WRONG, ROSETTA_WRONG="none")
    assert (played.status, played.errors) == (0, "")


@pytest.mark.parametrize(("name", "wrong"), WRONG_WORKERS)
def test_a_wrong_worker_is_told_so(name: str, wrong: str) -> None:
    played = play_in_python(TAPES / f"{name}.tape", WRONG, ROSETTA_WRONG=wrong)
    assert played.status == 1
    assert " are not the recorded ones" in played.errors


def test_a_worker_that_declares_another_form_is_not_compared_after_a_step() -> None:
    played = play_in_python(TAPES / "mlp.tape", WRONG, ROSETTA_WRONG="another Adam, declared")
    assert (played.status, played.errors) == (0, "")
    reason = "recorded by a worker whose form of adam is torch"
    assert f"losses not compared, 9: {reason}" in played.verdicts()
    assert f"parameters not compared, 2: {reason}" in played.verdicts()
