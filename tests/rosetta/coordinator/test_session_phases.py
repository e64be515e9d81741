"""From SETUP to BYE: deadlines, predictions, parameters, a second task, and sudden ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bare_peer import MLP, RUN, Header, Peer, answer, batches, fails, replacing, set_up
from rosetta import tasks
from rosetta.coordinator import Deadlines, Process, Router, Session

Joined = Callable[..., tuple[Session, Any]]
FLOAT32 = {"name": "logits", "dtype": "float32"}


def silent(peer: Peer, header: Header, frames: list[bytes]) -> None:
    """No answer."""


def late(times: int):
    """Answers after 0.4 seconds, `times` times; then never.

    (Not late again: a machine that stands still for as long would have that answer there in time.)
    """
    left = iter(range(times))

    def act(peer: Peer, header: Header, frames: list[bytes]) -> None:
        if next(left, None) is not None:
            time.sleep(0.4)
            answer(peer, header, frames)

    return act


# --- deadlines ------------------------------------------------------------------------------------


def test_a_worker_that_never_greets_is_not_waited_for(router: Router) -> None:
    session = Session(router, "bare", RUN, deadlines=Deadlines(start=0.2))
    began = time.monotonic()
    with fails("timeout", "no HELLO within 0.2 s"):
        session.await_hello(began)
    assert 0.2 <= time.monotonic() - began < 2


def test_the_start_counts_from_when_the_process_was_started(router: Router) -> None:
    session = Session(router, "bare", RUN, deadlines=Deadlines(start=5))
    with fails("timeout", "no HELLO within 5 s"):
        session.await_hello(time.monotonic() - 6)


@pytest.mark.parametrize(
    ("kind", "ask", "awaited"),
    [
        ("SETUP", set_up, "READY"),
        ("END", Session.end, "ENDED"),
        ("PARAMETERS", Session.parameters, "VALUES"),
        ("PREDICT", lambda s: list(s.predict([np.zeros((1, 784), np.uint8)], 10)), "PREDICTIONS"),
        ("BYE", Session.bye, "did not leave within 0.2 s after BYE"),
    ],
)
def test_each_phase_has_a_deadline(
    kind: str, ask: Callable[[Session], Any], awaited: str, joined: Joined
) -> None:
    short = {"first_step": 0.2, "step": 0.2, "end": 0.2}
    short |= {"setup": 0.2} if kind == "SETUP" else {}
    session, _ = joined(replacing(kind, silent), **short)
    if kind != "SETUP":
        set_up(session)
    began = time.monotonic()
    with fails("timeout", awaited):
        ask(session)
    assert 0.2 <= time.monotonic() - began < 2


def test_the_first_step_may_take_longer_than_the_others(joined: Joined, router: Router) -> None:
    """It compiles, in the next task too. For a later step the same delay is too long."""
    session, _ = joined(replacing("BATCH", late(2)), credit=1, step=0.2)
    set_up(session)
    session.train(batches(router, 1), lambda result: None)
    session.end()
    set_up(session)
    session.train(batches(router, 1), lambda result: None)
    with fails("timeout", "no RESULT within 0.2 s"):
        session.train(batches(router, 1, start=1), lambda result: None)


def test_the_first_prediction_may_take_longer_too(joined: Joined, router: Router) -> None:
    session, _ = joined(replacing("PREDICT", late(1)), credit=1, step=0.2)
    set_up(session)
    session.train(batches(router, 2), lambda result: None)
    logits = session.predict([np.zeros((1, 784), np.uint8)] * 2, 10)
    next(logits)
    with fails("timeout", "no PREDICTIONS within 0.2 s"):
        next(logits)


# --- predictions ----------------------------------------------------------------------------------


def pixels(samples: int) -> np.ndarray:
    return np.arange(samples * 784).reshape(samples, 784).astype(np.uint8)


def chunks(inputs: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (inputs[start : start + size] for start in range(0, len(inputs), size))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(samples=st.integers(1, 30), size=st.integers(1, 12))
def test_logits_come_chunk_by_chunk_in_order(samples: int, size: int, ready: Session) -> None:
    """The last chunk may be smaller."""
    inputs = pixels(samples)
    logits = list(ready.predict(chunks(inputs, size), 10))
    assert [len(part) for part in logits] == [len(part) for part in chunks(inputs, size)]
    assert np.array_equal(np.concatenate(logits), inputs[:, :10].astype(np.float32))
    assert {part.dtype for part in logits} == {np.dtype(np.float32)}


@pytest.fixture
def ready(joined: Joined) -> Session:
    session, _ = joined()
    set_up(session)
    return session


@pytest.mark.parametrize(
    ("arrays", "data"),
    [
        ([{**FLOAT32, "shape": [4, 3]}], b"\0" * 48),
        ([{**FLOAT32, "shape": [3, 10]}], b"\0" * 120),
        ([{**FLOAT32, "shape": [40]}], b"\0" * 160),
        ([{**FLOAT32, "name": "probabilities", "shape": [4, 10]}], b"\0" * 160),
        ([{**FLOAT32, "dtype": "float64", "shape": [4, 10]}], b"\0" * 320),
        ([{**FLOAT32, "dtype": "uint8", "shape": [4, 10]}], b"\0" * 40),
    ],
    ids=["classes", "samples", "flat", "name", "float64", "uint8"],
)
def test_other_logits_than_asked_for_are_refused(
    arrays: list[dict[str, Any]], data: bytes, joined: Joined
) -> None:
    def act(peer: Peer, header: Header, frames: list[bytes]) -> None:
        times = {"wait_ns": 1, "copy_ns": 1, "predict_ns": 1}
        peer.send("PREDICTIONS", data, re=header["id"], arrays=arrays, **times)

    session, _ = joined(replacing("PREDICT", act))
    set_up(session)
    with fails("failed", "PREDICTIONS hold no (4, 10) logits in float32"):
        list(session.predict([pixels(4)], 10))


# --- parameters -----------------------------------------------------------------------------------


def sends(arrays: dict[str, np.ndarray]):
    def act(peer: Peer, header: Header, frames: list[bytes]) -> None:
        described = [
            {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
            for name, array in arrays.items()
        ]
        data = [array.tobytes() for array in arrays.values()]
        peer.send("VALUES", *data, re=header["id"], arrays=described)

    return replacing("PARAMETERS", act)


def test_the_parameters_come_by_name_and_unchanged(joined: Joined) -> None:
    values = tasks.initial_parameters(MLP, 3)
    session, _ = joined(sends(values))
    set_up(session)
    received = session.parameters()
    assert list(received) == [p.name for p in MLP.parameters]
    for name, array in values.items():
        assert np.array_equal(received[name], array)
        assert not received[name].flags.writeable


@pytest.mark.parametrize("mistake", ["missing", "transposed", "float64", "reordered"])
def test_other_parameters_than_the_network_has_are_refused(mistake: str, joined: Joined) -> None:
    values: dict[str, np.ndarray] = dict(tasks.initial_parameters(MLP, 3))
    if mistake == "missing":
        del values["fc2.bias"]
    elif mistake == "transposed":
        values["fc1.weight"] = np.ascontiguousarray(values["fc1.weight"].T)
    elif mistake == "float64":
        values["fc1.bias"] = values["fc1.bias"].astype(np.float64)
    else:
        values = dict(reversed(values.items()))
    session, _ = joined(sends(values))
    set_up(session)
    with fails("failed", "sent other parameters than it built"):
        session.parameters()


# --- the end --------------------------------------------------------------------------------------


def test_after_end_the_next_task_may_come(joined: Joined, router: Router) -> None:
    session, worker = joined()
    for seed in (1, 2):
        set_up(session, seed=seed)
        session.train(batches(router, 3), lambda result: None)
        assert len(list(session.predict([pixels(4), pixels(1)], 10))) == 2
        session.end()
    session.bye()
    worker.join()
    task = ["SETUP", *["BATCH"] * 3, *["PREDICT"] * 2, "END"]
    assert worker.kinds == ["WELCOME", *task, *task, "BYE"]
    assert [h["seed"] for h in worker.received if h["type"] == "SETUP"] == [1, 2]


def test_a_worker_that_vanishes_in_a_task_has_crashed(joined: Joined, router: Router) -> None:
    def leave(peer: Peer, header: Header, frames: list[bytes]) -> None:
        answer(peer, header, frames)
        raise StopIteration

    session, worker = joined(replacing("BATCH", leave), credit=1)
    set_up(session)
    session.train(batches(router, 1), lambda result: None)
    worker.join()
    time.sleep(0.2)
    with fails("crashed", "closed its connection"):
        session.train(batches(router, 1, start=1), lambda result: None)


def a_process(tmp_path: Path, script: str) -> Process:
    return Process([sys.executable, "-c", script], os.environ, tmp_path / "log", tmp_path)


def test_a_process_that_dies_is_noticed_long_before_the_deadline(
    joined: Joined, router: Router, tmp_path: Path
) -> None:
    session, _ = joined(replacing("BATCH", silent), first_step=60.0)
    set_up(session)
    session.process = a_process(tmp_path, "import time; time.sleep(0.3); print('oh'); exit(7)")
    began = time.monotonic()
    with fails("crashed", "exited with 7: oh"):
        session.train(batches(router, 2), lambda result: None)
    assert time.monotonic() - began < 10


def test_closing_a_session_ends_its_process(joined: Joined, tmp_path: Path) -> None:
    session, _ = joined()
    session.process = a_process(tmp_path, "import time; time.sleep(60)")
    session.close()
    assert session.process.exit_reason() == "was killed by SIGTERM"
    session.close()
