"""Max-pooling."""

from typing import Any, List, Tuple

import numpy as np

from .layer import Layer


class MaxPool(Layer):
    """The largest value of each window: x (N, C, H, W), y (N, C, H', W'), no padding.

    Where several elements of a window are equally large, the first in reading order (row by row)
    gets the whole gradient, as in PyTorch.
    """

    def __init__(
        self, name: str, shape: Tuple[int, ...], size: int, stride: int, dtype: Any
    ) -> None:
        channels, height, width = shape
        rows, places = (height - size) // stride + 1, (width - size) // stride + 1
        if rows < 1 or places < 1:
            raise ValueError("layer {}: the window is larger than the image".format(name))
        Layer.__init__(self, name, (channels, rows, places), dtype)
        self._shape = shape
        self._size, self._stride = size, stride
        self._winner = np.zeros(0)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        shape = (len(x), *self.output_shape)
        y = self._workspace.array("y", shape)
        winner = self._workspace.array("winner", shape, np.int16)  # index of the largest element
        larger = self._workspace.array("larger", shape, bool)
        elements = self._elements(x)
        np.copyto(y, elements[0])
        winner.fill(0)
        for index, element in enumerate(elements[1:], 1):
            np.greater(element, y, out=larger)  # strictly: the first of equals stays
            np.copyto(winner, index, where=larger)
            np.maximum(y, element, out=y)  # lets NaN through, which a comparison would hide
        self._winner = winner
        return y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        dx = self._workspace.array("dx", (len(dy), *self._shape))
        chosen = self._workspace.array("larger", dy.shape, bool)
        part = self._workspace.array("part", dy.shape)
        dx.fill(0)
        for index, element in enumerate(self._elements(dx)):
            np.equal(self._winner, index, out=chosen)
            element += np.multiply(dy, chosen, out=part)
        return dx

    def _elements(self, x: np.ndarray) -> List[np.ndarray]:
        """Return a view (N, C, H', W') for each element of a window, in reading order."""
        _, rows, places = self.output_shape
        size, step = self._size, self._stride
        return [
            x[:, :, u : u + step * (rows - 1) + 1 : step, v : v + step * (places - 1) + 1 : step]
            for u in range(size)
            for v in range(size)
        ]
