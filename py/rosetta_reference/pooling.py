"""Pooling: the largest value of each window, and the mean of a whole channel."""

from typing import Any, List, Tuple

import numpy as np

from .layer import Layer


class MaxPool(Layer):
    """The largest value of each window: x (N, C, H, W), y (N, C, H', W').

    `padding` elements on each side are outside the image and never the largest. Windows that would
    reach beyond them are left out (the number of windows is rounded down).

    Where several elements of a window are equally large, the first in reading order (row by row)
    gets the whole gradient, as in PyTorch.
    """

    def __init__(
        self,
        name: str,
        shape: Tuple[int, ...],
        size: int,
        stride: int,
        dtype: Any,
        padding: int = 0,
    ) -> None:
        if 2 * padding > size:
            raise ValueError("layer {}: a window could lie in the padding alone".format(name))
        channels, height, width = shape
        rows = (height + 2 * padding - size) // stride + 1
        places = (width + 2 * padding - size) // stride + 1
        if rows < 1 or places < 1:
            raise ValueError("layer {}: the window is larger than the image".format(name))
        Layer.__init__(self, name, (channels, rows, places), dtype)
        self._shape = shape
        self._size, self._stride, self._padding = size, stride, padding
        self._winner = np.zeros(0)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        shape = (len(x), *self.output_shape)
        y = self._workspace.array("y", shape)
        winner = self._workspace.array("winner", shape, np.int16)  # index of the largest element
        larger = self._workspace.array("larger", shape, bool)
        elements = self._elements(self._pad(x))
        np.copyto(y, elements[0])
        winner.fill(0)
        for index, element in enumerate(elements[1:], 1):
            np.greater(element, y, out=larger)  # strictly: the first of equals stays
            np.copyto(winner, index, where=larger)
            np.maximum(y, element, out=y)  # lets NaN through, which a comparison would hide
        self._winner = winner
        return y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        dx = self._workspace.array("dx", self._padded_shape(len(dy)))
        chosen = self._workspace.array("larger", dy.shape, bool)
        part = self._workspace.array("part", dy.shape)
        dx.fill(0)
        for index, element in enumerate(self._elements(dx)):
            np.equal(self._winner, index, out=chosen)
            element += np.multiply(dy, chosen, out=part)
        return self._interior(dx)

    def _pad(self, x: np.ndarray) -> np.ndarray:
        if not self._padding:
            return x
        padded = self._workspace.array("padded", self._padded_shape(len(x)))
        padded.fill(-np.inf)
        np.copyto(self._interior(padded), x)
        return padded

    def _padded_shape(self, batch: int) -> Tuple[int, ...]:
        channels, height, width = self._shape
        return (batch, channels, height + 2 * self._padding, width + 2 * self._padding)

    def _interior(self, padded: np.ndarray) -> np.ndarray:
        _, height, width = self._shape
        edge = self._padding
        return padded[:, :, edge : edge + height, edge : edge + width]

    def _elements(self, x: np.ndarray) -> List[np.ndarray]:
        """Return a view (N, C, H', W') for each element of a window, in reading order."""
        _, rows, places = self.output_shape
        size, step = self._size, self._stride
        return [
            x[:, :, u : u + step * (rows - 1) + 1 : step, v : v + step * (places - 1) + 1 : step]
            for u in range(size)
            for v in range(size)
        ]


class GlobalAveragePool(Layer):
    """The mean of each channel: x (N, C, H, W), y (N, C)."""

    def __init__(self, name: str, shape: Tuple[int, ...], dtype: Any) -> None:
        Layer.__init__(self, name, shape[:1], dtype)
        self._shape = shape

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        y = self._workspace.array("y", x.shape[:2])
        return np.mean(x, axis=(2, 3), out=y)

    def backward(self, dy: np.ndarray) -> np.ndarray:
        dx = self._workspace.array("dx", (len(dy), *self._shape))
        dx[...] = dy[:, :, np.newaxis, np.newaxis] / (self._shape[1] * self._shape[2])
        return dx
