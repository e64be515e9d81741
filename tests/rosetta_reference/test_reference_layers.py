"""What each layer computes, against a second computation written another way."""

import numpy as np
import pytest

from rosetta_reference.convolution import Conv
from rosetta_reference.elementwise import Dropout, Flatten, Relu
from rosetta_reference.embedding import Embedding
from rosetta_reference.losses import softmax_cross_entropy
from rosetta_reference.pooling import MaxPool
from rosetta_reference.recurrent import ClassicGru, CudnnGru

F8 = np.float64


def fill(layer, random):
    for values in layer.parameters.values():
        values[...] = random.standard_normal(values.shape)
    return layer.parameters


def correlate(x, weight, bias, stride, margin):
    """The definition, pixel by pixel."""
    batch, channels, height, width = x.shape
    filters, _, kernel, _ = weight.shape
    rows, places = (
        (height + 2 * margin - kernel) // stride + 1,
        (width + 2 * margin - kernel) // stride + 1,
    )
    y = np.zeros((batch, filters, rows, places))
    for n, o, i, j in np.ndindex(y.shape):
        total = bias[o]
        for c, u, v in np.ndindex(channels, kernel, kernel):
            row, place = i * stride + u - margin, j * stride + v - margin
            if 0 <= row < height and 0 <= place < width:
                total += weight[o, c, u, v] * x[n, c, row, place]
        y[n, o, i, j] = total
    return y


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [(3, 1, "same"), (5, 1, "same"), (3, 2, "same"), (2, 1, "valid")],
)
def test_conv_is_the_correlation_of_its_definition(kernel, stride, padding):
    random = np.random.default_rng(0)
    layer = Conv("c", (2, 6, 5), 3, kernel, stride, padding, F8)
    weight, bias = fill(layer, random).values()
    x = random.standard_normal((2, 2, 6, 5))
    margin = (kernel - 1) // 2 if padding == "same" else 0
    expected = correlate(x, weight, bias, stride, margin)
    assert layer.output_shape == expected.shape[1:]
    np.testing.assert_allclose(layer.forward(x, training=False), expected, rtol=1e-12, atol=1e-12)


def test_convs_kernel_is_not_flipped():
    layer = Conv("c", (1, 4, 4), 1, 3, 1, "same", F8)
    layer.parameters["c.weight"][0, 0, 0, 0] = 1  # the pixel above and to the left
    x = np.arange(1.0, 17).reshape(1, 1, 4, 4)
    expected = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 5, 6, 7], [0, 9, 10, 11]]
    np.testing.assert_array_equal(layer.forward(x, training=False)[0, 0], expected)


def test_conv_serves_a_smaller_batch_after_a_larger():
    random = np.random.default_rng(0)
    layer = Conv("c", (2, 6, 5), 3, 3, 1, "same", F8)
    fill(layer, random)
    x = random.standard_normal((4, 2, 6, 5))
    dy = random.standard_normal((4, 3, 6, 5))
    layer.forward(x, training=True)
    layer.backward(dy)
    small, dsmall = layer.forward(x[:2], training=True).copy(), layer.backward(dy[:2]).copy()

    fresh = Conv("c", (2, 6, 5), 3, 3, 1, "same", F8)
    for key, values in layer.parameters.items():
        fresh.parameters[key][...] = values
    np.testing.assert_array_equal(small, fresh.forward(x[:2], training=True))
    np.testing.assert_array_equal(dsmall, fresh.backward(dy[:2]))
    for key, gradient in fresh.gradients.items():
        np.testing.assert_array_equal(layer.gradients[key], gradient)


def test_max_pool_takes_the_largest_of_each_window():
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 4))
    y = MaxPool("p", (3, 6, 4), 2, 2, F8).forward(x, training=False)
    np.testing.assert_array_equal(y, x.reshape(2, 3, 3, 2, 2, 2).max(axis=(3, 5)))


def test_max_pool_gives_the_gradient_to_the_first_of_equals():
    layer = MaxPool("p", (1, 2, 4), 2, 2, F8)
    layer.forward(np.array([[[[1.0, 1, 0, 2], [1, 1, 2, 2]]]]), training=True)
    dx = layer.backward(np.array([[[[5.0, 7]]]]))
    np.testing.assert_array_equal(dx, [[[[5, 0, 0, 7], [0, 0, 0, 0]]]])


def test_max_pool_and_relu_do_not_hide_nan():
    x = np.ones((1, 1, 2, 2))
    x[0, 0, 1, 0] = np.nan
    assert np.isnan(MaxPool("p", (1, 2, 2), 2, 2, F8).forward(x, training=True)).all()
    assert np.isnan(Relu("r", (1, 2, 2), F8).forward(x, training=True)[0, 0, 1, 0])


def test_relus_derivative_at_zero_is_zero():
    layer = Relu("r", (3,), F8)
    layer.forward(np.array([[-1.0, 0, 2]]), training=True)
    np.testing.assert_array_equal(layer.backward(np.ones((1, 3))), [[0, 0, 1]])


def test_flatten_goes_through_channels_then_rows_then_columns():
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    np.testing.assert_array_equal(
        Flatten("f", (2, 3, 4), F8).forward(x, training=True), [np.arange(24)]
    )


