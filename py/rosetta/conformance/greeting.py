"""HELLO, and what a worker does that isn't taken (SPEC sections 2, 6.1, 6.3, 7, 12)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from rosetta.conformance import frames
from rosetta.conformance.check import Chapter, NotAskedError, WrongError
from rosetta.conformance.lab import Lab
from rosetta.conformance.traces import Departure
from rosetta.conformance.worker_under_test import WorkerUnderTest
from rosetta.coordinator import Router, WorkerFailureError
from rosetta.protocol import VERSION
from rosetta.protocol.messages import DTYPES

CHAPTER = Chapter("greeting")
_STRANGE_DEVICE = "nonesuch:7"
_POLL_SECONDS = 0.05


@CHAPTER.check(
    "hello",
    "6.1",
    f"HELLO as the first message: protocol {VERSION.split('.')[0]}.x, and the run, key and name of "
    "the connection file",
)
def hello(lab: Lab) -> str:
    """Types and bounds are the decoder's to check; protocol, key and name the router's."""
    try:
        worker = lab.greeting()
    except WorkerFailureError as failure:
        if failure.status != "skipped":
            raise
        lab.declined = failure.reason
        raise NotAskedError(_declined(lab)) from failure
    assert worker.hello
    if worker.router.strangers > worker.strangers:
        raise WrongError("something that isn't a HELLO came first")
    said = worker.hello
    language = f"{said.language} {said.language_version}"
    return f"protocol {said.protocol}: {said.framework} {said.framework_version} in {language}"


@CHAPTER.check(
    "conditions",
    "6.1",
    "device and threads that the connection file asks for; or exit with status 3 and a sentence",
)
def conditions(lab: Lab) -> str:
    """Whoever computes with others would be compared under other conditions."""
    if lab.declined is not None:
        reason = _declined(lab)
        raise NotAskedError(reason) if lab.declined else WrongError(reason)
    worker = lab.greeting()
    assert worker.hello
    came = f"{worker.hello.device} with {worker.hello.threads} threads"
    if came != _asked(lab):
        raise WrongError(
            f"{came} where {_asked(lab)} was asked for: who can't do that exits with status 3"
        )
    return came


def _asked(lab: Lab) -> str:
    return f"{lab.subject.device} with {lab.subject.threads} threads"


def _declined(lab: Lab) -> str:
    """What a worker that doesn't compute under these conditions said, and what to do about it."""
    words = lab.declined or "and not a word on standard error"
    return f"exit with status 3 for {_asked(lab)} ({words}); --device and --threads ask for others"


@CHAPTER.check("planes", "5", "the plane `inline`, which every worker can use")
def planes(lab: Lab) -> str:
    """Whatever else is announced is checked in its own chapter."""
    worker = lab.greeting()
    assert worker.hello
    if "inline" not in worker.hello.planes:
        raise WrongError(f"planes {worker.hello.planes}")
    return ", ".join(worker.hello.planes)


@CHAPTER.check("dtypes", "6.1", "the element types that its tasks need, all of the five known")
def dtypes(lab: Lab) -> str:
    """Parameters are float32, labels int32, inputs what the task says."""
    worker = lab.greeting()
    assert worker.hello
    needed = {"float32", "int32"} | {task.input.dtype for task in lab.tasks()}
    said = set(worker.hello.dtypes)
    if not needed <= said or not said <= set(DTYPES):
        raise WrongError(f"{sorted(said)}, where {sorted(needed)} are needed")
    return ", ".join(sorted(said))


@CHAPTER.check("routing_id", "3", "a routing id that the worker has chosen", required=False)
def routing_id(lab: Lab) -> str:
    """Without one it isn't known again after a reconnection."""
    worker = lab.greeting()
    if not worker.is_known_again:
        raise WrongError("none")
    return "one"


@CHAPTER.check(
    "routing_id_length", "3", "16 or more random bytes as routing id, where the worker chooses one"
)
def routing_id_length(lab: Lab) -> str:
    """Whoever knows it can speak for the worker."""
    worker = lab.greeting()
    if not worker.is_known_again:
        raise NotAskedError("it has chosen none")
    length = len(worker.identity or b"")
    if length < 16:
        raise WrongError(f"{length} bytes")
    return f"{length} bytes"


