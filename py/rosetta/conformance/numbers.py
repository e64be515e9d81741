"""The timed region, and the proof that it is the task's network (SPEC sections 9 to 11)."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rosetta import tasks
from rosetta.conformance.check import Chapter, NotAskedError, WrongError
from rosetta.conformance.lab import Lab, same
from rosetta.conformance.small import wide_mlp
from rosetta.proof import Verdict, prove
from rosetta.proof.asking import Asker
from rosetta.proof.clock import probe_clock
from rosetta.proof.script import draw, script
from rosetta.protocol.messages import Result
from rosetta.tasks import Task

CHAPTER = Chapter("numbers")
_PAUSE_SECONDS = 2.0
_LONG_PAUSE_SECONDS = 5.0
_STEPS = 5
_LOSS_TOLERANCE = 1e-5


@CHAPTER.check(
    "times", "10", "times that add up: no more than passes outside, and the wait for a late batch"
)
def times(lab: Lab) -> str:
    """Every interval lies between the first BATCH and the last RESULT, and none overlap."""
    worker, task = lab.ready(), lab.any_task()
    batches = [draw(task, np.random.default_rng(step), 4) for step in range(_STEPS)]
    worker.train_on(*batches[0])  # what is compiled is compiled
    results: list[Result] = []
    started = time.perf_counter_ns()
    for number, batch in enumerate(batches):
        if number == _STEPS - 1:
            time.sleep(_PAUSE_SECONDS)
        results.append(worker.train_on(*batch))
    outside_ns = time.perf_counter_ns() - started
    reported_ns = sum(r.copy_ns + r.step_ns for r in results) + sum(r.wait_ns for r in results[1:])
    if reported_ns > outside_ns:
        raise WrongError(f"{reported_ns} ns in all, of which only {outside_ns} ns have passed")
    late_ns = results[-1].wait_ns
    if late_ns < _PAUSE_SECONDS / 2 * 1e9:
        raise WrongError(f"wait_ns {late_ns} for a batch that came {_PAUSE_SECONDS:g} s late")
    for result in results:
        parts_ns = (result.forward_ns or 0) + (result.backward_ns or 0)
        if parts_ns > result.step_ns:
            raise WrongError(f"forward_ns and backward_ns {parts_ns} of a step_ns {result.step_ns}")
    return f"{reported_ns / 1e9:.3f} of {outside_ns / 1e9:.3f} s, {late_ns / 1e9:.3f} s of waiting"


@CHAPTER.check(
    "long_wait",
    "4",
    "a `wait_ns` beyond 2^32, of a batch that came 5 seconds late: an integer still",
)
def long_wait(lab: Lab) -> str:
    """Where all numbers are floats, a library may write one that is no integer on the wire."""
    if not lab.full:
        raise NotAskedError("only with --full")
    worker, task = lab.ready(), lab.any_task()
    batch = draw(task, np.random.default_rng(13), 4)
    worker.train_on(*batch)
    time.sleep(_LONG_PAUSE_SECONDS)
    wait_ns = worker.train_on(*batch).wait_ns
    if wait_ns < 2**32:
        raise WrongError(f"wait_ns {wait_ns}")
    return f"wait_ns {wait_ns}"


@CHAPTER.check(
    "clock",
    "10",
    "a clock that runs as long as the work does, on mlp with a wide layer and large batches",
)
def clock(lab: Lab) -> str:
    """Three signs of one that stops too early: `rosetta.proof.clock`."""
    lab.require_numbers()
    lab.require_task("mlp")
    wide = script(wide_mlp())
    still = wide.task.override(learning_rate=0.0)
    worker = lab.idle()
    worker.setup(still, wide.parameters, seed=1, dropout=False)
    worker.state, worker.task = "set up", still
    verdict = Verdict()
    probe_clock(Asker(worker, still.classes), wide, verdict)
    if not verdict.measurements:
        raise NotAskedError("; ".join(verdict.notes))
    return _read(verdict)


@CHAPTER.check(
    "TASK.any_size", "6.6", "the loss that the logits have, for batches of 1, 3, 8 and 17 samples"
)
def any_size(lab: Lab, task: Task) -> str:
    """Before the update and without dropout, a loss is that of the predictions."""
    lab.require_numbers()
    worker = lab.ready(task)
    rng = np.random.default_rng(11)
    worst = 0.0
    for size in (8, 1, 3, 17):
        inputs, labels = draw(task, rng, size)
        expected = _cross_entropy(worker.logits(inputs), labels)
        loss = worker.train_on(inputs, labels).loss
        deviation = abs(loss - expected) / max(abs(expected), 1e-3)
        if not deviation <= _LOSS_TOLERANCE:
            raise WrongError(f"loss {loss:.7g} of {size} samples whose logits make {expected:.7g}")
        worst = max(worst, deviation)
    return f"largest deviation {worst:.1e}"


@CHAPTER.check("TASK.rate_zero", "11", "no parameter changes at the learning rate 0")
def rate_zero(lab: Lab, task: Task) -> str:
    """From the first step on; and again what changes them at the task's own rate."""
    lab.require_numbers()
    worker = lab.ready(task, anew=True)
    batch = draw(task, np.random.default_rng(12), 4)
    worker.train_on(*batch, 0.0)
    worker.train_on(*batch)
    difference = same(worker.values(), lab.parameters(task))
    if difference:
        raise WrongError(difference)
    assert task.optimiser
    worker.train_on(*batch, task.optimiser.learning_rate)
    if same(worker.values(), lab.parameters(task)) is None:
        raise WrongError("no parameter changes at the task's learning rate either")
    return "none, and then some at the task's own"


@CHAPTER.check(
    "TASK.proof", "11", "the reference's network, on small layers: values, losses, changes, dropout"
)
def proof(lab: Lab, task: Task) -> str:
    """`rosetta.proof`, with its tolerances."""
    lab.require_numbers()
    return _prove(lab, task, clock=False)


@CHAPTER.check(
    "TASK.full_proof", "11", "the reference's network and an honest clock, at the task's own sizes"
)
def full_proof(lab: Lab, task: Task) -> str:
    """As `rosetta bench` and `rosetta prove` ask for it."""
    lab.require_numbers()
    if not lab.full:
        raise NotAskedError("only with --full")
    return _prove(lab, tasks.load(task.name), clock=True)


def _prove(lab: Lab, task: Task, *, clock: bool) -> str:
    worker = lab.idle()
    cache: Path | None = lab.subject.cache
    return _read(prove(worker, task, cache=cache, clock=clock))


def _read(verdict: Verdict) -> str:
    """What a verdict comes to: the measurement that has least room. Raises `WrongError`."""
    if verdict.unproved:
        raise WrongError(verdict.unproved)
    if verdict.first_failure:
        raise WrongError(str(verdict.first_failure))
    tightest = max(verdict.measurements, key=lambda m: m.deviation / (m.tolerance or np.inf))
    words = f"{len(verdict.measurements)} quantities; nearest to its tolerance {tightest}"
    return "; ".join([words, *verdict.notes])


def _cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.int32]) -> float:
    """Mean over the samples, natural logarithm, in float64."""
    values = logits.astype(np.float64)
    values -= values.max(axis=1, keepdims=True)
    chosen = values[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(values).sum(axis=1)) - chosen))
