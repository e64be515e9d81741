"""The residual network against a second computation, which shares no code with it."""

import numpy as np
import pytest
from scipy.signal import correlate2d

from rosetta.conformance.small import small
from rosetta.proof.script import sensitive_parameters
from rosetta_reference import Network
from rosetta_reference.pooling import GlobalAveragePool, MaxPool
from rosetta_reference.residual import BatchNorm, Bottleneck

F8 = np.float64


def correlate(x, weight, stride):
    """Every channel by itself, by SciPy, at stride 1; then every second row and place."""
    edge = weight.shape[2] // 2
    padded = np.pad(x, [(0, 0), (edge, edge), (edge, edge)])
    y = [
        sum(correlate2d(c, w, "valid") for c, w in zip(padded, kernels, strict=True))
        for kernels in weight
    ]
    return np.array(y)[:, ::stride, ::stride]


def normalise(x, values, name):
    weight, bias, mean, var = (
        values[f"{name}.{suffix}"].astype(F8)[:, None, None]
        for suffix in ("weight", "bias", "running_mean", "running_var")
    )
    return (x - mean) / np.sqrt(var + 1e-5) * weight + bias


def block(x, values, name, stride):
    y = x
    for number, step in ((1, 1), (2, stride), (3, 1)):
        y = correlate(y, values[f"{name}.conv{number}.weight"].astype(F8), step)
        y = normalise(y, values, f"{name}.bn{number}")
        y = y if number == 3 else np.maximum(y, 0)
    if f"{name}.downsample.0.weight" in values:
        x = correlate(x, values[f"{name}.downsample.0.weight"].astype(F8), stride)
        x = normalise(x, values, f"{name}.downsample.1")
    return np.maximum(x + y, 0)


def features(image, values):
    """Of one image (3, rows, columns)."""
    x = correlate(image.astype(F8), values["conv1.weight"].astype(F8), 2)
    x = np.maximum(normalise(x, values, "bn1"), 0)
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    rows, places = (range(0, size - 2, 2) for size in padded.shape[1:])
    x = np.array([[padded[:, r : r + 3, p : p + 3].max((1, 2)) for p in places] for r in rows])
    x = x.transpose(2, 0, 1)
    for stage, blocks in enumerate((3, 4, 6, 3), 1):
        for number in range(blocks):
            stride = 2 if number == 0 and stage > 1 else 1
            x = block(x, values, f"layer{stage}.{number}", stride)
    return x.mean((1, 2))


def test_a_thin_resnet50_is_the_same_network():
    task = small("resnet50")
    values = sensitive_parameters(task)
    images = np.random.default_rng(0).normal(size=(5, 3, 56, 40)).astype(np.float32)
    found = Network(task.to_wire(), values, dtype=F8).predict(images)
    expected = np.array([features(image, values) for image in images])
    assert found.shape == (5, 128)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_it_is_not_trained():
    task = small("resnet50")
    network = Network(task.to_wire(), sensitive_parameters(task))
    images = np.zeros((2, 3, 56, 40), np.float32)
    with pytest.raises(ValueError, match="goes forward only"):
        network.train_step(images, np.zeros(2, np.int32))
    with pytest.raises(NotImplementedError, match="prediction time only"):
        BatchNorm("b", (1, 2, 2), 1e-5, F8).forward(np.zeros((1, 1, 2, 2)), training=True)


def test_its_pixels_come_as_floats():
    task = small("resnet50")
    network = Network(task.to_wire(), sensitive_parameters(task))
    with pytest.raises(ValueError, match="inputs must be float32"):
        network.predict(np.zeros((2, 3, 56, 40), np.uint8))


def test_a_block_that_changes_the_shape_needs_a_projection():
    with pytest.raises(ValueError, match="without a projection it can't add"):
        Bottleneck("b", (8, 4, 4), 2, 2, False, F8)


def test_padding_is_never_the_largest():
    x = np.full((1, 1, 4, 4), -5.0)
    y = MaxPool("p", (1, 4, 4), 3, 2, F8, padding=1).forward(x, training=False)
    np.testing.assert_array_equal(y, np.full((1, 1, 2, 2), -5.0))


def test_a_window_must_reach_the_image():
    with pytest.raises(ValueError, match="padding alone"):
        MaxPool("p", (1, 4, 4), 2, 2, F8, padding=2)


def test_the_average_is_over_rows_and_columns():
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    np.testing.assert_array_equal(
        GlobalAveragePool("g", (2, 3, 4), F8).forward(x, training=False), [[5.5, 17.5]]
    )
