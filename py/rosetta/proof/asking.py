"""Questions of the proof to one worker, in plain arrays."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator import Session, prepare_batch, prepare_predict
from rosetta.proof import tolerances
from rosetta.proof.measure import Verdict
from rosetta.proof.script import Step


@dataclass(frozen=True)
class Timing:
    """One step: what the worker reported (copy + step), and what was seen from outside."""

    work_ns: int
    outside_ns: int


class Asker:
    """One session in which a task is set up."""

    def __init__(self, session: Session, outputs: int) -> None:
        self._session = session
        self._outputs = outputs
        self._step = 0

    def train(self, steps: Iterable[Step]) -> list[float]:
        """Train; the losses."""
        losses: list[float] = []
        self._session.train(
            (self._prepare(step) for step in steps), lambda result: losses.append(result.loss)
        )
        return losses

    def time(self, steps: Sequence[Step], pause_s: float = 0.0) -> list[Timing]:
        """Train one step at a time, each sent when the one before was answered, `pause_s` later."""
        timings: list[Timing] = []
        for step in steps:
            time.sleep(pause_s)
            prepared = self._prepare(step)
            sent = time.perf_counter_ns()
            self._session.train(
                [prepared],
                lambda result, sent=sent: timings.append(  # type: ignore[misc]
                    Timing(max(1, result.copy_ns + result.step_ns), time.perf_counter_ns() - sent)
                ),
            )
        return timings

    def predict(self, inputs: NDArray[Any]) -> NDArray[np.float64]:
        """Logits or features, float64 (batch, outputs)."""
        (logits,) = self._session.predict([inputs], self._outputs)
        return logits.astype(np.float64)

    def time_prediction(
        self, batches: Sequence[NDArray[Any]], pause_s: float = 0.0
    ) -> list[Timing]:
        """Have batches of inputs predicted one at a time, as `time` has steps trained."""
        timings: list[Timing] = []
        for inputs in batches:
            time.sleep(pause_s)
            request = prepare_predict(self._session.router.next_id(), inputs)
            sent = time.perf_counter_ns()
            ((answer, _),) = self._session.answer_each([request], self._outputs)
            outside_ns = time.perf_counter_ns() - sent
            timings.append(Timing(max(1, answer.copy_ns + answer.predict_ns), outside_ns))
        return timings

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Present values, float64."""
        return {n: v.astype(np.float64) for n, v in self._session.parameters().items()}

    def _prepare(self, step: Step) -> Any:
        number, self._step = self._step, self._step + 1
        return prepare_batch(
            self._session.router.next_id(), number, step.inputs, step.labels, step.learning_rate
        )


def compare_initial(
    asker: Asker, initial: Mapping[str, NDArray[np.float32]], verdict: Verdict
) -> None:
    """The parameters that a worker holds before any step are those that it was given."""
    held = asker.parameters()
    for name, values in held.items():
        difference = float(np.abs(values - initial[name]).max())
        if difference or name == list(held)[-1]:
            verdict.add(f"initial {name}", difference, tolerances.EXACT)
            break
