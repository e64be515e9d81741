"""Other ways to bring the same bytes to other processes, each at its most favourable.

A block is streamed to a receiver without any answer until its end, or, as ours are, every batch is
answered by a small message, with as many of them under way; a receiver takes a batch and does
nothing with it. Every receiver is a process on the processors that a worker has.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
import zmq
from numpy.typing import NDArray

from rosetta.bench import conditions
from rosetta.coordinator.session import CREDIT

Payload = NDArray[np.uint8]
"""The bytes of a batch, inputs and labels together."""
WINDOW = CREDIT["shm"]
"""Batches under way where each is answered: as many as at a worker."""
_LIMIT_MS = 60_000
_spawn = multiprocessing.get_context("spawn")


class PeerError(Exception):
    """A receiver didn't answer; one sentence."""


class PeerCarrier(Protocol):
    """Carries blocks of batches to its receivers."""

    def carry(self, batches: Sequence[Payload], count: int, workers: int) -> int:
        """Nanoseconds until `count` batches, in rotation, were taken by each of `workers`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class AnsweringCarrier(PeerCarrier, Protocol):
    """One that can have every batch answered, too."""

    def carry(
        self, batches: Sequence[Payload], count: int, workers: int, window: int | None = None
    ) -> int:
        """With `window` every batch is answered, and so many are under way at most."""


class Answered:
    """The same processes as `peer`, with every batch answered. Enter and leave `peer` itself."""

    def __init__(self, peer: AnsweringCarrier) -> None:
        self._peer = peer

    def carry(self, batches: Sequence[Payload], count: int, workers: int) -> int:
        """As `PeerCarrier` says."""
        return self._peer.carry(batches, count, workers, WINDOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Memcpy:
    """One copy of each batch, within this process."""

    def carry(self, batches: Sequence[Payload], count: int, workers: int) -> int:
        """Nanoseconds of `count` copies, whatever `workers` says, into as many places in turn."""
        places = [np.empty_like(batch) for batch in batches]
        for place in places:
            place.fill(0)  # or the first copies would wait for memory
        started = time.perf_counter_ns()
        for number in range(count):
            chosen = number % len(batches)
            np.copyto(places[chosen], batches[chosen])
        return time.perf_counter_ns() - started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class PushPull:
    """Raw pyzmq: a PUSH socket for each receiver, zero-copy on the sender."""

    def __init__(self, transport: Literal["tcp", "ipc"], receivers: int, scratch: Path) -> None:
        """Start the receivers. Raises PeerError."""
        self._context = zmq.Context()
        self._pushes = [self._socket(zmq.PUSH) for _ in range(receivers)]
        self._done = self._socket(zmq.PULL)
        self._processes = []
        try:
            back = self._bind(self._done, transport, scratch / "pyzmq-done")
            for number, push in enumerate(self._pushes):
                where = self._bind(push, transport, scratch / f"pyzmq-{number}")
                self._processes.append(_start(_pull, where, back, conditions.processors(1, "cpu")))
            with _answering("the raw pyzmq peer"):
                for _ in self._pushes:
                    self._done.recv()
        except BaseException:
            self.close()
            raise

    def carry(
        self, batches: Sequence[Payload], count: int, workers: int, window: int | None = None
    ) -> int:
        """As `AnsweringCarrier` says."""
        views = [batch.data for batch in batches]
        started = time.perf_counter_ns()
        with _answering("the raw pyzmq peer"):
            for push in self._pushes[:workers]:
                _paced(count, window, partial(_push, push, views), self._done.recv)
        return time.perf_counter_ns() - started

    def close(self) -> None:
        """End the receivers."""
        _end(self._processes)
        for socket in (*self._pushes, self._done):
            socket.close(linger=0)
        self._context.term()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._context.socket(kind)
        socket.sndtimeo = socket.rcvtimeo = _LIMIT_MS
        return socket

    def _bind(self, socket: zmq.Socket[bytes], transport: str, path: Path) -> str:
        socket.bind(f"ipc://{path}" if transport == "ipc" else "tcp://127.0.0.1:*")
        return socket.getsockopt_string(zmq.LAST_ENDPOINT)


class Queue:
    """`multiprocessing.Queue`, one for each receiver."""

    def __init__(self, receivers: int) -> None:
        """Start the receivers."""
        self._done = _spawn.Queue()
        self._queues: list[Any] = [_spawn.Queue() for _ in range(receivers)]
        processors = conditions.processors(1, "cpu")
        self._processes = [_start(_get, one, self._done, processors) for one in self._queues]
        try:
            with _answering("the multiprocessing.Queue"):
                for _ in self._queues:
                    self._done.get(timeout=_LIMIT_MS / 1000)
        except BaseException:
            self.close()
            raise

    def carry(
        self, batches: Sequence[Payload], count: int, workers: int, window: int | None = None
    ) -> int:
        """As `AnsweringCarrier` says."""
        wait = partial(self._done.get, timeout=_LIMIT_MS / 1000)
        started = time.perf_counter_ns()
        with _answering("the multiprocessing.Queue"):
            for one in self._queues[:workers]:
                _paced(count, window, partial(_put, one, batches), wait)
        return time.perf_counter_ns() - started

    def close(self) -> None:
        """End the receivers."""
        _end(self._processes)
        for one in (*self._queues, self._done):
            one.cancel_join_thread()
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _push(push: Any, views: Sequence[memoryview], number: int, answer: bool) -> None:
    push.send_multipart([b"1" if answer else b"", views[number % len(views)]], copy=False)


def _put(one: Any, batches: Sequence[Payload], number: int, answer: bool) -> None:
    one.put((answer, batches[number % len(batches)]))


def _paced(
    count: int,
    window: int | None,
    send: Callable[[int, bool], None],
    wait: Callable[[], object],
) -> None:
    """Send batches 0 to `count` - 1 to one receiver; only the last is answered without `window`."""
    under_way = 0
    for number in range(count):
        if under_way == window:
            wait()
            under_way -= 1
        answer = window is not None or number == count - 1
        send(number, answer)
        under_way += answer
    for _ in range(under_way):
        wait()


@contextlib.contextmanager
def _answering(whose: str) -> Iterator[None]:
    try:
        yield
    except (zmq.Again, queue.Empty) as error:
        raise PeerError(f"a receiver of {whose} doesn't answer") from error


def _start(target: Any, *arguments: Any) -> Any:
    process = _spawn.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def _end(processes: Sequence[Any]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


# --- in the receivers -----------------------------------------------------------------------------


def settle(processors: Sequence[int]) -> None:
    """Stay on these logical CPUs, and end with the process that started this one, not before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too, and isn't ours to handle
    if processors and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, processors)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _pull(where: str, back: str, processors: Sequence[int]) -> None:
    settle(processors)
    context = zmq.Context()
    pull, done = context.socket(zmq.PULL), context.socket(zmq.PUSH)
    pull.connect(where)
    done.connect(back)
    done.send(b"")
    while True:
        last, _ = pull.recv_multipart(copy=False)
        if last.bytes:
            done.send(b"")


def _get(batches: Any, done: Any, processors: Sequence[int]) -> None:
    settle(processors)
    done.put(None)
    while True:
        last, _ = batches.get()
        if last:
            done.put(None)
