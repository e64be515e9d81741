"""How a session ends, and what is left of it (SPEC section 7)."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np

from rosetta.conformance.check import Chapter, WrongError
from rosetta.conformance.greeting import await_exit
from rosetta.conformance.lab import Lab, same
from rosetta.conformance.leaving import LeavingRouter
from rosetta.conformance.traces import Departure, family
from rosetta.conformance.worker_under_test import WorkerUnderTest, shown
from rosetta.coordinator import Deadlines, WorkerFailureError
from rosetta.proof.script import draw
from rosetta.protocol import Arrays

CHAPTER = Chapter("endings")
_RECONNECT_SECONDS = 4.0
_AWAY_SECONDS = 1.0
_AT_ONCE_SECONDS = 10.0
_POLL_SECONDS = 0.1
_PARENT = (sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])")


@CHAPTER.check("bye", "7", "BYE for BYE while a network stands, then exit with status 0")
def bye(lab: Lab) -> str:
    """After a step, and nothing behind the BYE."""
    worker = lab.ready()
    worker.train_on(*draw(lab.any_task(), np.random.default_rng(1), 4))
    departure = _part(lab, worker)
    return f"BYE, {departure.shown}"


@CHAPTER.check("bye_idle", "7", "BYE for BYE while no network stands, then exit with status 0")
def bye_idle(lab: Lab) -> str:
    """Right after its WELCOME."""
    departure = _part(lab, lab.idle())
    return f"BYE, {departure.shown}"


@CHAPTER.check("nothing_left", "7", "no process, shared memory, file or socket left after BYE")
def nothing_left(lab: Lab) -> str:
    """By any of the processes that have left with BYE."""
    if not lab.departures:
        _part(lab, lab.idle())
    for departure in lab.departures:
        _nothing_of(departure)
    return f"nothing, by {len(lab.departures)} processes"


@CHAPTER.check(
    "fatal", "7", "nothing for a fatal ERROR of the coordinator; exit with status 1 and a sentence"
)
def fatal(lab: Lab) -> str:
    """Nothing is answered."""
    worker = lab.ready()
    worker.say("ERROR", {"code": "bad_state", "message": "this is the end", "fatal": True})
    departure = await_exit(lab, worker, 1)
    _nothing_more(worker)
    lab.renew()
    return departure.shown


@CHAPTER.check("sigterm", "7", "the end at once for SIGTERM, and nothing left behind")
def sigterm(lab: Lab) -> str:
    """To its process group. The coordinator would send SIGKILL two seconds later."""
    worker = lab.ready()
    assert worker.process
    worker.process.terminate()
    departure = lab.traces.departure(worker, _AT_ONCE_SECONDS)
    _nothing_more(worker)
    lab.renew()
    return _nothing_of(departure)


@CHAPTER.check(
    "reconnection",
    "7",
    "the session goes on when the coordinator was away for a second: same network, same values, no "
    "HELLO; without a routing id, exit with status 1",
)
def reconnection(lab: Lab) -> str:
    """`reconnect_ns` is four seconds."""
    with _alone(lab) as (worker, router):
        values = _train(lab, worker)
        router.go_away(worker)
        time.sleep(_AWAY_SECONDS)
        router.come_back()
        if not worker.is_known_again:
            return f"no routing id, and {await_exit(lab, worker, 1).shown}"
        router.await_return(worker, lab.subject.deadlines.end)
        difference = same(worker.values(), values)
        if difference:
            raise WrongError(f"after the reconnection, {difference}")
        worker.train_on(*draw(lab.any_task(), np.random.default_rng(2), 4))
        return "VALUES as before, RESULT"


@CHAPTER.check(
    "coordinator_gone",
    "7",
    "exit with status 1 when the coordinator has been gone for `reconnect_ns`, here four seconds",
)
def coordinator_gone(lab: Lab) -> str:
    """And not at once, where it could be known again. While it waits for a message."""
    try:
        return _leave(lab)
    except WorkerFailureError as failure:
        if failure.status != "timeout" or not _leaves_with_its_parent(lab):
            raise
        return "it leaves with its parent process, and not with its connection"


def _leave(lab: Lab) -> str:
    with _alone(lab) as (worker, router):
        _train(lab, worker)
        router.go_away(worker)
        gone = time.monotonic()
        departure = lab.traces.departure(worker, _RECONNECT_SECONDS + lab.subject.deadlines.end)
        waited = time.monotonic() - gone
        if departure.status != 1:
            raise WrongError(f"{departure.shown}, not status 1")
        if worker.is_known_again and waited < _RECONNECT_SECONDS / 2:
            raise WrongError(f"exit after {waited:.1f} s: it didn't wait")
        _nothing_of(departure)
        return f"status 1 after {waited:.0f} s{departure.words}"


def _leaves_with_its_parent(lab: Lab) -> bool:
    """Whether it ends when the process that has started it does: its connection breaks, too."""
    with _alone(lab, parent=_PARENT) as (worker, router):
        _train(lab, worker)
        assert worker.process
        os.kill(worker.process.pid, signal.SIGKILL)
        router.go_away(worker)
        deadline = time.monotonic() + _RECONNECT_SECONDS + lab.subject.deadlines.end
        while family(worker) and time.monotonic() < deadline:
            router.pump(_POLL_SECONDS)
        return not family(worker)


@CHAPTER.check("deadlines", "7", "every answer within its deadline")
def deadlines(lab: Lab) -> str:
    """Of all that was asked before."""
    if lab.timeouts:
        raise WrongError(f"no answer in time in {', '.join(lab.timeouts)}")
    limits = vars(Deadlines())
    taken = [f"{phase} {lab.longest[phase]:.1f} s" for phase in limits if phase in lab.longest]
    return "longest: " + ", ".join(taken)


@CHAPTER.check("ids", "4", "no `id` of a message twice in a session")
def ids(lab: Lab) -> str:
    """In any of the sessions before."""
    sessions = lab.sessions()
    for session in sessions:
        twice = sorted(number for number in set(session) if session.count(number) > 1)
        if twice:
            raise WrongError(f"id {twice[0]} twice")
    return f"{sum(map(len, sessions))} messages in {len(sessions)} sessions"


@contextlib.contextmanager
def _alone(lab: Lab, parent: Sequence[str] = ()) -> Iterator[tuple[WorkerUnderTest, LeavingRouter]]:
    """A greeted and welcomed worker of its own, with a router of its own."""
    with contextlib.closing(LeavingRouter()) as router:
        worker = lab.start(router=router, parent=parent)
        try:
            worker.greet()
            worker.welcome(reconnect_ns=round(_RECONNECT_SECONDS * 1e9))
            yield worker, router
        finally:
            lab.close(worker)


def _train(lab: Lab, worker: WorkerUnderTest) -> Arrays:
    """A step on some task; the values after it."""
    task = lab.any_task()
    worker.set_up(task, lab.parameters(task))
    worker.train_on(*draw(task, np.random.default_rng(1), 4))
    return worker.values()


def _part(lab: Lab, worker: WorkerUnderTest) -> Departure:
    worker.hear_answer("BYE", worker.say("BYE"), "end")
    departure = await_exit(lab, worker, 0)
    _nothing_more(worker)
    lab.departures.append(departure)
    lab.renew()
    return departure


def _nothing_more(worker: WorkerUnderTest) -> None:
    worker.router.pump(0)
    if worker.inbox:
        raise WrongError(f"{shown(worker.inbox[0][0])}, at its end")


def _nothing_of(departure: Departure) -> str:
    if departure.left:
        raise WrongError(f"{len(departure.left)} left: {'; '.join(departure.left[:3])}")
    return f"{departure.shown}, nothing left"
