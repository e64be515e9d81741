"""Round trip: a batch that is a header only, against a raw ROUTER/DEALER ping-pong."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import zmq

from rosetta import tasks
from rosetta.bench import conditions
from rosetta.coordinator import Lease
from rosetta.harness.blocks import interleaved, interval_of, speed_ratio
from rosetta.harness.crew import Arrays, Crew
from rosetta.harness.extent import Series
from rosetta.harness.peers import PeerError, settle
from rosetta.harness.record import RoundTrip
from rosetta.protocol.messages import Result
from rosetta.results import RunDirectory, median_and_mad

_LIMIT_MS = 60_000


def measure(series: Series, *, seed: int, directory: RunDirectory, scratch: Path) -> RoundTrip:
    """Both over ipc, one message under way at a time. Raises WorkerFailureError, PeerError.

    The batch's sample lies in shared memory, so that nothing but a header travels, and so does as
    long a frame in the ping-pong.
    """
    with Crew("shm", 1, scratch=scratch, log=directory.log("null"), credit=1) as crew:
        task = tasks.load("mlp")
        crew.setup(task)
        sample = np.zeros((1, *task.input.shape), np.uint8), np.zeros(1, np.int32)
        with PingPong(scratch, _header_bytes(crew, sample)) as raw:
            contenders = {
                "ours": lambda number: _trips(crew, sample, series.size),
                "raw": lambda number: raw.trips(series.size),
            }
            times = interleaved(contenders, series.blocks, seed)
    return result(times["ours"], times["raw"], series.size)


def result(ours: Sequence[int], raw: Sequence[int], trips: int) -> RoundTrip:
    """The figures, from the nanoseconds of each block of `trips`."""
    ratio = speed_ratio(raw, ours)  # how much faster the raw one is: how much longer ours takes
    return RoundTrip(
        ratio=ratio.value,
        interval=interval_of(ratio),
        round_trip_ns=median_and_mad(ours)[0] // trips,
        raw_ns=median_and_mad(raw)[0] // trips,
    )


def _trips(crew: Crew, sample: Arrays, trips: int) -> int:
    def nothing(result: Result) -> None:
        pass

    (session,) = crew.sessions
    with Lease(crew.shared) as lease:
        batches = [crew.prepare(sample, lease) for _ in range(trips)]
        started = time.perf_counter_ns()
        session.train(batches, nothing)
        return time.perf_counter_ns() - started


def _header_bytes(crew: Crew, sample: Arrays) -> int:
    with Lease(crew.shared) as lease:
        return sum(len(frame) for frame in crew.prepare(sample, lease).frames_on("shm"))


class PingPong:
    """A ROUTER here and a DEALER in another process, which sends back what it gets."""

    def __init__(self, scratch: Path, size_bytes: int) -> None:
        """Start the other process. Raises PeerError."""
        self._message = bytes(size_bytes)
        self._context = zmq.Context()
        self._router: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self._router.rcvtimeo = _LIMIT_MS
        where = f"ipc://{scratch / 'ping-pong'}"
        self._router.bind(where)
        self._process = multiprocessing.get_context("spawn").Process(
            target=_send_back, args=(where, conditions.processors(1, "cpu")), daemon=True
        )
        self._process.start()
        try:
            self._identity, _ = self._received()
        except BaseException:
            self.close()
            raise

    def trips(self, count: int) -> int:
        """Nanoseconds of `count` round trips."""
        started = time.perf_counter_ns()
        for _ in range(count):
            self._router.send_multipart([self._identity, self._message])
            self._received()
        return time.perf_counter_ns() - started

    def _received(self) -> list[bytes]:
        try:
            return self._router.recv_multipart()
        except zmq.Again as error:
            raise PeerError("the other end of the ping-pong doesn't answer") from error

    def close(self) -> None:
        """End the other process."""
        self._process.kill()
        self._process.join()
        self._router.close(linger=0)
        self._context.term()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _send_back(where: str, processors: Sequence[int]) -> None:
    settle(processors)
    dealer = zmq.Context().socket(zmq.DEALER)
    dealer.connect(where)
    dealer.send(b"")
    while True:
        dealer.send(dealer.recv())
