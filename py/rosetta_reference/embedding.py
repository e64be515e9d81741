"""The embedding: one row of a table for each token."""

from typing import Any, Tuple

import numpy as np

from .layer import Layer


class Embedding(Layer):
    """y[n, t] = weight[tokens[n, t]].

    tokens (N, T) of an integer type, y (N, T, dimension), weight (vocabulary, dimension). No row is
    special: the padding token's is trained like any other. The gradient is dense, and a row's is
    the sum over all places where its token stands. Tokens outside the vocabulary are not noticed
    here: `Network.check` refuses them.
    """

    def __init__(
        self, name: str, shape: Tuple[int, ...], vocabulary: int, dimension: int, dtype: Any
    ) -> None:
        Layer.__init__(self, name, (*shape, dimension), dtype)
        self._dimension = dimension
        self._add_parameter("weight", (vocabulary, dimension))
        self._tokens = np.zeros(0, np.intp)
        self._filled = np.zeros(0, np.intp)  # rows of the gradient that are not zero

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        self._tokens = x
        y = self._workspace.array("y", (*x.shape, self._dimension))
        # "clip" only because "raise" would go through a hidden copy.
        np.take(self._parameter("weight"), x, axis=0, out=y, mode="clip")
        return y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Set the weight's gradient; return an empty array, for tokens have no gradient."""
        tokens = self._tokens.ravel()
        # Sorting brings equal tokens together, so that each row is one sum over a run. This is
        # many times faster than np.add.at, which goes through the places one by one.
        order = np.argsort(tokens, kind="stable")
        in_order = tokens[order]
        starts = np.flatnonzero(np.concatenate(([True], in_order[1:] != in_order[:-1])))
        rows = in_order[starts]
        gradient = self._gradient("weight")
        gradient[self._filled] = 0  # cheaper than clearing all rows: a batch touches few
        by_place = dy.reshape(-1, self._dimension)[order]
        gradient[rows] = np.add.reduceat(by_place, starts, axis=0)
        self._filled = rows
        return np.zeros(0, self._dtype)
