"""Several questions under way: never more answers, never in another order (SPEC section 7)."""

from __future__ import annotations

from collections import deque

import numpy as np

from rosetta.conformance.check import Chapter, WrongError
from rosetta.conformance.lab import Lab, same
from rosetta.conformance.small import wide_mlp
from rosetta.conformance.worker_under_test import CREDIT, WorkerUnderTest
from rosetta.proof.script import draw
from rosetta.protocol.messages import Message, Result, type_of

CHAPTER = Chapter("credit")
_ROUNDS = 3
_COPIES = 5


def _window(size: int, name: str) -> None:
    """Declares the check with `size` batches under way."""
    many = "batch" if size == 1 else "batches"

    @CHAPTER.check(
        name, "7", f"one RESULT for each BATCH, in their order, with {size} {many} under way"
    )
    def window(lab: Lab) -> str:
        worker = lab.ready()
        count = _ROUNDS * size
        _stream(worker, count, size)
        _nothing_more(worker)
        return f"{count} RESULTs for {count} BATCHes, in order"


_window(1, "one")
_window(2, "two")
_window(CREDIT, "many")


@CHAPTER.check("mixed", "7", "answers in the order of the questions, of whatever types they are")
def mixed(lab: Lab) -> str:
    """All are under way at once; a wrong one in between is answered in its turn."""
    worker = lab.ready()
    assert worker.task
    inputs, labels = draw(worker.task, np.random.default_rng(1), 4)
    asked = [
        (worker.say_batch(inputs, labels), "RESULT"),
        (worker.say("PREDICT", {}, {"inputs": inputs}), "PREDICTIONS"),
        (worker.say("PARAMETERS"), "VALUES"),
        (worker.say("BATCH", {"step": worker.step}, {"inputs": inputs}), "ERROR"),
        (worker.say_batch(inputs, labels), "RESULT"),
        (worker.say("PARAMETERS"), "VALUES"),
        (worker.say("PREDICT", {}, {"inputs": inputs}), "PREDICTIONS"),
    ]
    for number, kind in asked:
        worker.hear_answer(kind, number, "first_step")
    _nothing_more(worker)
    return ", ".join(kind for _, kind in asked)


@CHAPTER.check(
    "values", "11", "VALUES of before the steps, where BATCHes are sent directly behind PARAMETERS"
)
def values(lab: Lab) -> str:
    """What a library sends without copying could be the next step's by then: so there is much."""
    assert lab.hello
    task = wide_mlp() if "mlp" in lab.hello.tasks else lab.any_task()
    worker = lab.ready(task)
    batch = draw(task, np.random.default_rng(3), 1)  # whose step is soon at the update
    worker.train_on(*batch)  # what is compiled is compiled
    for _ in range(_ROUNDS):
        before = worker.values()
        asked = [worker.say("PARAMETERS") for _ in range(_COPIES)]
        steps = [worker.say_batch(*batch) for _ in range(CREDIT - _COPIES)]
        for number in asked:
            _, found = worker.hear_answer("VALUES", number)
            difference = same(found, before)
            if difference:
                raise WrongError(f"{difference} than before the steps that came behind PARAMETERS")
        for number in steps:
            worker.hear_answer("RESULT", number)
    return f"{_ROUNDS} times {_COPIES} equal VALUES, then {len(steps)} RESULTs"


def _stream(worker: WorkerUnderTest, count: int, size: int) -> None:
    """`count` batches with `size` of them under way; each answer is checked as it comes."""
    assert worker.task
    under_way: deque[tuple[int, int]] = deque()
    rng = np.random.default_rng(2)
    for _ in range(count):
        if len(under_way) == size:
            _take(worker, under_way)
        step = worker.step
        under_way.append((worker.say_batch(*draw(worker.task, rng, 4)), step))
    while under_way:
        _take(worker, under_way)


def _take(worker: WorkerUnderTest, under_way: deque[tuple[int, int]]) -> None:
    answer, _ = worker.hear("RESULT", "first_step")
    number, step = under_way.popleft()
    if not isinstance(answer, Result) or answer.re != number or answer.step != step:
        raise WrongError(f"{_said(answer)} where RESULT re {number} of step {step} was due")


def _nothing_more(worker: WorkerUnderTest) -> None:
    """The next thing that it says answers PARAMETERS."""
    number = worker.say("PARAMETERS")
    answer, _ = worker.hear("VALUES")
    if getattr(answer, "re", None) != number:
        raise WrongError(f"{_said(answer)}: an answer more than there were questions")
    if type_of(type(answer)) != "VALUES":
        raise WrongError(f"{_said(answer)} where VALUES was due")


def _said(message: Message) -> str:
    step = f" of step {message.step}" if isinstance(message, Result) else ""
    return f"{type_of(type(message))} re {getattr(message, 're', None)}{step}"
