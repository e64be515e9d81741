"""What a residual network has beyond convolutions: batch norm and the bottleneck block.

They go forward only, as at prediction time: no task trains them, so they have no gradient here
(`Network` refuses to train a network that holds them).
"""

from typing import Any, Dict, List, Tuple

import numpy as np

from .convolution import Conv
from .layer import Layer

EPSILON = 1e-5
"""Of the batch norms inside a bottleneck (protocol/tasks/README.md)."""


class BatchNorm(Layer):
    """Batch normalisation (Ioffe & Szegedy 2015, algorithm 2) with the statistics of the training.

        y = weight · (x − running_mean) / √(running_var + epsilon) + bias

    for each channel of x (N, C, H, W). The result is written over x: a ResNet-50 has 53 of these,
    and a second array for each would double its memory.
    """

    def __init__(self, name: str, shape: Tuple[int, ...], epsilon: float, dtype: Any) -> None:
        Layer.__init__(self, name, shape, dtype)
        self._epsilon = epsilon
        for suffix in ("weight", "bias", "running_mean", "running_var"):
            self._add_parameter(suffix, shape[:1])

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        if training:
            raise NotImplementedError("batch norm is computed as at prediction time only")
        scale = self._parameter("weight") / np.sqrt(self._parameter("running_var") + self._epsilon)
        shift = self._parameter("bias") - self._parameter("running_mean") * scale
        x *= scale[:, np.newaxis, np.newaxis]
        x += shift[:, np.newaxis, np.newaxis]
        return x


class Bottleneck(Layer):
    """The block of ResNet-50 in its layout "v1.5" (He et al. 2015, figure 5, right).

        y = relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + shortcut(x))

    conv1 is 1×1 to `width` channels, conv2 3×3 with the stride (the paper has it in conv1), conv3
    1×1 to 4·width; none has a bias. With `projection` the shortcut is a 1×1 convolution with the
    stride and a batch norm (`downsample.0` and `.1`, the names of torchvision), else x itself.
    """

    def __init__(
        self,
        name: str,
        shape: Tuple[int, ...],
        width: int,
        stride: int,
        projection: bool,
        dtype: Any,
    ) -> None:
        branch: List[Layer] = []
        inner = shape
        for number, (kernel, filters, step) in enumerate(
            [(1, width, 1), (3, width, stride), (1, 4 * width, 1)], 1
        ):
            conv, norm = name + ".conv%d" % number, name + ".bn%d" % number
            branch += _conv_and_norm(conv, norm, inner, filters, kernel, step, dtype)
            inner = branch[-1].output_shape
        self._branch = branch
        self._shortcut: List[Layer] = []
        if projection:
            conv, norm = name + ".downsample.0", name + ".downsample.1"
            self._shortcut = _conv_and_norm(conv, norm, shape, 4 * width, 1, stride, dtype)
        elif inner != shape:
            raise ValueError(
                "layer {}: without a projection it can't add {} to {}".format(name, shape, inner)
            )
        Layer.__init__(self, name, inner, dtype)
        held: Dict[str, np.ndarray] = self.parameters
        for layer in branch + self._shortcut:
            held.update(layer.parameters)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        y = x
        for layer in self._branch:
            y = layer.forward(y, training)
            if layer.name.endswith((".bn1", ".bn2")):
                np.maximum(y, 0, out=y)
        for layer in self._shortcut:
            x = layer.forward(x, training)
        y += x
        np.maximum(y, 0, out=y)
        return y


def _conv_and_norm(
    conv: str,
    norm: str,
    shape: Tuple[int, ...],
    filters: int,
    kernel: int,
    stride: int,
    dtype: Any,
) -> List[Layer]:
    first = Conv(conv, shape, filters, kernel, stride, "same", dtype, bias=False)
    return [first, BatchNorm(norm, first.output_shape, EPSILON, dtype)]
