"""The optimisers, against values computed by hand."""

import math

import numpy as np
import pytest

from rosetta_reference import Adam, Sgd, make_optimiser
from rosetta_reference.optimisers import PIECE


def run(make, gradients, start=1.0):
    """The parameter's value after each step."""
    parameter = {"w": np.array([start])}
    optimiser = make(parameter)
    values = []
    for gradient in gradients:
        optimiser.update({"w": np.array([gradient])})
        values.append(float(parameter["w"][0]))
    return values


def test_sgd_with_momentum():
    # v = 1, 0.9 + 2 = 2.9, 2.61 - 1 = 1.61, 1.449
    values = run(lambda p: Sgd(p, 0.1, 0.9), [1.0, 2.0, -1.0, 0.0])
    assert values == pytest.approx([0.9, 0.61, 0.449, 0.3041], rel=1e-14)


def test_sgd_without_momentum():
    assert run(lambda p: Sgd(p, 0.1), [1.0, 2.0]) == pytest.approx([0.9, 0.7], rel=1e-14)


# Gradients 1, 2, -1 with beta1 = 0.5, beta2 = 0.75:
#   m = 0.5, 1.25, 0.125        c1 = 0.5, 0.75, 0.875
#   v = 0.25, 1.1875, 1.140625  c2 = 0.25, 0.4375, 0.578125
M, C1 = (0.5, 1.25, 0.125), (0.5, 0.75, 0.875)
V, C2 = (0.25, 1.1875, 1.140625), (0.25, 0.4375, 0.578125)


def test_adam_torch_adds_epsilon_to_the_corrected_root():
    values = run(lambda p: Adam(p, 0.1, 0.5, 0.75, 0.01, "torch"), [1.0, 2.0, -1.0])
    expected, w = [], 1.0
    for m, v, c1, c2 in zip(M, V, C1, C2, strict=True):
        w -= 0.1 * (m / c1) / (math.sqrt(v / c2) + 0.01)
        expected.append(w)
    assert values == pytest.approx(expected, rel=1e-14)
    assert values[0] == pytest.approx(1 - 0.1 / 1.01, rel=1e-14)


def test_adam_hat_adds_epsilon_before_the_correction():
    values = run(lambda p: Adam(p, 0.1, 0.5, 0.75, 0.01, "hat"), [1.0, 2.0, -1.0])
    expected, w = [], 1.0
    for m, v, c1, c2 in zip(M, V, C1, C2, strict=True):
        w -= 0.1 * math.sqrt(c2) / c1 * m / (math.sqrt(v) + 0.01)
        expected.append(w)
    assert values == pytest.approx(expected, rel=1e-14)
    assert values[0] == pytest.approx(1 - 0.1 * 0.5 / 0.51, rel=1e-14)


def test_adams_forms_are_the_same_without_epsilon():
    torch, hat = (
        run(lambda p, form=form: Adam(p, 0.1, 0.9, 0.999, 0.0, form), [1.0, -2.0, 0.5])
        for form in ("torch", "hat")
    )
    assert torch == pytest.approx(hat, rel=1e-14)


def test_adam_moves_a_parameter_whose_gradient_has_become_zero():
    first, second = run(lambda p: Adam(p, 0.1), [1.0, 0.0])
    assert second < first - 0.01


@pytest.mark.parametrize("make", [lambda p: Sgd(p, 0.1, 0.9), lambda p: Adam(p, 0.1)])
def test_large_arrays_are_updated_throughout_and_in_place(make):
    random = np.random.default_rng(0)
    shape = (3, PIECE - 5)
    parameter = {"w": random.standard_normal(shape).astype(np.float32)}
    array, before = parameter["w"], parameter["w"].copy()
    gradient = random.standard_normal(shape).astype(np.float32)
    optimiser = make(parameter)
    optimiser.update({"w": gradient})
    assert array.dtype == np.float32
    assert (array != before).all()
    pieces = {"w": before.ravel()[PIECE - 2 : PIECE + 2].copy()}
    make(pieces).update({"w": gradient.ravel()[PIECE - 2 : PIECE + 2]})
    np.testing.assert_allclose(array.ravel()[PIECE - 2 : PIECE + 2], pieces["w"], rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "lion", "learning_rate": 1.0}, r"'lion' is unknown; known are \['adam', 'sgd'\]"),
        ({"kind": "sgd", "learning_rate": 1.0, "nesterov": True}, r"unknown \['nesterov'\]"),
        (
            {"kind": "adam", "learning_rate": 1.0, "weight_decay": 0.1},
            r"unknown \['weight_decay'\]",
        ),
    ],
)
def test_what_is_unknown_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_optimiser(settings, {"w": np.zeros(1)})


def test_an_unknown_adam_form_is_named():
    with pytest.raises(ValueError, match="form 'keras' is unknown"):
        make_optimiser({"kind": "adam", "learning_rate": 1.0}, {"w": np.zeros(1)}, "keras")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        # w after three steps with g = 1, 2, 3, momentum 1/2, learning rate 0.1 and then 0.3
        ("outside", -(0.1 * 1 + 0.1 * 2.5 + 0.3 * 4.25)),
        ("inside", -(0.1 + (0.05 + 0.2) + (0.125 + 0.9))),
    ],
)
def test_momentum_forms_differ_when_the_learning_rate_changes(form, expected):
    w = {"w": np.zeros(1)}
    optimiser = make_optimiser(
        {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.5}, w, momentum_form=form
    )
    for gradient, rate in ((1.0, 0.1), (2.0, 0.1), (3.0, 0.3)):
        optimiser.learning_rate = rate
        optimiser.update({"w": np.array([gradient])})
    assert w["w"][0] == pytest.approx(expected, rel=1e-12)


def test_an_unknown_momentum_form_is_refused():
    with pytest.raises(ValueError, match="known are"):
        make_optimiser(
            {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.5}, {}, momentum_form="nesterov"
        )
