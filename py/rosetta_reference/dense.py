"""The fully connected layer."""

from typing import Any

import numpy as np

from .layer import Layer


class Dense(Layer):
    """y = x · weightᵀ + bias.

    x (N, features), y (N, units), weight (units, features), bias (units). With dy the gradient of
    the loss by y:

        dweight = dyᵀ · x      dbias = Σ_samples dy      dx = dy · weight
    """

    def __init__(self, name: str, features: int, units: int, dtype: Any) -> None:
        Layer.__init__(self, name, (units,), dtype)
        self._add_parameter("weight", (units, features))
        self._add_parameter("bias", (units,))
        self._x = np.zeros(0)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        self._x = x
        y = self._workspace.array("y", (len(x), *self.output_shape))
        np.dot(x, self._parameter("weight").T, out=y)
        y += self._parameter("bias")
        return y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        np.dot(dy.T, self._x, out=self._gradient("weight"))
        np.sum(dy, axis=0, out=self._gradient("bias"))
        dx = self._workspace.array("dx", self._x.shape)
        np.dot(dy, self._parameter("weight"), out=dx)
        return dx
