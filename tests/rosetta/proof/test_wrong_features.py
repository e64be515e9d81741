"""The proof of a forward-only task passes right workers, and catches wrong ones."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rosetta.conformance.small import small
from rosetta.coordinator import Process, Router, Session, WorkerFailureError
from rosetta.proof import Verdict, prove

WRONG = Path(__file__).parent / "wrong_features"
MARGIN = 3.0
OF_THE_CLOCK = ("right, with some work", "time without work", "half of the time")


@pytest.fixture
def proof_of(tmp_path: Path) -> Iterator[Callable[[str], Verdict]]:
    """Proves the worker that is wrong in one way, on a thin ResNet-50."""
    router = Router()
    sessions: list[Session] = []

    def go(wrong: str) -> Verdict:
        session = Session(router, "wrong", "test", credit=1)
        sessions.append(session)
        file = tmp_path / "connection.json"
        session.write_connection_file(file)
        command = [sys.executable, "-m", "rosetta_worker", str(WRONG), "--connect", str(file)]
        variables = {**os.environ, "ROSETTA_WRONG": wrong, "OPENBLAS_NUM_THREADS": "1"}
        session.process = Process(command, variables, tmp_path / "log", tmp_path)
        session.await_hello(time.monotonic())
        return prove(session, small("resnet50"), clock=wrong in OF_THE_CLOCK)

    yield go
    for session in sessions:
        session.close()
    router.close()


def test_a_right_worker_passes_with_room_to_spare(proof_of):
    verdict = proof_of("none")
    assert verdict.same, verdict.first_failure
    features = [m for m in verdict.measurements if m.quantity.startswith("features")]
    assert len(features) == 2
    assert all(m.deviation * MARGIN < m.tolerance for m in features)


def test_the_clock_of_a_right_worker_runs_as_long_as_the_work(proof_of):
    verdict = proof_of("right, with some work")
    assert verdict.same, verdict.first_failure
    assert len([m for m in verdict.measurements if m.quantity.startswith("share")]) == 3


@pytest.mark.parametrize(
    ("wrong", "quantity"),
    [
        ("time without work", "share of the step that doesn't grow from batch 2 to "),
        ("half of the time", "share of the step that isn't reported"),
    ],
)
def test_a_clock_that_is_stopped_early_is_found(wrong, quantity, proof_of):
    failure = proof_of(wrong).first_failure
    assert failure is not None
    assert failure.quantity.startswith(quantity)


@pytest.mark.parametrize(
    ("wrong", "quantity"),
    [
        ("batch norm in training mode", "features"),
        ("epsilon 1e-3", "features"),
        ("stride in the 1x1", "features"),
        ("asymmetric padding", "features"),
        ("average over one row", "features"),
        ("no projection's batch norm", "features"),
        ("no relu after the sum", "features"),
        ("own statistics", "initial"),
        ("noise", "second prediction"),
    ],
)
def test_a_wrong_worker_is_caught_with_room_to_spare(wrong, quantity, proof_of):
    failure = proof_of(wrong).first_failure
    assert failure is not None
    assert failure.quantity.startswith(quantity)
    assert failure.deviation >= MARGIN * failure.tolerance


def test_who_averages_over_the_wrong_axes_has_too_few_features(proof_of):
    with pytest.raises(WorkerFailureError, match=r"hold no \(2, 128\) logits"):
        proof_of("average over the wrong axes")
