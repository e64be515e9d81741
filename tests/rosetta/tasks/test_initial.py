"""Initial parameters: the distributions of the task files, drawn once for every worker."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from rosetta import tasks
from rosetta.tasks.definition import Parameter, Task
from rosetta.tasks.initial import fans, initial_parameters


def with_parameters(*parameters: Parameter) -> Task:
    return msgspec.structs.replace(tasks.load("mlp"), parameters=list(parameters))


def drawn(shape: list[int], initial: str, seed: int = 1, **more: float) -> np.ndarray:
    task = with_parameters(Parameter(name="p", shape=shape, initial=initial, **more))
    return initial_parameters(task, seed)["p"]


@pytest.mark.parametrize("name", ["mlp", "cnn", "gru"])
def test_every_parameter_is_there_in_order_as_float32(name: str) -> None:
    task = tasks.load(name)
    values = initial_parameters(task, 1)
    assert list(values) == [p.name for p in task.parameters]
    for parameter in task.parameters:
        assert values[parameter.name].dtype == np.float32
        assert values[parameter.name].shape == tuple(parameter.shape)
        assert values[parameter.name].flags.c_contiguous


@pytest.mark.parametrize(
    ("shape", "fan_in", "fan_out"),
    [([10, 128], 128, 10), ([50, 3, 3, 3], 27, 450), ([64, 3, 7, 7], 147, 3136), ([7], 7, 7)],
)
def test_the_fans_of_a_convolution_count_its_area(
    shape: list[int], fan_in: int, fan_out: int
) -> None:
    assert fans(shape) == (fan_in, fan_out)


def assert_uniform(values: np.ndarray, limit: float) -> None:
    """Within ±limit, reaching near it, with a uniform's mean, deviation and kurtosis."""
    count, deviation = values.size, limit / math.sqrt(3)
    assert np.abs(values).max() <= limit * (1 + 1e-6)
    assert np.abs(values).max() > 0.99 * limit
    assert abs(values.mean()) < 4 * deviation / math.sqrt(count)
    assert values.std() == pytest.approx(deviation, rel=0.02)
    assert np.mean((values / deviation) ** 4) == pytest.approx(1.8, rel=0.05)


def assert_normal(values: np.ndarray, deviation: float) -> None:
    assert abs(values.mean()) < 4 * deviation / math.sqrt(values.size)
    assert values.std() == pytest.approx(deviation, rel=0.02)
    assert np.mean((values / deviation) ** 4) == pytest.approx(3, rel=0.1)


def test_glorot_uniform() -> None:
    assert_uniform(drawn([128, 784], "glorot_uniform"), math.sqrt(6 / (128 + 784)))
    assert_uniform(drawn([100, 50, 3, 3], "glorot_uniform"), math.sqrt(6 / (450 + 900)))


def test_uniform_within_its_own_limit() -> None:
    assert_uniform(drawn([300, 125], "uniform", limit=0.1), 0.1)


def test_he_normal() -> None:
    assert_normal(drawn([256, 64, 3, 3], "he_normal"), math.sqrt(2 / (64 * 9)))


def test_normal_with_its_own_deviation() -> None:
    assert_normal(drawn([300, 125], "normal", deviation=0.7), 0.7)


def test_zeros_and_ones_are_exact() -> None:
    assert not drawn([128], "zeros").any()
    assert (drawn([64], "ones") == 1).all()
    biases = [p for p in tasks.load("mlp").parameters if p.name.endswith("bias")]
    assert {p.initial for p in biases} == {"zeros"}


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    task = tasks.load("mlp")
    once, again, other = (initial_parameters(task, seed) for seed in (3, 3, 4))
    for name in ("fc1.weight", "fc2.weight"):
        assert once[name].tobytes() == again[name].tobytes()
        assert once[name].tobytes() != other[name].tobytes()


def test_parameters_of_one_task_are_independent_of_each_other() -> None:
    twin = {"shape": [100, 100], "initial": "normal", "deviation": 1.0}
    task = with_parameters(Parameter(name="a", **twin), Parameter(name="b", **twin))
    values = initial_parameters(task, 1)
    correlation = np.corrcoef(values["a"].ravel(), values["b"].ravel())[0, 1]
    assert abs(correlation) < 0.05


def test_a_parameter_more_leaves_the_others_as_they_were() -> None:
    first = Parameter(name="a", shape=[10, 10], initial="glorot_uniform")
    more = Parameter(name="b", shape=[5], initial="normal", deviation=1.0)
    alone = initial_parameters(with_parameters(first), 1)["a"]
    assert (initial_parameters(with_parameters(first, more), 1)["a"] == alone).all()


def test_overrides_leave_the_weights_as_they_were() -> None:
    task = tasks.load("mlp")
    values = initial_parameters(task, 1)
    changed = initial_parameters(task.override(batch_size=8, learning_rate=1.0), 1)
    assert all((values[name] == changed[name]).all() for name in values)
