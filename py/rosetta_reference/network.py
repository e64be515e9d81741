"""A task's whole network: layers, loss and optimiser."""

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from .builder import build_layers
from .layer import Layer, Workspace
from .losses import softmax_cross_entropy
from .optimisers import make_optimiser

# Predictions are made for at most this many samples at a time, so that the arrays between the
# layers stay small however many samples are asked for: a ResNet-50's take 90 MB an image.
SLICE = 128
SLICE_FORWARD_ONLY = 4


def _nobody(part: str) -> None:
    """Nobody wants to know which part of a step is done."""


class Network:
    """The network of a task, with its parameters and the state of its optimiser.

    `task` is the content of a task file, `parameters` maps each canonical name to its values (they
    are copied). All computation is done in `dtype`. Without `dropout` the dropout layers are left
    out. `seed` fixes the dropout masks and nothing else. `adam_form` ("torch" or "hat") says where
    Adam adds epsilon, `momentum_form` ("outside" or "inside") where momentum has the learning
    rate: see `optimisers`.

    Inputs are what the task's `input` table says: uint8 pixels, which are scaled here, float32
    pixels that were normalised before, or int32 tokens, in batches (N, …). Labels are int32 (N).

    A task without `loss` and `optimiser` goes forward only: `predict` gives the features.

    ValueError when the task holds something unknown, or the parameters do not fit it; and from
    every method when a batch does not. With `trusting` the methods leave out this check of theirs,
    for a caller that has checked the batches elsewhere and times what is done here: a batch that
    does not fit then gives a wrong result or any error.
    """

    def __init__(
        self,
        task: Mapping[str, Any],
        parameters: Mapping[str, np.ndarray],
        dtype: Any = np.float64,
        dropout: bool = True,
        seed: int = 0,
        adam_form: str = "torch",
        momentum_form: str = "outside",
        trusting: bool = False,
    ) -> None:
        loss = task.get("loss")
        self._trains = bool(task["classes"])
        if not self._trains and (loss is not None or "optimiser" in task):
            raise ValueError("a task without classes has neither a loss nor an optimiser")
        if self._trains and loss != "softmax_cross_entropy":
            raise ValueError("loss {!r} is unknown; known is 'softmax_cross_entropy'".format(loss))
        self._input = task["input"]
        if self._input["kind"] not in ("pixels", "tokens"):
            raise ValueError(
                "input kind {!r} is unknown; known are 'pixels' and 'tokens'".format(
                    self._input["kind"]
                )
            )
        if self._input["kind"] == "tokens" and "vocabulary" not in self._input:
            raise ValueError("the input's vocabulary is missing")
        self._scale = float(self._input.get("scale", 1.0))
        self._classes = task["classes"]
        self._trusting = trusting
        self._dtype = np.dtype(dtype)
        if self._dtype.kind != "f":
            raise ValueError("{} is not a float type".format(self._dtype))
        self._workspace = Workspace(dtype)
        self._layers = build_layers(task, dtype, dropout, seed)
        names = [entry["name"] for entry in task["parameters"]]
        self._parameters = _in_order(names, self._layers)
        _load(parameters, self._parameters)
        if self._trains:
            self._optimiser = make_optimiser(
                task["optimiser"], self._parameters, adam_form, momentum_form
            )

    def check(self, inputs: np.ndarray, labels: Optional[np.ndarray] = None) -> None:
        """Raise ValueError unless a batch is the task's: types, shapes, tokens and labels in range.

        A batch with labels, which is one to learn from, holds at least one sample.
        """
        self._check_inputs(inputs)
        if labels is not None:
            self._check_labels(labels, len(inputs))

    def train_step(
        self,
        inputs: np.ndarray,
        labels: np.ndarray,
        done: Callable[[str], None] = _nobody,
    ) -> float:
        """Do one step of training; return the batch's loss as it was before the update.

        Calls `done("forward")` when the loss is known, `done("backward")` when the gradients are.
        """
        loss = self._differentiate(inputs, labels, done)
        self._optimiser.update(self._gradients())
        return loss

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate from the next step on; the optimiser keeps its state."""
        self._optimiser.learning_rate = float(rate)

    def gradients(
        self, inputs: np.ndarray, labels: np.ndarray
    ) -> Tuple[float, Dict[str, np.ndarray]]:
        """Return the loss and its gradient by each parameter (copies); update nothing.

        With dropout on this draws new masks, as a step of training does.
        """
        loss = self._differentiate(inputs, labels)
        return loss, {name: values.copy() for name, values in self._gradients().items()}

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Return the logits (N, classes) in the network's float type, with dropout off.

        Of a network that goes forward only: the features (N, features).
        """
        if not self._trusting:
            self.check(inputs)
        logits = [np.zeros((0, *self._layers[-1].output_shape), self._dtype)]
        size = SLICE if self._trains else SLICE_FORWARD_ONLY
        for start in range(0, len(inputs), size):
            logits.append(self._forward(inputs[start : start + size], training=False).copy())
        return np.concatenate(logits)

    def parameters(self) -> Dict[str, np.ndarray]:
        """Return copies of all parameters by canonical name, in the task's order."""
        return {name: values.copy() for name, values in self._parameters.items()}

    def _differentiate(
        self, inputs: np.ndarray, labels: np.ndarray, done: Callable[[str], None] = _nobody
    ) -> float:
        if not self._trains:
            raise ValueError("the task goes forward only")
        if not self._trusting:
            self.check(inputs, labels)
        logits = self._forward(inputs, training=True)
        loss, gradient = softmax_cross_entropy(logits, labels)
        done("forward")
        for layer in reversed(self._layers):
            gradient = layer.backward(gradient)
        done("backward")
        return loss

    def _forward(self, inputs: np.ndarray, training: bool) -> np.ndarray:
        x = self._scaled(inputs) if self._input["kind"] == "pixels" else inputs
        for layer in self._layers:
            x = layer.forward(x, training)
        return x

    def _scaled(self, pixels: np.ndarray) -> np.ndarray:
        scaled = self._workspace.array("pixels", pixels.shape)
        np.copyto(scaled, pixels)
        scaled *= self._scale
        return scaled

    def _gradients(self) -> Dict[str, np.ndarray]:
        found = {}
        for layer in self._layers:
            found.update(layer.gradients)
        return {name: found[name] for name in self._parameters}

    def _check_inputs(self, inputs: np.ndarray) -> None:
        shape = tuple(self._input["shape"])
        # Pixels that are floats have been scaled already, and would be scaled twice: unless the
        # task says that they come so.
        allowed = "iu"
        if self._input["kind"] == "pixels":
            allowed = "f" if self._input["dtype"] == "float32" else "u"
        if inputs.shape[1:] != shape or inputs.dtype.kind not in allowed:
            raise ValueError(
                "inputs must be {} of shape {}, not {} of shape {}".format(
                    self._input["dtype"], ("N", *shape), inputs.dtype, inputs.shape
                )
            )
        if self._input["kind"] == "tokens" and _outside(inputs, self._input["vocabulary"]):
            raise ValueError("a token lies outside 0 to {}".format(self._input["vocabulary"] - 1))

    def _check_labels(self, labels: np.ndarray, batch: int) -> None:
        if batch == 0:
            raise ValueError("the batch is empty")
        if labels.shape != (batch,) or labels.dtype.kind not in "iu":
            raise ValueError(
                "labels must be integers of shape ({},), not {} of shape {}".format(
                    batch, labels.dtype, labels.shape
                )
            )
        if _outside(labels, self._classes):
            raise ValueError("a label lies outside 0 to {}".format(self._classes - 1))


