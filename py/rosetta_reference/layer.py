"""What every layer has in common, and the arrays that layers use again from step to step."""

from typing import Any, Dict, Tuple

import numpy as np


class Workspace:
    """Arrays by name, allocated once and used again in every step.

    A step of a convolutional network fills some hundreds of megabytes. Asking the operating system
    for fresh pages each time costs more than the arithmetic done on many of them.
    """

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._held: Dict[str, np.ndarray] = {}

    def array(self, name: str, shape: Tuple[int, ...], dtype: Any = None) -> np.ndarray:
        """Return the array called `name`, of `shape`, with the values that it last had.

        A new one holds zeros. A smaller first axis (the last, short batch of an epoch) is served
        from the larger array. Without `dtype` the workspace's own float type is meant.
        """
        wanted = self._dtype if dtype is None else np.dtype(dtype)
        held = self._held.get(name)
        fits = (
            held is not None
            and held.dtype == wanted
            and held.shape[1:] == shape[1:]
            and held.shape[0] >= shape[0]
        )
        if held is None or not fits:
            held = np.zeros(shape, wanted)
            self._held[name] = held
        return held[: shape[0]]


class Layer:
    """One layer: a function of a batch, and its derivative.

    `parameters` and `gradients` map canonical names to arrays of the layer's float type. The arrays
    stay the same objects for the layer's whole life: they are changed in place.

    `output_shape` is the shape of one sample that leaves the layer (without the batch axis).

    What `forward` and `backward` return belongs to the layer and is overwritten by the next call.
    """

    def __init__(self, name: str, output_shape: Tuple[int, ...], dtype: Any) -> None:
        self.name = name
        self.output_shape = output_shape
        self.parameters: Dict[str, np.ndarray] = {}
        self.gradients: Dict[str, np.ndarray] = {}
        self._dtype = np.dtype(dtype)
        self._workspace = Workspace(dtype)

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        """Return the layer's output for the batch `x`; remember what `backward` needs."""
        raise NotImplementedError

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Set `gradients` and return the gradient by the input of the last `forward`.

        `dy` is the gradient of the loss by that call's output, of the output's shape.
        """
        raise NotImplementedError

    def _add_parameter(self, suffix: str, shape: Tuple[int, ...]) -> None:
        self.parameters[self.name + "." + suffix] = np.zeros(shape, self._dtype)
        self.gradients[self.name + "." + suffix] = np.zeros(shape, self._dtype)

    def _parameter(self, suffix: str) -> np.ndarray:
        return self.parameters[self.name + "." + suffix]

    def _gradient(self, suffix: str) -> np.ndarray:
        return self.gradients[self.name + "." + suffix]