@CHAPTER.check("before_welcome", "7", "ERROR bad_state for SETUP before WELCOME, ENDED for END")
def before_welcome(lab: Lab) -> str:
    """The worker stays in the state `greeting`."""
    worker = lab.greeting()
    task = lab.any_task()
    number = worker.say("SETUP", worker.setup_fields(task), lab.parameters(task))
    error, _ = worker.hear_answer("ERROR", number)
    if error.code != "bad_state" or error.fatal:
        raise WrongError(f"ERROR {error.code}, fatal {error.fatal}")
    worker.hear_answer("ENDED", worker.say("END"), "end")
    return "ERROR bad_state, ENDED"


@CHAPTER.check("welcome", "6.2", "nothing for WELCOME, unknown keys in it or not; a SETUP may come")
def welcome(lab: Lab) -> str:
    """Its keys of a later version hold values of every kind that msgpack has.

    If it stumbles over these, the workers of the other checks get none of them.
    """
    worker = lab.greeting()
    worker.welcome(**frames.STRANGE)
    worker.hear_answer("ENDED", worker.say("END"), "end")
    return "nothing; then ENDED for END"


@CHAPTER.check(
    "refused", "7", "nothing for REFUSE; exit with status 1 and a sentence on standard error"
)
def refused(lab: Lab) -> str:
    """A process of its own."""
    with _own(lab) as worker:
        greeting = worker.greet()
        fields = {"re": greeting.id, "code": "bad_key", "reason": "no such worker is expected"}
        worker.say("REFUSE", fields)
        return _leaves(lab, worker, 1)


@CHAPTER.check("other_major", "2", "exit with status 1 for a connection file of another major")
def other_major(lab: Lab) -> str:
    """It says so before it connects."""
    with _own(lab, protocol="2.0") as worker:
        return _leaves(lab, worker, 1)


@CHAPTER.check("missing_key", "2", "exit with status 1 for a connection file that lacks `protocol`")
def missing_key(lab: Lab) -> str:
    """Each of the first five keys is needed; this stands for all."""
    with _own(lab, protocol=None) as worker:
        return _leaves(lab, worker, 1)


@CHAPTER.check(
    "no_device", "2", "exit with status 3, and no HELLO, for a device that it doesn't have"
)
def no_device(lab: Lab) -> str:
    """Its row is then skipped, not failed."""
    lab.require_numbers()
    with _own(lab, device=_STRANGE_DEVICE) as worker:
        return _leaves(lab, worker, 3)


@CHAPTER.check(
    "encrypted",
    "12",
    "HELLO through CURVE where the connection file has keys, and BYE for BYE before WELCOME; or "
    "exit with status 1",
)
def encrypted(lab: Lab) -> str:
    """A worker that can't encrypt may say so, but never speak in the clear."""
    try:
        router = Router("tcp://127.0.0.1:*", encrypted=True)
    except Exception as error:  # a pyzmq without CURVE: whatever it raises
        raise NotAskedError(f"this pyzmq can't encrypt: {error}") from error
    with contextlib.closing(router), _own(lab, router) as worker:
        try:
            worker.greet()
        except WorkerFailureError as failure:
            if failure.status != "crashed":
                raise
            return _leaves(lab, worker, 1)
        worker.hear_answer("BYE", worker.say("BYE"), "end")
        return "HELLO, BYE, " + _leaves(lab, worker, 0)


@contextlib.contextmanager
def _own(lab: Lab, router: Router | None = None, **changes: Any) -> Iterator[WorkerUnderTest]:
    """A worker of its own."""
    worker = lab.start(router=router, **changes)
    try:
        yield worker
    finally:
        lab.close(worker)


def _leaves(lab: Lab, worker: WorkerUnderTest, status: int) -> str:
    departure = await_exit(lab, worker, status)
    if status and not departure.words:
        raise WrongError(f"status {status}, and not a word on standard error")
    return departure.shown


def await_exit(lab: Lab, worker: WorkerUnderTest, status: int) -> Departure:
    """Its exit with `status`. Raises `WrongError`."""
    if worker.hello is None:
        _await_exit_without_hello(lab, worker)
    departure = lab.traces.departure(worker, lab.subject.deadlines.end)
    if departure.status != status:
        raise WrongError(f"{departure.shown}, not status {status}")
    return departure


def _await_exit_without_hello(lab: Lab, worker: WorkerUnderTest) -> None:
    deadline = worker.started + lab.subject.deadlines.start
    while not worker.exited() and time.monotonic() < deadline:
        worker.router.pump(_POLL_SECONDS)
        if worker.hello is not None:
            raise WrongError("HELLO")
