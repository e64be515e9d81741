"""The order of the batches: one seeded permutation of the training set an epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rosetta.errors import UserError


class Order:
    """Which samples make up which step, for every worker alike.

    Each epoch is a fresh permutation seeded with (seed, epoch). An epoch has
    ⌊samples / batch_size⌋ steps: the remainder is left out of it, so that every step has the same
    size and its time the same meaning.
    """

    def __init__(self, samples: int, batch_size: int, seed: int) -> None:
        if batch_size > samples:
            raise UserError(
                f"batch size {batch_size} is larger than the data ({samples} samples): "
                f"choose one of at most {samples}"
            )
        self.samples = samples
        self.batch_size = batch_size
        self.seed = seed
        self.steps_per_epoch = samples // batch_size
        self._epoch = -1
        self._permutation: NDArray[np.int64] = np.empty(0, np.int64)

    def rows(self, step: int) -> NDArray[np.int64]:
        """Row numbers of the samples of `step` (counted from 0): (batch_size,) int64."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._permutation = np.random.default_rng([self.seed, epoch]).permutation(self.samples)
            self._epoch = epoch
        return self._permutation[place * self.batch_size : (place + 1) * self.batch_size]
