"""The optimisers. Each changes the parameters in place, element by element."""

import math
from typing import Any, Dict, Iterator, List, Mapping

import numpy as np

ADAM_FORMS = ("torch", "hat")
MOMENTUM_FORMS = ("outside", "inside")

# An update reads and writes a parameter, its gradient and the optimiser's own arrays several times.
# In pieces of this many elements they stay in the processor's cache meanwhile.
PIECE = 32768


class Optimiser:
    """Changes parameters in place, given their gradients.

    The parameters are C-contiguous arrays of one float type, and are the same objects ever after.
    """

    def __init__(self, parameters: Mapping[str, np.ndarray], learning_rate: float) -> None:
        self._parameters = dict(parameters)
        self.learning_rate = float(learning_rate)

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        """Do one step; `gradients` has an array of the same shape for every parameter."""
        raise NotImplementedError

    def _state(self) -> Dict[str, np.ndarray]:
        """Return zeros for every parameter, in its shape and type."""
        return {name: np.zeros_like(values) for name, values in self._parameters.items()}


class Sgd(Optimiser):
    """Stochastic gradient descent with classical momentum (Polyak 1964; not Nesterov's).

    The form "outside" has the learning rate outside the velocity,

        v = momentum · v + g          w = w - learning_rate · v          v₀ = 0

    and "inside", as in Sutskever et al. 2013 (ICML), equations 1 and 2,

        v = momentum · v + learning_rate · g          w = w - v

    At a constant learning rate they are the same; after a change, the first applies the new rate
    to all of the past, the second to new gradients only.
    """

    def __init__(
        self,
        parameters: Mapping[str, np.ndarray],
        learning_rate: float,
        momentum: float = 0.0,
        form: str = "outside",
    ) -> None:
        Optimiser.__init__(self, parameters, learning_rate)
        if form not in MOMENTUM_FORMS:
            raise ValueError(
                "momentum form {!r} is unknown; known are {}".format(form, MOMENTUM_FORMS)
            )
        self._momentum = float(momentum)
        self._form = form
        self._velocity = self._state()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        inside, outside = self.learning_rate, 1.0
        if self._form == "outside":
            inside, outside = outside, inside
        for name, parameter in self._parameters.items():
            scratch = np.empty(min(PIECE, parameter.size), parameter.dtype)
            for w, g, v in _pieces(parameter, gradients[name], self._velocity[name]):
                change = scratch[: len(w)]
                v *= self._momentum
                v += g if inside == 1.0 else np.multiply(g, inside, out=change)
                w -= v if outside == 1.0 else np.multiply(v, outside, out=change)


class Adam(Optimiser):
    """Adam (Kingma & Ba 2015, arXiv:1412.6980, algorithm 1), every element updated in every step.

        m = beta1 · m + (1 - beta1) · g         v = beta2 · v + (1 - beta2) · g²       m₀ = v₀ = 0

    and in step t = 1, 2, …, with c1 = 1 - beta1ᵗ and c2 = 1 - beta2ᵗ, in the form "torch", which is
    algorithm 1 as printed,

        w = w - learning_rate · (m / c1) / (√(v / c2) + epsilon)

    and in the form "hat", which the end of the paper's section 2 gives as the more efficient order
    of computation,

        w = w - learning_rate · (√c2 / c1) · m / (√v + epsilon)

    The forms differ: in the second, epsilon is larger by 1 / √c2, which is 32 in the first step.
    """

    def __init__(
        self,
        parameters: Mapping[str, np.ndarray],
        learning_rate: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        form: str = "torch",
    ) -> None:
        Optimiser.__init__(self, parameters, learning_rate)
        if form not in ADAM_FORMS:
            raise ValueError("Adam form {!r} is unknown; known are {}".format(form, ADAM_FORMS))
        self._epsilon = float(epsilon)
        self._beta1, self._beta2 = float(beta1), float(beta2)
        self._form = form
        self._steps = 0
        self._mean = self._state()
        self._square = self._state()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        self._steps += 1
        correction1 = 1.0 - self._beta1**self._steps
        root_correction2 = math.sqrt(1.0 - self._beta2**self._steps)
        # Both forms are  w - rate · m / (√v / divisor + epsilon).
        if self._form == "torch":
            rate, divisor = self.learning_rate / correction1, root_correction2
        else:
            rate, divisor = self.learning_rate * root_correction2 / correction1, 1.0
        for name, parameter in self._parameters.items():
            scratch = np.empty(min(PIECE, parameter.size), parameter.dtype)
            arrays = (parameter, gradients[name], self._mean[name], self._square[name])
            for w, g, m, v in _pieces(*arrays):
                self._update_piece(w, g, m, v, rate, divisor, scratch[: len(w)])

    def _update_piece(
        self,
        w: np.ndarray,
        g: np.ndarray,
        m: np.ndarray,
        v: np.ndarray,
        rate: float,
        divisor: float,
        scratch: np.ndarray,
    ) -> None:
        m *= self._beta1
        m += np.multiply(g, 1.0 - self._beta1, out=scratch)
        v *= self._beta2
        np.multiply(g, g, out=scratch)
        scratch *= 1.0 - self._beta2
        v += scratch
        np.sqrt(v, out=scratch)
        scratch /= divisor
        scratch += self._epsilon
        np.divide(m, scratch, out=scratch)
        scratch *= rate
        w -= scratch


def make_optimiser(
    settings: Mapping[str, Any],
    parameters: Mapping[str, np.ndarray],
    adam_form: str = "torch",
    momentum_form: str = "outside",
) -> Optimiser:
    """Return the optimiser that a task's `optimiser` table describes.

    ValueError names a kind or a setting that is not known: to leave a weight decay out without a
    word would be to train another network.
    """
    known = {
        "sgd": ["learning_rate", "momentum"],
        "adam": ["learning_rate", "beta1", "beta2", "epsilon"],
    }
    kind = settings["kind"]
    if kind not in known:
        raise ValueError("optimiser {!r} is unknown; known are {}".format(kind, sorted(known)))
    values = {name: value for name, value in settings.items() if name != "kind"}
    strange = sorted(set(values) - set(known[kind]))
    if strange:
        raise ValueError(
            "optimiser {}: unknown {}; known are {}".format(kind, strange, known[kind])
        )
    if kind == "sgd":
        return Sgd(parameters, form=momentum_form, **values)
    return Adam(parameters, form=adam_form, **values)


def _pieces(*arrays: np.ndarray) -> Iterator[List[np.ndarray]]:
    """Yield views of all arrays, piece by piece, as vectors of at most PIECE elements."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, PIECE):
        yield [vector[start : start + PIECE] for vector in flat]
