"""Parameters in canonical layouts, and in those of Keras's layers."""

import numpy as np
from tensorflow.keras import layers


def from_canonical(model, layer, arrays):
    """A layer's parameters: from the canonical layouts to those of `layer.set_weights`."""
    if isinstance(layer, (layers.Embedding, layers.BatchNormalization)):
        return arrays
    if isinstance(layer, layers.GRU):
        weight_ih, weight_hh, bias_ih, bias_hh = map(swap_gates, arrays)
        return [weight_ih.T, weight_hh.T, np.stack([bias_ih, bias_hh])]
    weight, *bias = arrays
    if isinstance(layer, layers.Conv2D):
        return [weight.transpose(2, 3, 1, 0), *bias]  # OIHW -> HWIO
    image = flattened_image(model, layer)
    if image:
        rows, columns, channels = image
        weight = weight.reshape(-1, channels, rows, columns).transpose(0, 2, 3, 1)
    return [weight.reshape(len(weight), -1).T, *bias]  # (out, in) -> (in, out)


def to_canonical(model, layer, arrays):
    """The inverse of `from_canonical`."""
    if isinstance(layer, (layers.Embedding, layers.BatchNormalization)):
        return arrays
    if isinstance(layer, layers.GRU):
        kernel, recurrent_kernel, biases = arrays
        return [swap_gates(array) for array in (kernel.T, recurrent_kernel.T, *biases)]
    kernel, *bias = arrays
    if isinstance(layer, layers.Conv2D):
        return [kernel.transpose(3, 2, 0, 1), *bias]
    weight, image = kernel.T, flattened_image(model, layer)
    if image:
        weight = weight.reshape(-1, *image).transpose(0, 3, 1, 2)
    return [weight.reshape(len(weight), -1), *bias]


def swap_gates(rows):
    """Gates reset, update, new (canonical) <-> update, reset, new (Keras)."""
    first, second, new = np.split(rows, 3)
    return np.concatenate([second, first, new])


def flattened_image(model, layer):
    """(rows, columns, channels) if `layer` comes right after a Flatten, else None.

    Keras flattens them in this order, the canonical network channels first.
    """
    before = model.layers[model.layers.index(layer) - 1]
    return before.input.shape[1:] if isinstance(before, layers.Flatten) else None