def test_embedding_looks_rows_up():
    layer = Embedding("e", (2,), 5, 3, F8)
    table = fill(layer, np.random.default_rng(0))["e.weight"]
    y = layer.forward(np.array([[4, 0], [0, 0]], np.int32), training=True)
    np.testing.assert_array_equal(y, [[table[4], table[0]], [table[0], table[0]]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru_step_by_step(x, parameters, form):
    """The formulas of the tasks' README, gate by gate and step by step."""
    w_r, w_z, w_n = np.split(parameters["g.weight_ih"], 3)
    u_r, u_z, u_n = np.split(parameters["g.weight_hh"], 3)
    if form == "cudnn":
        b_r, b_z, b_n = np.split(parameters["g.bias_ih"], 3)
        c_r, c_z, c_n = np.split(parameters["g.bias_hh"], 3)
    else:
        b_r, b_z, b_n = np.split(parameters["g.bias"], 3)
        c_r = c_z = 0
    last = []
    for sample in x:
        h = np.zeros(len(u_r))
        for token in sample:
            r = sigmoid(w_r @ token + b_r + u_r @ h + c_r)
            z = sigmoid(w_z @ token + b_z + u_z @ h + c_z)
            if form == "cudnn":
                n = np.tanh(w_n @ token + b_n + r * (u_n @ h + c_n))
            else:
                n = np.tanh(w_n @ token + b_n + u_n @ (r * h))
            h = (1 - z) * n + z * h
        last.append(h)
    return np.array(last)


@pytest.mark.parametrize(("form", "kind"), [("cudnn", CudnnGru), ("classic", ClassicGru)])
def test_gru_follows_its_formulas_step_by_step(form, kind):
    random = np.random.default_rng(0)
    layer = kind("g", (7, 4), 3, F8)
    parameters = fill(layer, random)
    x = random.standard_normal((5, 7, 4))
    for batch in (x, x[:2], x):
        np.testing.assert_allclose(
            layer.forward(batch, training=True),
            gru_step_by_step(batch, parameters, form),
            rtol=1e-12,
            atol=1e-14,
        )


def test_the_two_gru_forms_differ():
    random = np.random.default_rng(0)
    cudnn, classic = CudnnGru("g", (7, 4), 3, F8), ClassicGru("g", (7, 4), 3, F8)
    fill(cudnn, random)
    cudnn.parameters["g.bias_hh"][...] = 0
    for theirs, ours in (
        ("weight_ih", "weight_ih"),
        ("weight_hh", "weight_hh"),
        ("bias", "bias_ih"),
    ):
        classic.parameters["g." + theirs][...] = cudnn.parameters["g." + ours]
    x = random.standard_normal((5, 7, 4))
    difference = cudnn.forward(x, training=True) - classic.forward(x, training=True)
    assert np.abs(difference).max() > 1e-2


def test_gru_bears_large_inputs_without_overflow():
    layer = CudnnGru("g", (2, 1), 1, np.float32)
    layer.parameters["g.weight_ih"][...] = 1
    with np.errstate(all="raise", under="ignore"):
        y = layer.forward(np.array([[[1e4], [-1e4]]], np.float32), training=True)
    np.testing.assert_allclose(y, [[-1]])


def test_dropout_is_fixed_by_its_seed_and_the_same_in_every_float_type():
    x = np.ones((8, 100))
    y = [
        Dropout("d", (100,), 0.25, seed, dtype).forward(x.astype(dtype), training=True).copy()
        for seed, dtype in ((3, F8), (3, F8), (3, np.float32), (4, F8))
    ]
    np.testing.assert_array_equal(y[0], y[1])
    np.testing.assert_array_equal(y[0] == 0, y[2] == 0)
    assert (y[0] != y[3]).any()


def test_dropout_draws_a_new_mask_each_time():
    layer = Dropout("d", (100,), 0.5, 0, F8)
    x = np.ones((8, 100))
    assert (layer.forward(x, training=True).copy() != layer.forward(x, training=True)).any()


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.5])
def test_dropout_drops_with_its_rate_and_preserves_the_mean(rate):
    n = 1_000_000
    y = Dropout("d", (1000,), rate, 0, F8).forward(np.ones((1000, 1000)), training=True)
    kept = np.count_nonzero(y)
    assert abs(kept / n - (1 - rate)) < 5 * np.sqrt(rate * (1 - rate) / n) + 1e-12
    assert set(np.unique(y)) <= {0.0, 1 / (1 - rate)}
    assert abs(y.mean() - 1) < 5 * np.sqrt(rate / (1 - rate) / n) + 1e-12


def test_dropout_does_nothing_while_predicting():
    x = np.random.default_rng(0).standard_normal((4, 10))
    np.testing.assert_array_equal(Dropout("d", (10,), 0.5, 0, F8).forward(x, training=False), x)


def test_loss_is_the_mean_negative_log_probability():
    logits = np.log(np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]))
    loss, _ = softmax_cross_entropy(logits + np.array([[3.0], [-5.0]]), np.array([1, 2], np.int32))
    assert type(loss) is float
    assert loss == pytest.approx(-(np.log(0.25) + np.log(0.7)) / 2, rel=1e-14)


def test_loss_does_not_overflow():
    logits = np.array([[1000.0, 0.0], [0.0, -1000.0]], np.float32)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        loss, gradient = softmax_cross_entropy(logits, np.array([1, 0], np.int32))
    assert loss == 500.0
    np.testing.assert_array_equal(gradient, [[0.5, -0.5], [0, 0]])