def _outside(values: np.ndarray, limit: int) -> bool:
    return values.size > 0 and bool(values.min() < 0 or values.max() >= limit)


def _in_order(names: List[str], layers: List[Layer]) -> Dict[str, np.ndarray]:
    """Return the layers' own arrays in the order of `names`; both must name the same parameters."""
    found: Dict[str, np.ndarray] = {}
    for layer in layers:
        found.update(layer.parameters)
    if sorted(names) != sorted(found):
        raise ValueError(
            "the task lists the parameters {}, but its layers have {}".format(names, list(found))
        )
    return {name: found[name] for name in names}


def _load(values: Mapping[str, np.ndarray], into: Dict[str, np.ndarray]) -> None:
    """Copy the values into the arrays; ValueError names every one that is missing or misfits."""
    wrong = ["{} is missing".format(name) for name in into if name not in values]
    wrong += ["{} is not a parameter".format(name) for name in values if name not in into]
    for name, array in into.items():
        if name in values and np.shape(values[name]) != array.shape:
            wrong.append(
                "{} has shape {} instead of {}".format(name, np.shape(values[name]), array.shape)
            )
    if wrong:
        raise ValueError("parameters do not fit the task: " + "; ".join(wrong))
    for name, array in into.items():
        np.copyto(array, values[name])
