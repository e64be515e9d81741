"""Probes beside the comparison of numbers: dropout, and its absence at prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rosetta.proof import tolerances
from rosetta.proof.asking import Asker
from rosetta.proof.measure import Verdict
from rosetta.proof.reference import expect_dropout, has_dropout, network
from rosetta.proof.script import Script, loud

DROPOUT_REPEATS = 80


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


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max())


def _repeated(losses: list[float]) -> float:
    """Fraction of the losses that equal an earlier one."""
    return 1 - len(set(losses)) / len(losses)
