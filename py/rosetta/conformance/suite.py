"""The whole suite: every check of every chapter, in the order that needs the fewest processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec

from rosetta.conformance import (
    credit,
    endings,
    errors,
    greeting,
    headers,
    numbers,
    planes,
    small,
    training,
)
from rosetta.conformance.check import (
    EACH_TASK,
    Check,
    NotAskedError,
    Outcome,
    Report,
    Status,
    WrongError,
    passed,
)
from rosetta.conformance.lab import Lab
from rosetta.conformance.worker_under_test import Subject
from rosetta.coordinator import WorkerFailureError
from rosetta.errors import one_line
from rosetta.protocol import VERSION

CHAPTERS = [
    greeting.CHAPTER,
    training.CHAPTER,
    headers.CHAPTER,
    credit.CHAPTER,
    errors.CHAPTER,
    planes.CHAPTER,
    numbers.CHAPTER,
    endings.CHAPTER,
]
CHECKS = [check for chapter in CHAPTERS for check in chapter.checks]
MOST_TIMEOUTS = 5
"""After so many answers that didn't come in time, nothing more is asked."""


def conform(
    subject: Subject,
    *,
    full: bool = False,
    only: Callable[[str], bool] = lambda name: True,
    tell: Callable[[Outcome], object] = lambda outcome: None,
) -> Report:
    """Make every check whose name is `only` to be made, and `tell` what came of each.

    The first check, `greeting.hello`, is always made: the others need what HELLO says. `full` adds
    the proof at the tasks' own sizes. A worker that fails is no error: it is in the report.
    """
    started = time.perf_counter_ns()
    outcomes: list[Outcome] = []
    with Lab(subject, full=full) as lab:
        for check in _each(lab):
            if check is CHECKS[0] or only(check.name):
                outcomes.append(_outcome(lab, check))
                tell(outcomes[-1])
        hello = msgspec.to_builtins(lab.hello) if lab.hello else None
    if hello:
        del hello["key"]
    return Report(
        protocol=VERSION,
        command=list(subject.argv),
        hello=hello,
        checks=outcomes,
        passed=passed(outcomes),
        duration_ns=time.perf_counter_ns() - started,
    )


def names() -> list[str]:
    """The name of every check, in the order in which they are made."""
    found = []
    for chapter in CHAPTERS:
        for check in chapter.checks:
            each = small.NAMES if check.each_task else [EACH_TASK]
            found += [check.name.replace(EACH_TASK, task) for task in each]
    return found


def _each(lab: Lab) -> Iterator[Check]:
    """The checks; a chapter's checks of each task come behind its others, task by task.

    So a network is built as seldom as can be. A task that the worker doesn't have is listed, too.
    """
    for chapter in CHAPTERS:
        yield from (check for check in chapter.checks if not check.each_task)
        for task in lab.all_tasks():
            yield from (check.of(task) for check in chapter.checks if check.each_task)


def _outcome(lab: Lab, check: Check) -> Outcome:
    status: Status
    try:
        status, came = "ok", _make(lab, check)
    except NotAskedError as reason:
        status, came = "not_asked", str(reason)
    except WrongError as wrong:
        status, came = "wrong", str(wrong)
        lab.renew()
    except WorkerFailureError as failure:
        status, came = "wrong", failure.reason
        if failure.status == "timeout":
            lab.timeouts.append(check.name)
        lab.renew()
    return Outcome(
        name=check.name,
        status=status,
        required=check.required,
        section=check.section,
        expected=check.expected,
        came=one_line(came),
    )


def _make(lab: Lab, check: Check) -> str:
    needs_hello = check is not CHECKS[0] and (
        check.run is not greeting.conditions or lab.declined is None
    )
    if lab.hello is None and needs_hello:
        raise NotAskedError("no HELLO came")
    if len(lab.timeouts) >= MOST_TIMEOUTS and check.run is not endings.deadlines:
        raise NotAskedError(f"after {MOST_TIMEOUTS} answers that didn't come in time")
    came = check.run(lab)
    lab.settle()
    return came
