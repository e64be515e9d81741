"""The coordinator's side of one worker's session (SPEC section 7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator import address, connection_file
from rosetta.coordinator.deadlines import Deadlines
from rosetta.coordinator.failure import WorkerFailureError
from rosetta.coordinator.peer import PUMP_SECONDS, Peer
from rosetta.coordinator.prepared import (
    Plane,
    PreparedMessage,
    prepare_predict,
    prepare_setup,
)
from rosetta.coordinator.router import Router
from rosetta.coordinator.shared_memory import SharedMemory
from rosetta.protocol import VERSION, Arrays, encode
from rosetta.protocol.messages import (
    Batch,
    Bye,
    End,
    Ended,
    Hello,
    Message,
    Parameters,
    Predict,
    Predictions,
    Ready,
    Result,
    Shared,
    Values,
    Welcome,
)
from rosetta.tasks import Task, parameter_count
from rosetta.tasks.definition import Gru

RECONNECT_NS = 10 * 10**9

CREDIT: Mapping[Plane, int] = {"inline": 2, "shm": 32}
"""Batches under way at one worker, unless something else is asked for.

Inline each takes memory in two processes, so there is one that computes and the next. In shared
memory a batch under way costs nothing, and a whole turn's can be there from its beginning. (What
found no room there, and travels, is counted as inline.)
"""


class Session(Peer):
    """Talks with one worker. Every method that asks something raises `WorkerFailureError`."""

    def __init__(
        self,
        router: Router,
        name: str,
        run: str,
        *,
        device: str = "cpu",
        threads: int = 1,
        deadlines: Deadlines | None = None,
        credit: int | None = None,
        shared: SharedMemory | None = None,
    ) -> None:
        """`shared`: where batches may lie for a worker that this process starts and that can.

        `credit`: questions under way at most; None: `CREDIT` of the plane that it comes to.
        """
        super().__init__(router, name, run, deadlines or Deadlines(), credit or CREDIT["inline"])
        self._chosen_credit = credit
        self._shared = shared
        self.device = device
        self.threads = threads
        self._built: list[tuple[str, list[int]]] = []

    def write_connection_file(self, path: Path, *, elsewhere: bool = False) -> None:
        """Write the file that the worker is started with, here or `elsewhere`."""
        reached = address.from_elsewhere if elsewhere else address.from_here
        connection_file.write(
            path,
            endpoint=reached(self.router.endpoint),
            run=self.run,
            key=self.key,
            worker=self.name,
            device=self.device,
            threads=self.threads,
            curve=self.router.admit(),
        )

    def await_hello(self, since: float) -> Hello:
        """Wait for the greeting and welcome the worker; `since` is when it was started.

        A worker on another device, or with other threads than it was started for, fails: its row
        would be compared with others under other conditions.
        """
        self.wait_until(lambda: self.hello is not None, self.deadlines.start, "HELLO", since=since)
        assert self.hello is not None
        found, asked = (self.hello.device, self.hello.threads), (self.device, self.threads)
        if found != asked:
            sentence = "computes on {} with {} threads, where {} with {} were asked for"
            raise WorkerFailureError("failed", sentence.format(*found, *asked))
        shm = None
        if self._shared and self.process and "shm" in self.hello.planes:
            self.plane = "shm"
            self.credit = self._chosen_credit or CREDIT["shm"]  # inline it is the heavy one
            shm = Shared(self._shared.path, self._shared.size_bytes)
        welcome = Welcome(
            id=self.router.next_id(),
            re=self.hello.id,
            protocol=VERSION,
            credit=self.credit,
            reconnect_ns=RECONNECT_NS,
            shm=shm,
        )
        self.send(encode(welcome))
        return self.hello

    def setup(
        self,
        task: Task,
        parameters: Mapping[str, NDArray[np.float32]],
        *,
        seed: int,
        dropout: bool,
    ) -> Ready:
        """Have the network built, and check that it has the task's parameters.

        Parameters that lie in shared memory aren't sent to a worker on that plane.
        """
        self._check_forms(task)
        request = prepare_setup(
            self.router.next_id(),
            task,
            parameters,
            seed=seed,
            dropout=dropout,
            threads=self.threads,
            shared=self._shared,
        )
        self.answered = set()
        self.send(request.frames_on(self.plane))
        ready, _ = self.receive(Ready, request.message.id, self.deadlines.setup)
        built = [(p.name, p.shape) for p in ready.parameters]
        wanted = [(p.name, p.shape) for p in task.parameters]
        if built != wanted or ready.parameter_count != parameter_count(task):
            sentence = f"built other parameters than the task's: {_difference(wanted, built)}"
            raise WorkerFailureError("failed", sentence)
        self._built = built
        return ready

    def train(
        self, batches: Iterable[PreparedMessage], on_result: Callable[[Result], None]
    ) -> None:
        """Train on `batches` (made by `prepare_batch`); `on_result` gets each RESULT in order."""
        for prepared, result, _ in self.pipeline(batches, Result):
            asked = prepared.message
            if not isinstance(asked, Batch) or result.step != asked.step:
                raise WorkerFailureError("failed", f"answered step {result.step} out of turn")
            on_result(result)

    def predict(self, chunks: Iterable[NDArray[Any]], outputs: int) -> Iterator[NDArray[Any]]:
        """Logits or features, float32 (samples, outputs), of each chunk of inputs in turn."""
        requests = (
            prepare_predict(self.router.next_id(), chunk, shared=self._shared) for chunk in chunks
        )
        return (logits for _, logits in self.answer_each(requests, outputs))

    def answer_each(
        self, requests: Iterable[PreparedMessage], outputs: int
    ) -> Iterator[tuple[Predictions, NDArray[Any]]]:
        """The same for requests made by `prepare_predict`, with the message that they came in."""
        for prepared, answer, arrays in self.pipeline(requests, Predictions):
            shape = (_samples_of(prepared.message), outputs)
            logits = arrays.get("logits")
            if logits is None or logits.shape != shape or logits.dtype != np.float32:
                raise WorkerFailureError("failed", f"PREDICTIONS hold no {shape} logits in float32")
            yield answer, logits

    def parameters(self) -> Arrays:
        """Present values of all parameters, float32, by canonical name in canonical order."""
        message = Parameters(id=self.router.next_id())
        values = self.ask(message, {}, Values, self.deadlines.step)[1]
        sent = [(name, list(array.shape)) for name, array in values.items()]
        if sent != self._built or any(array.dtype != np.float32 for array in values.values()):
            what = _difference(self._built, sent)
            raise WorkerFailureError("failed", f"sent other parameters than it built: {what}")
        return values

    def end(self) -> None:
        """Have the network freed; the next `setup` may follow."""
        self.ask(End(id=self.router.next_id()), {}, Ended, self.deadlines.end)

    def bye(self) -> None:
        """Part in peace: BYE, then wait for the process's exit."""
        self.send(encode(Bye(id=self.router.next_id())))
        deadline = time.monotonic() + self.deadlines.end
        while not self._gone():
            if time.monotonic() > deadline:
                raise WorkerFailureError(
                    "timeout", f"did not leave within {self.deadlines.end:g} s after BYE"
                )
            self.router.pump(PUMP_SECONDS)

    def close(self) -> None:
        """End the process if it still runs, and forget the session."""
        if self.process:
            self.process.kill()
        self.router.remove(self)

    def _check_forms(self, task: Task) -> None:
        if self.hello is None:
            raise WorkerFailureError("failed", "has not joined")
        form = self.hello.forms.get("gru", "cudnn")
        sent = next((layer.form for layer in task.layers if isinstance(layer, Gru)), form)
        if sent != form:
            sentence = f"has the GRU in the {form} form only; the task is in the {sent} form"
            raise WorkerFailureError("failed", sentence)

    def _gone(self) -> bool:
        """Its process has exited; where it was started by hand, its BYE came."""
        if self.process:
            return self.exited()
        return self.exited() or any(isinstance(message, Bye) for message, _ in self.inbox)


def _samples_of(message: Message) -> int:
    return message.arrays[0].shape[0] if isinstance(message, Predict) else 0


def _difference(wanted: list[Any], built: list[Any]) -> str:
    for position in range(max(len(wanted), len(built))):
        pair = [side[position] if position < len(side) else None for side in (wanted, built)]
        if pair[0] != pair[1]:
            return f"{pair[1]} instead of {pair[0]}"
    return "their number of scalars"
