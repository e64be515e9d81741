"""Every message of every task that the worker has (SPEC sections 6.4 to 6.13)."""

from __future__ import annotations

import math

import numpy as np

from rosetta.conformance.check import Chapter, NotAskedError, WrongError
from rosetta.conformance.lab import Lab, same
from rosetta.proof.script import draw
from rosetta.protocol.messages import Result
from rosetta.tasks import Task, parameter_count

CHAPTER = Chapter("training")
BATCH_SIZE = 8
SIZES = (BATCH_SIZE, 1, 3, 2 * BATCH_SIZE + 1, BATCH_SIZE)


@CHAPTER.check(
    "TASK.ready", "6.5", "READY with the task's parameters in order, their count, and the threads"
)
def ready(lab: Lab, task: Task) -> str:
    """The network is built anew."""
    worker = lab.idle()
    said = worker.set_up(task, lab.parameters(task))
    built = [(p.name, p.shape) for p in said.parameters]
    wanted = [(p.name, p.shape) for p in task.parameters]
    if built != wanted:
        first = next((b for b, w in zip(built, wanted, strict=False) if b != w), None)
        raise WrongError(f"{len(built)} of {len(wanted)} parameters, the first other one {first}")
    if said.parameter_count != parameter_count(task):
        raise WrongError(f"parameter_count {said.parameter_count}, not {parameter_count(task)}")
    if said.threads != lab.subject.threads:
        raise WrongError(f"{said.threads} threads, not {lab.subject.threads}")
    return f"{len(built)} parameters, {said.parameter_count} scalars"


@CHAPTER.check("TASK.values", "6.11", "VALUES before any step: the initial ones, to the bit")
def values(lab: Lab, task: Task) -> str:
    """In the task's order, in the canonical layout."""
    worker = lab.ready(task, anew=True)
    difference = same(worker.values(), lab.parameters(task))
    if difference:
        raise WrongError(difference)
    return "the initial values"


@CHAPTER.check(
    "TASK.predictions", "6.9", "PREDICTIONS: logits float32 (n, classes), and the same ones again"
)
def predictions(lab: Lab, task: Task) -> str:
    """For several n; a prediction changes nothing."""
    worker = lab.ready(task)
    before = worker.values()
    rng = np.random.default_rng(4)
    for size in SIZES:
        inputs, _ = draw(task, rng, size)
        if worker.logits(inputs).tobytes() != worker.logits(inputs).tobytes():
            raise WrongError(f"other logits for the same {size} inputs")
    difference = same(worker.values(), before)
    if difference:
        raise WrongError(f"after PREDICT, {difference}")
    return f"for {len(SIZES)} batches"


@CHAPTER.check(
    "TASK.results", "6.7", "RESULT with the BATCH's step, a loss and times, for any batch size"
)
def results(lab: Lab, task: Task) -> str:
    """Sizes from 1 up, smaller and larger than the usual one."""
    worker = lab.ready(task, anew=True)
    rng = np.random.default_rng(5)
    losses = []
    for step, size in enumerate(SIZES):
        result = worker.train_on(*draw(task, rng, size))
        _check(result, step)
        losses.append(result.loss)
    return "losses " + ", ".join(f"{loss:.3g}" for loss in losses)


@CHAPTER.check(
    "TASK.numbered", "6.6", "RESULT with the `step` of its BATCH, whatever number that is"
)
def numbered(lab: Lab, task: Task) -> str:
    """A worker repeats the number; it doesn't count."""
    worker = lab.ready(task)
    for number in (2**40, 5):
        worker.step = number
        result = worker.train_on(*draw(task, np.random.default_rng(6), 2))
        if result.step != number:
            raise WrongError(f"step {result.step} for the BATCH of step {number}")
    return "steps 2^40 and 5"


@CHAPTER.check("TASK.end", "7", "ENDED; then ERROR bad_state for BATCH, PREDICT and PARAMETERS")
def end(lab: Lab, task: Task) -> str:
    """The network is gone."""
    worker = lab.ready(task)
    worker.end_task()
    inputs, labels = draw(task, np.random.default_rng(7), 2)
    for number in (
        worker.say_batch(inputs, labels),
        worker.say("PREDICT", {}, {"inputs": inputs}),
        worker.say("PARAMETERS"),
    ):
        error, _ = worker.hear_answer("ERROR", number)
        if error.code != "bad_state" or error.fatal:
            raise WrongError(f"ERROR {error.code}, fatal {error.fatal}")
    return "ENDED, three times ERROR bad_state"


@CHAPTER.check(
    "TASK.again", "7", "a second SETUP starts from nothing: the same losses and values as the first"
)
def again(lab: Lab, task: Task) -> str:
    """What the optimiser has gathered would show in the second step at the latest."""
    runs = []
    rng = np.random.default_rng(8)
    batches = [draw(task, rng, BATCH_SIZE) for _ in range(3)]
    for _ in range(2):
        worker = lab.ready(task, anew=True)
        difference = same(worker.values(), lab.parameters(task))
        if difference:
            raise WrongError(f"after SETUP, {difference}")
        runs.append([worker.train_on(*batch).loss for batch in batches])
    if not np.allclose(runs[0], runs[1], rtol=1e-5, atol=0, equal_nan=True):
        raise WrongError(f"losses {_shown(runs[1])} where {_shown(runs[0])} came first")
    return f"losses {_shown(runs[1])}"


@CHAPTER.check(
    "seed", "11", "the same losses for the same seed, with dropout in training", required=False
)
def seed(lab: Lab) -> str:
    """On the first task of the worker's that has dropout."""
    task = next((t for t in lab.tasks() if any("rate" in _keys(x) for x in t.layers)), None)
    if task is None:
        raise NotAskedError("no task of its own has dropout")
    losses = []
    for number in (1, 1):
        worker = lab.idle()
        worker.set_up(task, lab.parameters(task), seed=number, dropout=True)
        losses.append(worker.train_on(*draw(task, np.random.default_rng(9), BATCH_SIZE)).loss)
        worker.end_task()
    if losses[0] != losses[1]:
        raise WrongError(f"losses {_shown(losses)}")
    return f"losses {_shown(losses)}"


def _check(result: Result, step: int) -> None:
    if result.step != step:
        raise WrongError(f"step {result.step} for the BATCH of step {step}")
    if not math.isfinite(result.loss):
        raise WrongError(f"loss {result.loss} in step {step}")


def _keys(layer: object) -> tuple[str, ...]:
    return getattr(type(layer), "__struct_fields__", ())


def _shown(losses: list[float]) -> str:
    return ", ".join(f"{loss:.6g}" for loss in losses)
