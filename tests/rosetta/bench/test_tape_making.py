"""A tape that is made ahead holds what a coordinator of the same run would send."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from rosetta import datasets, tasks
from rosetta.bench.tape import make_tape
from rosetta.errors import UserError
from rosetta.protocol import Arrays, decode
from rosetta.protocol.messages import FROM_COORDINATOR, Message, type_of
from rosetta.protocol.tape import read_tape
from rosetta.tasks import Order, Task

SEED, STEPS, BATCH = 7, 5, 16
TASKS = ("mlp", "cnn", "gru")

Messages = list[tuple[Message, Arrays]]


@pytest.fixture(scope="module", params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return tasks.load(request.param).override(batch_size=BATCH)


@pytest.fixture(scope="module")
def train(task: Task) -> datasets.Split:
    made = datasets.load("synthetic", task=task.to_wire()).train
    return datasets.Split(made.inputs[:70].copy(), made.labels[:70].copy())


@pytest.fixture(scope="module")
def messages(task: Task, train: datasets.Split, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("tape") / "made.tape"
    make_tape(path, task, train, steps=STEPS, seed=SEED, threads=3)
    stored = list(read_tape(path))
    assert {sender for sender, _ in stored} == {b"C"}
    return [decode(frames, expected=FROM_COORDINATOR) for _, frames in stored]


def test_it_is_a_whole_session(messages: Messages) -> None:
    kinds = [type_of(type(message)) for message, _ in messages]
    assert kinds == ["WELCOME", "SETUP", *["BATCH"] * STEPS, "END", "BYE"]
    assert [message.id for message, _ in messages] == list(range(len(messages)))


def test_the_welcome_asks_for_one_batch_at_a_time(messages: Messages) -> None:
    welcome = messages[0][0]
    assert (welcome.protocol, welcome.credit, welcome.re) == ("1.0", 1, 0)


def test_the_setup_is_that_of_the_run(messages: Messages, task: Task) -> None:
    setup, parameters = messages[1]
    assert msgspec.convert(setup.task, Task) == task
    assert (setup.batch_size, setup.seed, setup.threads) == (BATCH, SEED, 3)
    assert setup.dropout is True
    expected = tasks.initial_parameters(task, SEED)
    assert list(parameters) == list(expected) == [p.name for p in task.parameters]
    for name, values in expected.items():
        assert parameters[name].dtype == np.float32
        assert np.array_equal(parameters[name], values)


def test_the_batches_are_those_of_the_run_in_its_order(
    messages: Messages, train: datasets.Split, task: Task
) -> None:
    """Over the end of an epoch, too: 70 samples are four batches of 16."""
    order = Order(len(train), BATCH, SEED)
    for step, (batch, arrays) in enumerate(messages[2:-2]):
        rows = order.rows(step)
        assert batch.step == step
        assert list(arrays) == ["inputs", "labels"]
        assert arrays["inputs"].dtype == task.input.dtype
        assert arrays["inputs"].shape == (BATCH, *task.input.shape)
        assert np.array_equal(arrays["inputs"], train.inputs[rows])
        assert arrays["labels"].dtype == np.int32
        assert np.array_equal(arrays["labels"], train.labels[rows])


def test_a_place_that_cannot_be_written_is_named(task: Task, train: datasets.Split, tmp_path: Path):
    with pytest.raises(UserError, match=r"can't write the tape .*nowhere"):
        make_tape(tmp_path / "nowhere" / "t", task, train, steps=1, seed=1, threads=1)


def test_a_batch_larger_than_the_set_is_an_error(train: datasets.Split, tmp_path: Path) -> None:
    task = tasks.load("mlp").override(batch_size=71)
    with pytest.raises(UserError, match="batch size 71 is larger"):
        make_tape(tmp_path / "t", task, train, steps=1, seed=1, threads=1)
    assert not (tmp_path / "t").exists()
