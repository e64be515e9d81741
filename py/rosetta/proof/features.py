"""The proof of a task that goes forward only: features, and the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosetta_reference
from rosetta.coordinator import Session
from rosetta.proof import tolerances
from rosetta.proof.asking import Asker, compare_initial
from rosetta.proof.clock import probe_prediction_clock
from rosetta.proof.measure import Verdict
from rosetta.proof.script import SEED, draw, for_proof, sensitive_parameters
from rosetta.tasks import Task

SMALL_BATCH, LARGE_BATCH = 2, 6
"""Two batches of different sizes: who normalises with a batch's own statistics is found out."""

_known: dict[str, list[NDArray[np.float64]]] = {}
"""The reference's features by task: seconds for a ResNet-50, and the same for all of a run."""


def prove_features(session: Session, task: Task, *, clock: bool) -> Verdict:
    """Compare a greeted worker's features with the float64 reference's; see `prove`."""
    prepared = for_proof(task)
    parameters = sensitive_parameters(prepared)
    verdict = Verdict()
    session.setup(prepared, parameters, seed=SEED, dropout=False)
    asker = Asker(session, prepared.outputs)
    compare_initial(asker, parameters, verdict)
    batches = _batches(prepared)
    for inputs, expected in zip(batches, _expected(prepared, parameters, batches), strict=True):
        found = asker.predict(inputs)
        deviation = np.abs(found - expected).max() / np.abs(expected).max()
        verdict.add(f"features of {len(inputs)} images", deviation, tolerances.FEATURES)
    again = np.abs(asker.predict(batches[0]) - asker.predict(batches[0])).max()
    verdict.add("second prediction of the same inputs", again, 0.0)
    if clock:
        probe_prediction_clock(asker, prepared, verdict)
    session.end()
    return verdict


def _batches(task: Task) -> list[NDArray[Any]]:
    rng = np.random.default_rng(SEED)
    return [draw(task, rng, size)[0] for size in (SMALL_BATCH, LARGE_BATCH)]


def _expected(
    task: Task, parameters: Mapping[str, NDArray[np.float32]], batches: Sequence[NDArray[Any]]
) -> list[NDArray[np.float64]]:
    digest = task.digest()
    if digest not in _known:
        reference = rosetta_reference.Network(task.to_wire(), parameters, dtype=np.float64)
        _known[digest] = [reference.predict(inputs) for inputs in batches]
    return _known[digest]
