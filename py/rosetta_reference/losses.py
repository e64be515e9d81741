"""The loss."""

from typing import Tuple

import numpy as np


def softmax_cross_entropy(logits: np.ndarray, labels: np.ndarray) -> Tuple[float, np.ndarray]:
    """Return the mean loss of a batch and its gradient by the logits.

        loss = -(1 / N) Σ_n log p[n, labels[n]]     p[n] = exp(logits[n]) / Σ_k exp(logits[n, k])
        dlogits = (p - onehot(labels)) / N

    logits (N, classes) of a float type, labels (N) of an integer type; the gradient has the logits'
    shape and type. The row's largest logit is subtracted first, which changes nothing but keeps exp
    from overflowing; the logarithm is natural. A label that is no class is not noticed here:
    `Network.check` refuses it.
    """
    batch = len(logits)
    samples = np.arange(batch)
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1)
    loss = float(np.mean(np.log(sums) - shifted[samples, labels]))
    gradient = exponentials / sums[:, np.newaxis]
    gradient[samples, labels] -= 1
    gradient /= batch
    return loss, gradient
