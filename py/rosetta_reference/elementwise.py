"""Layers without parameters that treat every element by itself: relu, dropout, flatten."""

from typing import Any, Optional, Tuple

import numpy as np

from .layer import Layer


class Relu(Layer):
    """Rectified linear unit: y = max(x, 0), of any shape.

    The derivative at exactly 0 is taken as 0, as every framework does.
    """

    def __init__(self, name: str, shape: Tuple[int, ...], dtype: Any) -> None:
        Layer.__init__(self, name, shape, dtype)
        self._y = np.zeros(0)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        self._y = self._workspace.array("y", x.shape)
        np.maximum(x, 0, out=self._y)
        return self._y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        positive = self._workspace.array("positive", dy.shape, bool)
        np.greater(self._y, 0, out=positive)
        dx = self._workspace.array("dx", dy.shape)
        np.multiply(dy, positive, out=dx)
        return dx


class Dropout(Layer):
    """Dropout (Srivastava et al. 2014, JMLR 15, 1929-1958) in its "inverted" form, of any shape.

    While training, every element is 0 with probability `rate`, and otherwise multiplied by
    1 / (1 - rate), so that its mean stays what it was; the paper scales the weights at test time
    instead, which comes to the same. While predicting, y = x.

    The masks are a stream of random numbers that depends on the `seed` alone, not on the float
    type: a float32 and a float64 network of the same seed drop the same elements.
    """

    def __init__(
        self, name: str, shape: Tuple[int, ...], rate: float, seed: Any, dtype: Any
    ) -> None:
        Layer.__init__(self, name, shape, dtype)
        if not 0.0 <= rate < 1.0:
            raise ValueError("layer {}: dropout rate {} is not in [0, 1)".format(name, rate))
        self._rate = float(rate)
        self._random = np.random.default_rng(seed)
        self._factors: Optional[np.ndarray] = None

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        if not training:
            self._factors = None
            return x
        uniform = self._random.random(x.shape, dtype=np.float32)
        factors = self._workspace.array("factors", x.shape)
        np.greater_equal(uniform, self._rate, out=factors, casting="unsafe")  # 1 keeps, 0 drops
        factors *= 1.0 / (1.0 - self._rate)
        self._factors = factors
        y = self._workspace.array("y", x.shape)
        np.multiply(x, factors, out=y)
        return y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        if self._factors is None:
            return dy
        dx = self._workspace.array("dx", dy.shape)
        np.multiply(dy, self._factors, out=dx)
        return dx


class Flatten(Layer):
    """(N, C, H, W) to (N, C·H·W): channels, then rows, then columns."""

    def __init__(self, name: str, shape: Tuple[int, ...], dtype: Any) -> None:
        Layer.__init__(self, name, (int(np.prod(shape)),), dtype)
        self._sample_shape = shape

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        return x.reshape((len(x), *self.output_shape))

    def backward(self, dy: np.ndarray) -> np.ndarray:
        return dy.reshape((len(dy), *self._sample_shape))
