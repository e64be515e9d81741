"""The two-dimensional convolution, as matrix products."""

from typing import Any, Tuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .layer import Layer


class Conv(Layer):
    """Cross-correlation (deep learning's "convolution": the kernel is not flipped), with a bias or
    without.

        y[o, i, j] = bias[o] + Σ_c Σ_u Σ_v weight[o, c, u, v] · padded[c, s·i + u, s·j + v]

    x (N, C, H, W), y (N, O, H', W'), weight (O, C, k, k), bias (O), s the stride. Padding
    "same" puts (k - 1) / 2 zeros on each side (k odd), "valid" none.

    Each sample's windows are copied side by side into a matrix `columns` of (C·k·k, H'·W')
    ("im2col": Chellapilla, Puri & Simard 2006). The sum is then one matrix product, and with dy the
    gradient of the loss by y as (O, H'·W') so are the gradients:

        y = weight · columns     dweight = Σ_samples dy · columnsᵀ     dcolumns = weightᵀ · dy

    One sample at a time: its columns (1.8 MB for 50 channels of 32×32 in float32) are still in the
    cache when the product reads them; those of a batch of 64 would be 118 MB. For the same reason
    `backward` builds them again instead of keeping them.
    """

    def __init__(
        self,
        name: str,
        shape: Tuple[int, ...],
        filters: int,
        kernel: int,
        stride: int,
        padding: str,
        dtype: Any,
        bias: bool = True,
    ) -> None:
        if padding not in ("same", "valid"):
            raise ValueError(
                "layer {}: padding {!r} is unknown; known are 'same' and 'valid'".format(
                    name, padding
                )
            )
        if padding == "same" and kernel % 2 == 0:
            raise ValueError("layer {}: padding 'same' needs an odd kernel".format(name))
        channels, height, width = shape
        self._kernel, self._stride = kernel, stride
        self._margin = (kernel - 1) // 2 if padding == "same" else 0
        self._shape = (channels, height, width)
        self._rows = (height + 2 * self._margin - kernel) // stride + 1
        self._places = (width + 2 * self._margin - kernel) // stride + 1
        if self._rows < 1 or self._places < 1:
            raise ValueError("layer {}: the kernel is larger than the image".format(name))
        Layer.__init__(self, name, (filters, self._rows, self._places), dtype)
        self._add_parameter("weight", (filters, channels, kernel, kernel))
        self._has_bias = bias
        if bias:
            self._add_parameter("bias", (filters,))
        self._windows = np.zeros(0)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        windows = self._windows = self._view_windows(self._pad(x))
        weight = self._weight_matrix()
        y = self._workspace.array("y", (len(x), len(weight), self._rows * self._places))
        for sample in range(len(x)):
            np.dot(weight, self._columns(windows[sample]), out=y[sample])
            if self._has_bias:
                y[sample] += self._parameter("bias")[:, np.newaxis]
        return y.reshape((len(x), *self.output_shape))

    def backward(self, dy: np.ndarray) -> np.ndarray:
        windows, weight = self._windows, self._weight_matrix()
        dy = dy.reshape(len(dy), len(weight), -1)
        dweight = self._gradient("weight").reshape(weight.shape)
        dpadded = self._padded("dpadded", len(dy))
        for gradient in (*self.gradients.values(), dpadded):
            gradient.fill(0)
        product = self._workspace.array("product", weight.shape)
        dcolumns = self._workspace.array("dcolumns", (weight.shape[1], dy.shape[2]))
        for sample in range(len(dy)):
            dweight += np.dot(dy[sample], self._columns(windows[sample]).T, out=product)
            if self._has_bias:
                self._gradient("bias")[...] += dy[sample].sum(axis=1)
            np.dot(weight.T, dy[sample], out=dcolumns)
            self._add_columns(dcolumns, dpadded[sample])
        return self._interior(dpadded)

    def _weight_matrix(self) -> np.ndarray:
        weight = self._parameter("weight")
        return weight.reshape(len(weight), -1)

    def _padded(self, name: str, batch: int) -> np.ndarray:
        channels, height, width = self._shape
        border = 2 * self._margin
        return self._workspace.array(name, (batch, channels, height + border, width + border))

    def _interior(self, padded: np.ndarray) -> np.ndarray:
        _, height, width = self._shape
        margin = self._margin
        return padded[:, :, margin : margin + height, margin : margin + width]

    def _pad(self, x: np.ndarray) -> np.ndarray:
        if not self._margin:
            return x
        # The border is zero from the allocation, and nothing ever writes on it.
        padded = self._padded("padded", len(x))
        np.copyto(self._interior(padded), x)
        return padded

    def _view_windows(self, padded: np.ndarray) -> np.ndarray:
        """Return a view, without a copy: (N, C, k, k, H', W')."""
        batch, channels = padded.shape[:2]
        of_sample, of_channel, of_row, of_place = padded.strides
        shape = (batch, channels, self._kernel, self._kernel, self._rows, self._places)
        step = self._stride
        strides = (of_sample, of_channel, of_row, of_place, step * of_row, step * of_place)
        return as_strided(padded, shape, strides)

    def _columns(self, windows: np.ndarray) -> np.ndarray:
        """Return one sample's windows (C, k, k, H', W') as the matrix (C·k·k, H'·W')."""
        if self._kernel == 1 and self._stride == 1:  # the sample itself, as it lies there
            return windows.reshape(-1, self._rows * self._places)
        columns = self._workspace.array("columns", windows.shape)
        np.copyto(columns, windows)
        return columns.reshape(-1, self._rows * self._places)

    def _add_columns(self, dcolumns: np.ndarray, dpadded: np.ndarray) -> None:
        """Add every column entry to the pixel it was copied from ("col2im")."""
        kernel, step = self._kernel, self._stride
        taps = dcolumns.reshape(-1, kernel, kernel, self._rows, self._places)
        for u in range(kernel):
            for v in range(kernel):
                rows = slice(u, u + step * (self._rows - 1) + 1, step)
                places = slice(v, v + step * (self._places - 1) + 1, step)
                dpadded[:, rows, places] += taps[:, u, v]
