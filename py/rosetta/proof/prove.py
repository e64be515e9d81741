"""The proof of one worker on one task (design: strong evidence first)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from rosetta.coordinator import Session
from rosetta.proof import tolerances
from rosetta.proof.asking import Asker, compare_initial
from rosetta.proof.clock import probe_clock
from rosetta.proof.features import prove_features
from rosetta.proof.measure import Verdict
from rosetta.proof.probes import probe_dropout, probe_prediction
from rosetta.proof.reference import Expected, expect
from rosetta.proof.script import READ_AFTER, ROUGH_STEPS, SEED, Script, loud, script
from rosetta.tasks import Task
from rosetta.tasks import forms as task_forms
from rosetta.tasks.forms import in_form


def prove(
    session: Session, task: Task, *, cache: Path | None = None, clock: bool = True
) -> Verdict:
    """Compare a greeted worker's network for `task` with the float64 reference.

    Uses two set-ups of the session and ends both (one for a task that goes forward only). `cache`
    keeps the reference's Monte-Carlo results; without `clock` the worker's times aren't looked at.
    Raises `WorkerFailureError` for a worker that fails; a different network is a verdict, not a
    failure.
    """
    assert session.hello is not None
    forms = session.hello.forms
    strange = [f"{k}: {v}" for k, v in forms.items() if v not in task_forms.KNOWN.get(k, ())]
    if strange:
        return Verdict(unproved=f"the reference has no form {', '.join(strange)}")
    if not task.trains:
        return prove_features(session, task, clock=clock)
    prepared = script(in_form(task, forms))
    expected = expect(prepared, forms)
    verdict = Verdict()

    session.setup(prepared.task, prepared.parameters, seed=SEED, dropout=False)
    compare(Asker(session, task.outputs), prepared, expected, verdict)
    session.end()

    still = prepared.task.override(learning_rate=0.0)
    session.setup(still, loud(prepared).parameters, seed=SEED, dropout=True)
    asker = Asker(session, task.outputs)
    probe_prediction(asker, prepared, forms, verdict)
    probe_dropout(asker, prepared, cache, verdict)
    if clock:
        probe_clock(asker, prepared, verdict)
    session.end()
    return verdict


def compare(asker: Asker, script: Script, expected: Expected, verdict: Verdict) -> None:
    """With dropout off: initial values, logits, changes of the parameters, losses."""
    initial = script.parameters
    compare_initial(asker, initial, verdict)
    logits = asker.predict(script.steps[0].inputs)
    scale = np.abs(expected.logits).max()
    verdict.add("logits", np.abs(logits - expected.logits).max() / scale, tolerances.LOGITS)

    losses: list[float] = []
    changes: dict[int, dict[str, np.ndarray]] = {}
    for done, step in enumerate(script.steps, 1):
        losses += asker.train([step])
        if done in READ_AFTER:
            now = asker.parameters()
            changes[done] = {name: v - initial[name] for name, v in now.items()}

    deviations = [_relative(a, b) for a, b in zip(losses, expected.losses, strict=True)]
    verdict.add("loss before any update", deviations[0], tolerances.FIRST_LOSS)
    for done in READ_AFTER:
        name, deviation = _worst(changes[done], expected.changes[done])
        tolerance = tolerances.CHANGE_FIRST if done == 1 else tolerances.CHANGE_LATER
        verdict.add(f"change of {name} by {_steps(done)}", deviation, tolerance)
    tolerance = tolerances.LOSS_ROUGH if script.rough else tolerances.LOSS_SMOOTH
    counted = deviations[1:ROUGH_STEPS] if script.rough else deviations[1:]
    worst = int(np.argmax(np.nan_to_num(counted, nan=math.inf)))
    verdict.add(f"loss of step {worst + 2}", counted[worst], tolerance)


def _worst(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> tuple[str, float]:
    """The parameter whose change deviates most: relative 2-norm of the difference."""
    deviations = {
        name: float(np.linalg.norm(found[name] - change) / np.linalg.norm(change))
        for name, change in expected.items()
    }
    name = max(deviations, key=lambda n: math.inf if math.isnan(deviations[n]) else deviations[n])
    return name, deviations[name]


def _relative(found: float, expected: float) -> float:
    return abs(found - expected) / abs(expected)


def _steps(count: int) -> str:
    return "the first step" if count == 1 else f"{count} steps"
