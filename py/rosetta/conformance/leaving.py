"""A coordinator that goes away and comes back."""

from __future__ import annotations

import contextlib
import time

import msgpack

from rosetta.conformance.worker_under_test import WorkerUnderTest
from rosetta.coordinator import Router, WorkerFailureError

_POLL_SECONDS = 0.05
_GONE_SECONDS = 10.0


class LeavingRouter(Router):
    """A router that can close all of its connections and what it listens at, and open it anew.

    A worker sees what it sees when the coordinator's process ends and another one begins: its
    connection breaks, and nobody is there.
    """

    def go_away(self, worker: WorkerUnderTest) -> None:
        """Stop listening, and wait until the worker can't be reached any more."""
        self._socket.unbind(self.endpoint)
        deadline = time.monotonic() + _GONE_SECONDS
        while self._reaches(worker):
            assert time.monotonic() < deadline, "libzmq keeps the connection"
            self.pump(_POLL_SECONDS)

    def come_back(self) -> None:
        """Listen at the same address again."""
        self._socket.bind(self.endpoint)

    def await_return(self, worker: WorkerUnderTest, seconds: float) -> None:
        """Wait until libzmq has restored the connection. Raises `WorkerFailureError`."""
        deadline = time.monotonic() + seconds
        while not self._reaches(worker):
            if worker.exited():
                assert worker.process
                raise WorkerFailureError("crashed", worker.process.exit_reason() or "")
            if time.monotonic() > deadline:
                raise WorkerFailureError("timeout", f"isn't connected again after {seconds:g} s")
            self.pump(_POLL_SECONDS)  # libzmq learns who has connected while it is asked for news

    def _reaches(self, worker: WorkerUnderTest) -> bool:
        """Whether a message can be sent to the worker, here one of an unknown type."""
        assert worker.identity is not None
        ping = msgpack.packb({"type": "ARE_YOU_THERE", "id": self.next_id()})
        with contextlib.suppress(WorkerFailureError):
            self.send(worker.identity, [ping])
            return True
        return False
