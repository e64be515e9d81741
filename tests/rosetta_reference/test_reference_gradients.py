"""Every derivative against finite differences, in float64."""

import numpy as np
import pytest

import rosetta_reference
from rosetta_reference.convolution import Conv
from rosetta_reference.dense import Dense
from rosetta_reference.elementwise import Dropout, Flatten, Relu
from rosetta_reference.embedding import Embedding
from rosetta_reference.losses import softmax_cross_entropy
from rosetta_reference.pooling import GlobalAveragePool, MaxPool
from rosetta_reference.recurrent import ClassicGru, CudnnGru

F8 = np.float64
LAYERS = {
    "dense": lambda: Dense("l", 6, 4, F8),
    "relu": lambda: Relu("l", (6,), F8),
    "flatten": lambda: Flatten("l", (2, 3, 4), F8),
    "conv same": lambda: Conv("l", (2, 6, 5), 3, 3, 1, "same", F8),
    "conv same, kernel 5": lambda: Conv("l", (2, 6, 5), 2, 5, 1, "same", F8),
    "conv same, stride 2": lambda: Conv("l", (2, 6, 5), 3, 3, 2, "same", F8),
    "conv valid, stride 2": lambda: Conv("l", (2, 6, 7), 3, 3, 2, "valid", F8),
    "pool": lambda: MaxPool("l", (2, 6, 4), 2, 2, F8),
    "pool, overlapping": lambda: MaxPool("l", (2, 7, 5), 3, 2, F8),
    "pool, padded": lambda: MaxPool("l", (2, 6, 5), 3, 2, F8, padding=1),
    "conv without bias": lambda: Conv("l", (2, 6, 5), 3, 1, 1, "same", F8, bias=False),
    "average": lambda: GlobalAveragePool("l", (2, 3, 4), F8),
    "gru cudnn": lambda: CudnnGru("l", (5, 4), 3, F8),
    "gru classic": lambda: ClassicGru("l", (5, 4), 3, F8),
}
SHAPES = {
    "dense": (6,),
    "relu": (6,),
    "flatten": (2, 3, 4),
    "conv same": (2, 6, 5),
    "conv same, kernel 5": (2, 6, 5),
    "conv same, stride 2": (2, 6, 5),
    "conv valid, stride 2": (2, 6, 7),
    "pool": (2, 6, 4),
    "pool, overlapping": (2, 7, 5),
    "pool, padded": (2, 6, 5),
    "conv without bias": (2, 6, 5),
    "average": (2, 3, 4),
    "gru cudnn": (5, 4),
    "gru classic": (5, 4),
}


def well_separated(shape, random):
    """Values that lie apart by more than a finite difference's step, and none near 0."""
    values = np.linspace(-1, 1, 2 * int(np.prod(shape)))[::2]
    return random.permutation(values).reshape(shape)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layers_gradients_are_its_derivatives(name, numerical_gradient, relative_error):
    random = np.random.default_rng(0)
    layer = LAYERS[name]()
    for values in layer.parameters.values():
        values[...] = random.standard_normal(values.shape)
    x = well_separated((3, *SHAPES[name]), random)
    weights = random.standard_normal(layer.forward(x, training=True).shape)

    def weighted_sum():
        return float(np.sum(weights * layer.forward(x, training=True)))

    weighted_sum()
    dx = layer.backward(weights).copy()
    gradients = {key: values.copy() for key, values in layer.gradients.items()}

    assert relative_error(dx, numerical_gradient(weighted_sum, x)) < 1e-8
    assert gradients.keys() == layer.parameters.keys()
    for key, values in layer.parameters.items():
        assert relative_error(gradients[key], numerical_gradient(weighted_sum, values)) < 1e-8, key


def test_the_embeddings_gradient_sums_over_equal_tokens(numerical_gradient, relative_error):
    random = np.random.default_rng(0)
    layer = Embedding("l", (4,), 7, 3, F8)
    layer.parameters["l.weight"][...] = random.standard_normal((7, 3))
    weights = random.standard_normal((3, 4, 3))
    # The second batch lacks tokens of the first: nothing may be left of their gradients.
    for tokens in ([[0, 0, 1, 6], [6, 0, 2, 2], [4, 4, 4, 4]], [[5, 1, 1, 5], [0] * 4, [3] * 4]):
        x = np.array(tokens, np.int32)

        def weighted_sum(x=x):
            return float(np.sum(weights * layer.forward(x, training=True)))

        weighted_sum()
        layer.backward(weights)
        expected = numerical_gradient(weighted_sum, layer.parameters["l.weight"])
        assert relative_error(layer.gradients["l.weight"], expected) < 1e-8


def test_dropouts_gradient_passes_the_same_mask():
    layer = Dropout("l", (50,), 0.4, 0, F8)
    x = np.ones((20, 50))
    y = layer.forward(x, training=True).copy()
    np.testing.assert_array_equal(layer.backward(np.full((20, 50), 3.0)), 3 * y)


def test_the_losss_gradient_is_its_derivative(numerical_gradient, relative_error):
    random = np.random.default_rng(0)
    logits, labels = random.standard_normal((6, 4)), np.array([0, 3, 1, 1, 2, 0], np.int32)
    _, gradient = softmax_cross_entropy(logits, labels)
    expected = numerical_gradient(lambda: softmax_cross_entropy(logits, labels)[0], logits)
    assert relative_error(gradient, expected) < 1e-8


@pytest.mark.parametrize(
    ("name", "form"), [("mlp", "cudnn"), ("cnn", "cudnn"), ("gru", "cudnn"), ("gru", "classic")]
)
def test_a_whole_networks_gradients_are_its_derivatives(
    name, form, small_task, draw_parameters, draw_batch, numerical_gradient, relative_error
):
    task = small_task(name, form)
    values = {key: v.astype(F8) for key, v in draw_parameters(task).items()}
    inputs, labels = draw_batch(task)

    def loss():
        return rosetta_reference.Network(task, values, dropout=False).gradients(inputs, labels)[0]

    _, gradients = rosetta_reference.Network(task, values, dropout=False).gradients(inputs, labels)
    assert list(gradients) == list(values)
    for key, array in values.items():
        assert relative_error(gradients[key], numerical_gradient(loss, array)) < 1e-6, key
