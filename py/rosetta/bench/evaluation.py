"""Accuracy, computed by the coordinator: a worker never grades itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rosetta.coordinator import Lease, Session
from rosetta.datasets import Split


class Evaluator:
    """The test samples of a run, the same for every worker and every evaluation."""

    def __init__(self, test: Split, *, samples: int, batch_size: int, seed: int) -> None:
        """Choose `samples` of `test`: all of them, or a seeded choice (sets are often sorted)."""
        self.labels: NDArray[np.int32] = test.labels
        self._inputs = test.inputs
        self._batch_size = batch_size
        if samples < len(test.labels):
            rows = np.sort(
                np.random.default_rng([seed, 2**20]).permutation(len(test.labels))[:samples]
            )
            self.labels = test.labels[rows]
            self._inputs = test.inputs[rows]

    def share(self, lease: Lease) -> None:
        """Copy the inputs to where workers can read them, if there is such a place."""
        self._inputs = lease.share(self._inputs)

    def accuracy(self, session: Session, classes: int) -> float:
        """Fraction of samples whose largest logit is that of the label.

        Logits that aren't finite are wrong. The last chunk may be smaller than a batch.
        """
        right, start = 0, 0
        for logits in session.predict(self._chunks(), classes):
            labels = self.labels[start : start + len(logits)]
            valid = np.isfinite(logits).all(axis=1)
            right += int(np.count_nonzero(valid & (logits.argmax(axis=1) == labels)))
            start += len(logits)
        return right / len(self.labels)

    def _chunks(self) -> Iterator[NDArray[np.generic]]:
        for start in range(0, len(self.labels), self._batch_size):
            yield self._inputs[start : start + self._batch_size]
