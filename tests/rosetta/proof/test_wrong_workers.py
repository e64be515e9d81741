"""The proof passes right workers with room to spare, and catches wrong ones with room to spare."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rosetta.conformance.small import small
from rosetta.coordinator import Process, Router, Session
from rosetta.proof import Verdict, prove

WRONG = Path(__file__).parent / "wrong"
MARGIN = 3.0

CAUGHT = [
    # what is wrong, on which task, the first quantity that deviates
    ("Nesterov momentum", "cnn", "change of"),
    ("dampening", "cnn", "change of"),
    ("weight decay", "cnn", "change of"),
    ("learning rate folded in", "cnn", "change of"),
    ("keep rate as drop rate", "cnn", "mean loss with dropout"),
    ("dropout at prediction", "cnn", "second prediction"),
    ("no dropout", "cnn", "repeats of one batch"),
    ("classic GRU as cudnn", "gru", "logits"),
    ("update gate swapped", "gru", "logits"),
    ("padding behind", "gru", "logits"),
    ("a bias missing", "mlp", "logits"),
    ("a bias missing", "cnn", "logits"),
    ("a bias missing", "gru", "logits"),
    ("max-pool padded", "cnn", "logits"),
    ("kernels flipped", "cnn", "logits"),
    ("rows and columns swapped", "cnn", "logits"),
    ("labels off by one", "mlp", "loss before any update"),
    ("loss summed", "mlp", "loss before any update"),
    ("Adam's epsilon 1e-7", "gru", "change of"),
    ("Adam's epsilon inside the root", "gru", "change of"),
    ("Adam without bias correction", "mlp", "change of"),
    ("lazy Adam", "gru", "change of"),
    ("own initialisation", "mlp", "initial"),
    ("pixels not scaled", "mlp", "logits"),
    ("losses from memory", "mlp", "change of"),
    ("clock stopped early", "mlp", "share of the step that is gone after a pause"),
    pytest.param(
        *("time without work", "mlp", "share of the step that doesn't grow"),
        marks=pytest.mark.exhaustive,
    ),
]

OF_THE_CLOCK = {"right, with some work", "clock stopped early", "time without work"}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the reference expects of dropout: the same for every worker."""
    return tmp_path_factory.mktemp("proof")


@pytest.fixture
def proof_of(tmp_path: Path, cache: Path) -> Iterator[Callable[[str, str], Verdict]]:
    """Proves the worker that is wrong in one way, on a task's small network."""
    router = Router()
    sessions: list[Session] = []

    def go(wrong: str, task: str) -> Verdict:
        session = Session(router, "wrong", "test", credit=1)
        sessions.append(session)
        file = tmp_path / "connection.json"
        session.write_connection_file(file)
        command = [sys.executable, "-m", "rosetta_worker", str(WRONG), "--connect", str(file)]
        variables = {**os.environ, "ROSETTA_WRONG": wrong, "OPENBLAS_NUM_THREADS": "1"}
        session.process = Process(command, variables, tmp_path / "log", tmp_path)
        session.await_hello(time.monotonic())
        return prove(session, small(task), cache=cache, clock=wrong in OF_THE_CLOCK)

    yield go
    for session in sessions:
        session.close()
    router.close()


@pytest.mark.parametrize("task", ["mlp", "cnn", "gru"])
@pytest.mark.parametrize("right", ["none", "right, with some work"])
def test_a_right_worker_passes_with_room_to_spare(right, task, proof_of):
    verdict = proof_of(right, task)
    assert verdict.same, verdict.first_failure
    numbers = [
        m for m in verdict.measurements if m.tolerance != 0 and not m.quantity.startswith("share")
    ]
    tight = [str(m) for m in numbers if m.deviation * MARGIN > m.tolerance]
    assert not tight


@pytest.mark.parametrize(
    ("declared", "task"),
    [
        ("another Adam, declared", "mlp"),
        ("another Adam, declared", "gru"),
        ("another GRU, declared", "gru"),
        ("another momentum, declared", "cnn"),
    ],
)
def test_a_form_that_is_declared_is_the_same_network(declared, task, proof_of):
    assert proof_of(declared, task).same


def test_a_form_that_the_reference_has_not_stays_unproved(proof_of):
    verdict = proof_of("a form that nobody knows", "gru")
    assert not verdict.same
    assert verdict.first_failure is None
    assert verdict.unproved == "the reference has no form gru: minimal"


@pytest.mark.parametrize(("wrong", "task", "quantity"), CAUGHT)
def test_a_wrong_worker_is_caught_with_room_to_spare(wrong, task, quantity, proof_of):
    failure = proof_of(wrong, task).first_failure
    assert failure is not None
    assert failure.quantity.startswith(quantity)
    # The clock's shares are at most 1, and a busy machine blurs them.
    margin = 1.7 if failure.quantity.startswith("share") else MARGIN
    assert failure.deviation >= margin * failure.tolerance
