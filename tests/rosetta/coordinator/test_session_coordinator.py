"""The coordinator's side of a session, with a scripted worker at the other end of the socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bare_peer import MLP, RUN, Header, Peer, answer, batches, fails, replacing, set_up
from rosetta.coordinator import PreparedMessage, Router, Session, WorkerFailureError
from rosetta.protocol.messages import Result

Joined = Callable[..., tuple[Session, Any]]


def train(session: Session, made: list[PreparedMessage]) -> list[int]:
    """Steps whose RESULT was taken."""
    taken: list[Result] = []
    session.train(made, taken.append)
    return [result.step for result in taken]


def test_a_whole_session(joined: Joined, router: Router) -> None:
    session, worker = joined()
    ready = set_up(session, seed=7, dropout=False)
    assert ready.threads == 1
    assert train(session, batches(router, 5)) == list(range(5))
    session.end()
    session.bye()
    worker.join()
    assert worker.kinds == ["WELCOME", "SETUP", *["BATCH"] * 5, "END", "BYE"]
    setup = worker.received[1]
    assert setup["task"] == MLP.to_wire()
    assert (setup["seed"], setup["dropout"], setup["threads"]) == (7, False, 1)
    assert setup["batch_size"] == 4
    assert [(a["name"], a["dtype"]) for a in setup["arrays"]] == [
        (p.name, "float32") for p in MLP.parameters
    ]
    ids = [header["id"] for header in worker.received]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("credit", [1, 2, 3, 7])
def test_a_worker_never_holds_more_batches_than_its_credit(
    credit: int, joined: Joined, router: Router
) -> None:
    """It hoards what comes, and answers one only when nothing more does."""
    holding: list[Header] = []
    most = 0

    def hoard(peer: Peer, header: Header, frames: list[bytes]) -> None:
        nonlocal most
        holding.append(header)
        most = max(most, len(holding))
        while holding and not peer.socket.poll(40):
            answer(peer, holding.pop(0), [])

    session, worker = joined(replacing("BATCH", hoard), credit=credit)
    set_up(session)
    assert worker.received[0]["credit"] == credit
    assert train(session, batches(router, 10)) == list(range(10))
    assert most == credit, "and all of it is used"


def test_batches_that_travel_have_a_credit_of_their_own(joined: Joined, router: Router) -> None:
    """A worker with shared memory may have 32 headers under way, and not 32 batches."""
    holding: list[Header] = []
    held: list[int] = []

    def hoard(peer: Peer, header: Header, frames: list[bytes]) -> None:
        holding.append(header)
        held.append(len(holding))
        while holding and not peer.socket.poll(40):
            answer(peer, holding.pop(0), [])

    session, _ = joined(replacing("BATCH", hoard), credit=5)
    set_up(session)
    session.heavy_credit = 2
    assert train(session, batches(router, 8)) == list(range(8))
    assert max(held) == 2


def test_credit_holds_for_predictions_too(joined: Joined, router: Router) -> None:
    held: list[int] = []
    holding: list[tuple[Header, list[bytes]]] = []

    def hoard(peer: Peer, header: Header, frames: list[bytes]) -> None:
        holding.append((header, frames))
        held.append(len(holding))
        while holding and not peer.socket.poll(40):
            answer(peer, *holding.pop(0))

    session, _ = joined(replacing("PREDICT", hoard), credit=2)
    set_up(session)
    chunks = [np.zeros((4, 784), np.uint8)] * 6
    assert len(list(session.predict(chunks, 10))) == 6
    assert max(held) == 2


def test_batches_are_taken_from_their_source_as_they_are_needed(
    joined: Joined, router: Router
) -> None:
    """An endless source is no danger: no more than the credit is drawn ahead."""
    drawn, taken = 0, 0

    def source() -> Iterator[PreparedMessage]:
        nonlocal drawn
        for batch in batches(router, 6):
            drawn += 1
            assert drawn - taken <= 3
            yield batch

    def took(result: Result) -> None:
        nonlocal taken
        taken += 1

    session, _ = joined(credit=2)
    set_up(session)
    session.train(source(), took)
    assert (drawn, taken) == (6, 6)


WRONG: list[tuple[Callable[..., None], str]] = [
    (lambda p, h, f: answer(p, h, f, re=h["id"] + 1), "where RESULT re"),
    (lambda p, h, f: answer(p, h, f, step=h["step"] + 1), "answered step 1 out of turn"),
    (lambda p, h, f: p.send("ENDED", re=h["id"]), "sent ENDED re"),
    (lambda p, h, f: p.send("BYE"), "sent BYE re None where RESULT re"),
    (
        lambda p, h, f: p.send("ERROR", re=h["id"], code="backend", message="no", fatal=False),
        "ERROR backend: no",
    ),
    (
        lambda p, h, f: p.send("ERROR", code="bad", message="a\n\x1b[31mb", fatal=True),
        "ERROR bad: a b",
    ),
    (lambda p, h, f: answer(p, h, f, step_ns=-1), "broke the protocol: header:"),
    (lambda p, h, f: answer(p, h, f, loss="low"), "broke the protocol: header:"),
    (lambda p, h, f: answer(p, h, f, wait_ns=2**63), "broke the protocol: header:"),
    (lambda p, h, f: p.raw(b"\xc1"), "broke the protocol: header:"),
    (lambda p, h, f: [p.send("ENDED", re=0) for _ in range(100)], "ENDED re 0"),
]


@pytest.mark.parametrize(("act", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_wrong_answer_ends_the_workers_part(
    act: Callable[..., None], words: str, joined: Joined, router: Router
) -> None:
    session, _ = joined(replacing("BATCH", act), credit=1)
    set_up(session)
    taken: list[Result] = []
    with fails("failed", words):
        session.train(batches(router, 3), taken.append)
    assert taken == []


def test_answers_out_of_order_are_wrong(joined: Joined, router: Router) -> None:
    held: list[Header] = []

    def swap(peer: Peer, header: Header, frames: list[bytes]) -> None:
        held.append(header)
        if len(held) == 2:
            answer(peer, held[1], [])
            answer(peer, held[0], [])

    session, _ = joined(replacing("BATCH", swap), credit=2)
    set_up(session)
    with fails("failed", "where RESULT re"):
        train(session, batches(router, 2))


def test_steps_before_a_wrong_answer_are_kept(joined: Joined, router: Router) -> None:
    def act(peer: Peer, header: Header, frames: list[bytes]) -> None:
        answer(peer, header, frames, loss=1.0 if header["step"] < 3 else None)

    session, _ = joined(replacing("BATCH", act))
    set_up(session)
    taken: list[Result] = []
    with fails("failed", "broke the protocol"):
        session.train(batches(router, 6), taken.append)
    assert [result.step for result in taken] == [0, 1, 2]
    with fails("failed", "broke the protocol"):
        session.end()


def test_an_unfinished_task_is_no_obstacle_to_reading_the_first_fails(
    joined: Joined, router: Router
) -> None:
    session, _ = joined()
    session.fail(WorkerFailureError("failed", "first"))
    session.fail(WorkerFailureError("timeout", "second"))
    with fails("failed", "first"):
        set_up(session)


def without_the_last(header: Header) -> list[dict[str, Any]]:
    return [{"name": a["name"], "shape": a["shape"]} for a in header["arrays"]][:-1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (lambda h: {"parameters": without_the_last(h)}, "None instead of ('fc2.bias', [10])"),
        (
            lambda h: {"parameters": [*without_the_last(h), {"name": "fc2.bias", "shape": [11]}]},
            "('fc2.bias', [11]) instead of ('fc2.bias', [10])",
        ),
        (
            lambda h: {"parameters": [*without_the_last(h), {"name": "b2", "shape": [10]}]},
            "('b2', [10]) instead of ('fc2.bias', [10])",
        ),
        (lambda h: {"parameters": without_the_last(h)[::-1]}, "instead of ('fc1.weight'"),
        (lambda h: {"parameter_count": 101_769}, "their number of scalars"),
        (lambda h: {"re": h["id"] + 1}, "where READY re"),
        (lambda h: {"setup_ns": -1}, "broke the protocol"),
    ],
    ids=["one missing", "another shape", "another name", "order", "count", "re", "time"],
)
def test_a_network_with_other_parameters_is_refused(
    changes: Callable[[Header], dict[str, Any]], words: str, joined: Joined
) -> None:
    session, _ = joined(replacing("SETUP", lambda p, h, f: answer(p, h, f, **changes(h))))
    with fails("failed", words):
        set_up(session)


def test_a_session_that_nobody_joined_can_ask_nothing(router: Router) -> None:
    session = Session(router, "bare", RUN)
    with fails("failed", "has not joined"):
        set_up(session)
