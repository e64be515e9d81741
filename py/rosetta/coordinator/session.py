"""The coordinator's side of one worker's session (SPEC section 7)."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator.deadlines import Deadlines
from rosetta.coordinator.failure import WorkerFailureError
from rosetta.coordinator.prepared import PreparedMessage, prepare_predict
from rosetta.coordinator.process import Process
from rosetta.coordinator.router import Router
from rosetta.protocol import VERSION, Arrays, ProtocolError, encode
from rosetta.protocol.frames import Frames, describe
from rosetta.protocol.messages import (
    Answer,
    Batch,
    Bye,
    End,
    Ended,
    Error,
    Hello,
    Message,
    Parameters,
    Predict,
    Predictions,
    Ready,
    Result,
    Setup,
    Values,
    Welcome,
)
from rosetta.tasks import Task, parameter_count

RECONNECT_NS = 10 * 10**9
_PUMP_SECONDS = 0.1
_INBOX_SLACK = 16

AnswerKind = TypeVar("AnswerKind", bound=Answer)


class Session:
    """Talks with one worker. Every method that asks something raises `WorkerFailureError`."""

    def __init__(
        self,
        router: Router,
        name: str,
        run: str,
        *,
        deadlines: Deadlines | None = None,
        credit: int = 2,
    ) -> None:
        self.name = name
        self.run = run
        self.key = router.new_key()
        self.credit = credit
        self.process: Process | None = None
        self.identity: bytes | None = None
        self.hello: Hello | None = None
        self._router = router
        self._deadlines = deadlines or Deadlines()
        self._inbox: deque[tuple[Message, Arrays]] = deque()
        self._failure: WorkerFailureError | None = None
        self._answered: set[type[Message]] = set()
        self._built: list[tuple[str, list[int]]] = []
        router.add(self)

    # --- what the router tells ------------------------------------------------------------------

    def greeted(self, identity: bytes, hello: Hello) -> None:
        """The worker's HELLO came and was accepted."""
        self.identity = identity
        self.hello = hello

    def deliver(self, message: Message, arrays: Arrays) -> None:
        """A message of this worker came."""
        if len(self._inbox) >= self.credit + _INBOX_SLACK:
            self.fail(WorkerFailureError("failed", "floods the coordinator with messages"))
            return
        self._inbox.append((message, arrays))

    def broke_protocol(self, error: ProtocolError) -> None:
        """The worker sent something that can't be read: it is told, and its row fails."""
        self.fail(WorkerFailureError("failed", f"broke the protocol: {error.sentence}"))
        answer = Error(
            id=self._router.next_id(), re=error.re, code=error.code, message=str(error), fatal=True
        )
        if self.identity is not None:
            with contextlib.suppress(WorkerFailureError):
                self._router.send(self.identity, encode(answer))

    def fail(self, failure: WorkerFailureError) -> None:
        """Remember why this worker can't go on; raised at the next question to it."""
        self._failure = self._failure or failure

    def sample_memory(self) -> None:
        """Look at the worker's memory, where it runs on this machine and was started from here."""
        if self.process:
            self.process.sample_memory()

    # --- questions ------------------------------------------------------------------------------

    def await_hello(self, since: float) -> Hello:
        """Wait for the greeting and welcome the worker; `since` is when it was started."""
        self._wait_until(
            lambda: self.hello is not None, since + self._deadlines.start, "it said HELLO"
        )
        assert self.hello is not None
        welcome = Welcome(
            id=self._router.next_id(),
            re=self.hello.id,
            protocol=VERSION,
            credit=self.credit,
            reconnect_ns=RECONNECT_NS,
        )
        self._send(encode(welcome))
        return self.hello

    def setup(
        self,
        task: Task,
        parameters: Mapping[str, NDArray[np.float32]],
        *,
        seed: int,
        dropout: bool,
        threads: int,
    ) -> Ready:
        """Have the network built, and check that it has the task's parameters."""
        message = Setup(
            id=self._router.next_id(),
            task=task.to_wire(),
            batch_size=task.training.batch_size,
            seed=seed,
            dropout=dropout,
            threads=threads,
            arrays=describe(parameters),
        )
        self._answered = set()
        ready, _ = self._ask(message, parameters, Ready, self._deadlines.setup)
        built = [(p.name, p.shape) for p in ready.parameters]
        wanted = [(p.name, p.shape) for p in task.parameters]
        if built != wanted or ready.parameter_count != parameter_count(task):
            sentence = f"built other parameters than the task's: {_difference(wanted, built)}"
            raise WorkerFailureError("failed", sentence)
        self._built = built
        return ready

    def train(self, batches: Iterable[PreparedMessage], took: Callable[[Result], None]) -> None:
        """Train on `batches` (made by `prepare_batch`); `took` gets each RESULT in order."""
        for prepared, result, _ in self._pipeline(batches, Result):
            asked = prepared.message
            if not isinstance(asked, Batch) or result.step != asked.step:
                raise WorkerFailureError("failed", f"answered step {result.step} out of turn")
            took(result)

    def predict(self, chunks: Iterable[NDArray[Any]], classes: int) -> Iterator[NDArray[Any]]:
        """Logits, float32 (samples, classes), of each chunk of inputs in turn."""
        requests = (prepare_predict(self._router.next_id(), chunk) for chunk in chunks)
        for prepared, _, arrays in self._pipeline(requests, Predictions):
            samples = _samples_of(prepared.message)
            logits = arrays.get("logits")
            shape = (samples, classes)
            if logits is None or logits.shape != shape or logits.dtype != np.float32:
                raise WorkerFailureError("failed", f"PREDICTIONS hold no {shape} logits in float32")
            yield logits

    def parameters(self) -> Arrays:
        """Present values of all parameters, float32, by canonical name in canonical order."""
        message = Parameters(id=self._router.next_id())
        values = self._ask(message, {}, Values, self._deadlines.step)[1]
        sent = [(name, list(array.shape)) for name, array in values.items()]
        if sent != self._built or any(array.dtype != np.float32 for array in values.values()):
            what = _difference(self._built, sent)
            raise WorkerFailureError("failed", f"sent other parameters than it built: {what}")
        return values

    def end(self) -> None:
        """Have the network freed; the next `setup` may follow."""
        self._ask(End(id=self._router.next_id()), {}, Ended, self._deadlines.end)

    def bye(self) -> None:
        """Part in peace: BYE, then wait for the process's exit."""
        self._send(encode(Bye(id=self._router.next_id())))
        deadline = time.monotonic() + self._deadlines.end
        while not self._gone():
            if time.monotonic() > deadline:
                raise WorkerFailureError("timeout", "did not leave after BYE")
            self._router.pump(_PUMP_SECONDS)

    def close(self) -> None:
        """End the process if it still runs, and forget the session."""
        if self.process:
            self.process.kill()
        self._router.remove(self)

    # --- how ------------------------------------------------------------------------------------

    def _pipeline(
        self, requests: Iterable[PreparedMessage], kind: type[AnswerKind]
    ) -> Iterator[tuple[PreparedMessage, AnswerKind, Arrays]]:
        """Send `requests` with at most `credit` of them unanswered; yield each with its answer."""
        under_way: deque[PreparedMessage] = deque()
        for request in requests:
            if len(under_way) == self.credit:
                yield self._next_answer(under_way, kind)
            self._send(request.frames)
            under_way.append(request)
        while under_way:
            yield self._next_answer(under_way, kind)

    def _next_answer(
        self, under_way: deque[PreparedMessage], kind: type[AnswerKind]
    ) -> tuple[PreparedMessage, AnswerKind, Arrays]:
        # Training and predicting are compiled apart: the first of each may take its time.
        first = kind not in self._answered
        seconds = self._deadlines.first_step if first else self._deadlines.step
        answer, arrays = self._receive(kind, under_way[0].message.id, seconds)
        self._answered.add(kind)
        return under_way.popleft(), answer, arrays

    def _ask(
        self, message: Message, arrays: Arrays, kind: type[AnswerKind], seconds: float
    ) -> tuple[AnswerKind, Arrays]:
        self._send(encode(message, arrays))
        return self._receive(kind, message.id, seconds)

    def _send(self, frames: Frames) -> None:
        if self.identity is None:
            raise WorkerFailureError("failed", "has not joined")
        self._check_alive()
        self._router.send(self.identity, frames)

    def _receive(
        self, kind: type[AnswerKind], re: int, seconds: float
    ) -> tuple[AnswerKind, Arrays]:
        """The answer to message `re`; anything else that the worker says is a failure."""
        awaited = f"{kind.__name__.upper()} came"
        self._wait_until(lambda: bool(self._inbox), time.monotonic() + seconds, awaited)
        message, arrays = self._inbox.popleft()
        if isinstance(message, Error):
            raise WorkerFailureError("failed", f"ERROR {message.code}: {message.message}")
        if not isinstance(message, kind) or message.re != re:
            said = f"{type(message).__name__.upper()} re {getattr(message, 're', None)}"
            raise WorkerFailureError(
                "failed", f"sent {said} where {kind.__name__.upper()} re {re} was due"
            )
        return message, arrays

    def _wait_until(self, condition: Callable[[], bool], deadline: float, awaited: str) -> None:
        while not condition():
            self._check_alive()
            left = deadline - time.monotonic()
            if left <= 0:
                words = self.process.last_words() if self.process else ""
                raise WorkerFailureError("timeout", f"the deadline passed before {awaited}{words}")
            self._router.pump(min(_PUMP_SECONDS, left))

    def _check_alive(self) -> None:
        if self._failure:
            raise self._failure
        if self.process is None or self._inbox:
            return
        reason = self.process.exit_reason()
        if reason is None:
            return
        self._router.pump(0)  # what it said before it died comes first
        if not self._inbox:
            self.fail(WorkerFailureError("crashed", reason))
            raise WorkerFailureError("crashed", reason)

    def _gone(self) -> bool:
        """Its process has exited; where it was started by hand, its BYE came."""
        if self.process:
            return self.process.exit_reason() is not None
        return any(isinstance(message, Bye) for message, _ in self._inbox)


def _samples_of(message: Message) -> int:
    return message.arrays[0].shape[0] if isinstance(message, Predict) else 0


def _difference(wanted: list[Any], built: list[Any]) -> str:
    for position in range(max(len(wanted), len(built))):
        pair = [side[position] if position < len(side) else None for side in (wanted, built)]
        if pair[0] != pair[1]:
            return f"{pair[1]} instead of {pair[0]}"
    return "their number of scalars"
