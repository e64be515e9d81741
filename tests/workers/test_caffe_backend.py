"""The Caffe worker: a real process, where its environment has been made."""

from __future__ import annotations

import numpy as np
import psutil
import pytest

import joined
import joined_features
import rosetta_reference
from rosetta import datasets, workers
from rosetta.conformance.small import small
from tested_workers import needed

WORKER = workers.get("caffe")
TASKS = ["mlp", "cnn", "gru"]
GROWTH_BYTES = 12 << 20


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without Caffe these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("caffe")


@pytest.fixture(scope="module")
def session(environment, folder):
    with joined.joined(WORKER, folder) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """A ResNet-50, forward only."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "Caffe")
    assert hello.framework_version == "1.0.0"
    assert environment.framework_version.startswith("1.0.0")
    assert hello.tasks == [*TASKS, "resnet50"]
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"
    assert "OpenBLAS" in hello.disclosures["cpu kernels"]


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


@pytest.mark.parametrize("name", TASKS)
def test_another_learning_rate_keeps_the_optimiser_s_state(session, name):
    """Caffe reads it once, so there is a new solver; Adam's moments and steps are in both."""
    task = small(name)
    data = datasets.load("synthetic", task=task.to_wire()).train
    rates = [None, task.optimiser.learning_rate, None, task.optimiser.learning_rate]
    losses = []
    for given in (rates, [None] * 4):
        with joined.set_up(session, task):
            losses.append(joined.train(session, data, [slice(0, 8)] * 4, given))
    assert losses[0] == losses[1]


def test_another_learning_rate_draws_no_mask_twice(session):
    """A solver that is given the seed again begins with the same random numbers."""
    task = small("cnn")
    data = datasets.load("synthetic", task=task.to_wire()).train
    with joined.set_up(session, task, dropout=True):
        losses = joined.train(session, data, [slice(0, 8)] * 4, [0.0] * 4)
    assert len(set(losses)) == 4


@pytest.mark.parametrize("name", TASKS)
def test_predictions_are_those_of_the_parameters_of_the_moment(session, name):
    """The net that predicts shares them with the solver's, also with the next solver's."""
    task = small(name)
    data = datasets.load("synthetic", task=task.to_wire()).train
    rate = task.optimiser.learning_rate
    with joined.set_up(session, task):
        for size, changed in ((16, None), (5, 2 * rate), (16, None)):
            joined.train(session, data, [slice(0, size)] * 2, [changed, None])
            reference = rosetta_reference.Network(
                task.to_wire(), session.parameters(), dropout=False
            )
            expected = reference.predict(data.inputs[:9])
            found = [*session.predict([data.inputs[:4], data.inputs[4:9]], task.classes)]
            atol = 2e-6 * np.abs(expected).max()
            np.testing.assert_allclose(np.concatenate(found), expected, atol=atol)


def test_it_computes_in_one_thread(session):
    """OpenBLAS has as many as it was told; Caffe has no others."""
    assert psutil.Process(session.process.pid).num_threads() <= 3  # ZeroMQ's two, and its own


def test_its_log_is_not_about_layers(session, folder):
    """Of an unrolled GRU it would tell of two thousand."""
    joined.check_training(session, small("gru"))
    assert "Creating Layer" not in (folder / "log").read_text()


@pytest.mark.exhaustive
def test_nothing_is_left_of_networks_and_solvers(session):
    task = small("cnn")
    data = datasets.load("synthetic", task=task.to_wire()).train
    process, sizes = psutil.Process(session.process.pid), []
    for _ in range(30):
        with joined.set_up(session, task):
            joined.train(session, data, [slice(0, 64), slice(0, 7)], [None, 0.1])
        sizes.append(process.memory_info().rss)
    assert max(sizes[20:]) - max(sizes[:10]) < GROWTH_BYTES
