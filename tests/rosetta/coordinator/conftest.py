"""A coordinator's socket, and sessions with workers that a test scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zmq

from bare_peer import RUN, Behaviour, Scripted, answer
from rosetta.coordinator import Deadlines, Router, Session


@pytest.fixture
def context() -> Iterator[zmq.Context[Any]]:
    """Of the peers; ends with the test, whatever they have left open."""
    made: zmq.Context[Any] = zmq.Context()
    yield made
    made.destroy(linger=0)


@pytest.fixture
def router() -> Iterator[Router]:
    made = Router()
    yield made
    made.close()


@pytest.fixture
def joined(
    router: Router, context: zmq.Context[Any]
) -> Iterator[Callable[..., tuple[Session, Scripted]]]:
    """Makes a session whose worker has been greeted and welcomed."""

    workers: list[Scripted] = []

    def make(behave: Behaviour = answer, credit: int = 2, **seconds: float):
        usual = {"start": 5.0, "setup": 5.0, "first_step": 5.0, "step": 5.0, "end": 5.0}
        deadlines = Deadlines(**{**usual, **seconds})
        session = Session(router, "bare", RUN, deadlines=deadlines, credit=credit)
        workers.append(Scripted(context, router.endpoint, session, behave))
        session.await_hello(time.monotonic())
        return session, workers[-1]

    yield make
    for worker in workers:
        worker.stop()
