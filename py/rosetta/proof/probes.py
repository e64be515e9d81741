"""Probes beside the comparison of numbers: dropout, prediction, and the worker's clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rosetta.proof import tolerances
from rosetta.proof.asking import Asker
from rosetta.proof.measure import Verdict
from rosetta.proof.reference import expect_dropout, has_dropout, network
from rosetta.proof.script import Script, Step, draw, loud

DROPOUT_REPEATS = 80
SMALL_BATCH, LARGE_BATCH, LARGEST_BATCH = 4, 64, 256
CLOCK_ROUNDS = 3
SHORT_STEP_NS = 5_000_000
"""Steps shorter than this are mostly the framework's own overhead, whatever the batch."""


def probe_prediction(
    asker: Asker, script: Script, forms: Mapping[str, str], verdict: Verdict
) -> None:
    """Dropout is off at prediction: twice the same logits, and the reference's.

    To be called in a session with dropout on and the loud weights.
    """
    inputs = script.steps[0].inputs
    first, again = asker.predict(inputs), asker.predict(inputs)
    right = network(loud(script), forms, dtype=np.float64).predict(inputs)
    scale = np.abs(right).max()
    verdict.add("second prediction of the same inputs", _largest(first - again) / scale, 0.0)
    deviation = _largest(first - right) / scale
    verdict.add("prediction with dropout on", deviation, tolerances.LOGITS)


def probe_dropout(asker: Asker, script: Script, cache: Path | None, verdict: Verdict) -> None:
    """The mean loss over many masks is the reference's.

    Learning rate 0 and dropout on: nothing is learned, only masks are drawn. Missing dropout, a
    keep rate taken for a drop rate, and a wrong rescaling all move the mean.
    """
    if not has_dropout(script):
        return
    step = script.steps[0]
    reference = expect_dropout(script, step, cache)
    losses = asker.train([step] * DROPOUT_REPEATS)
    spread = np.std(losses, ddof=1)
    verdict.add(
        "repeats of one batch that had the same loss", _repeated(losses), tolerances.REPEATED
    )
    error = math.sqrt(spread**2 / len(losses) + reference.deviation**2 / reference.repeats)
    distance = abs(float(np.mean(losses)) - reference.mean)
    sigmas = distance / error if error else math.inf
    verdict.add("mean loss with dropout, standard errors", sigmas, tolerances.DROPOUT_SIGMAS)


def probe_clock(asker: Asker, script: Script, verdict: Verdict) -> None:
    """The clock runs as long as the work does.

    Three signs of one that is stopped too early: the step time doesn't grow with the batch; the
    reported times are less than what passes between a batch and its answer; and they shrink when
    the next batch comes late, since the rest of the work was done meanwhile, unseen.
    """
    rng = np.random.default_rng(1)
    small = Step(*draw(script.task, rng, SMALL_BATCH))
    # Convolutions grow with the batch at once; a GRU waits for its time steps before it does.
    large_batch = LARGE_BATCH if script.rough else LARGEST_BATCH
    large = Step(*draw(script.task, rng, large_batch))
    pause_s = asker.time([small, large, large])[-1].outside_ns / 1e9  # compiled by then
    rounds = []
    for _ in range(CLOCK_ROUNDS):
        (short,) = asker.time([small], pause_s)
        (rested,) = asker.time([large], pause_s)
        (pressed,) = asker.time([large])  # right after: what was left of the one before is in it
        rounds.append((short, rested, pressed))
    if min(rested.outside_ns for _, rested, _ in rounds) < SHORT_STEP_NS:
        verdict.notes.append("the steps are too short for the clock probe")
        return
    # The most favourable round of each: what is systematic shows in all of them, a machine that is
    # busy with something else in some.
    share = max(rested.work_ns / rested.outside_ns for _, rested, _ in rounds)
    growth = max(rested.work_ns / short.work_ns for short, rested, _ in rounds)
    left = max(rested.work_ns / pressed.work_ns for _, rested, pressed in rounds)
    times = large_batch / SMALL_BATCH
    fixed = (times / growth - 1) / (times - 1)
    verdict.add("share of the step that isn't reported", max(0.0, 1 - share), tolerances.UNREPORTED)
    what = f"share of the step that doesn't grow from batch {SMALL_BATCH} to {large_batch}"
    verdict.add(what, max(0.0, fixed), tolerances.NOT_GROWING)
    verdict.add("share of the step that is gone after a pause", max(0.0, 1 - left), tolerances.GONE)


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max())


def _repeated(losses: list[float]) -> float:
    """Fraction of the losses that equal an earlier one."""
    return 1 - len(set(losses)) / len(losses)
