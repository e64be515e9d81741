"""The two MXNet workers, Gluon and Module: real processes, where MXNet is installed."""

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

TASKS = ["mlp", "cnn", "gru"]
MODES = {
    "mxnet-gluon": "hybridized, static_alloc, static_shape",
    "mxnet-module": "symbolic, bound executor",
}
GROWTH_BYTES = 12 << 20


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without MXNet these tests say that they were skipped."""
    return needed(workers.get("mxnet-gluon"))


@pytest.fixture(scope="module", params=MODES)
def session(request, environment, tmp_path_factory):
    """Every test is there twice: one environment, two workers."""
    with joined.joined(workers.get(request.param), tmp_path_factory.mktemp("mxnet")) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """A ResNet-50, forward only."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "MXNet")
    assert hello.framework_version == hello.versions["mxnet"] == environment.framework_version
    assert hello.tasks == [*TASKS, "resnet50"]
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"].startswith("float32")
    assert hello.disclosures["mode"] == MODES[session.name]
    assert hello.disclosures["engine"] == "ThreadedEnginePerDevice"


def test_a_device_that_is_no_device_is_refused(session):
    joined.check_devices(workers.get(session.name))


def test_gluon_or_module_must_be_chosen():
    found = joined.refusals(workers.get("mxnet-gluon"), [["cpu", 1], ["cpu", 1, "theano"]])
    assert found == [f"no variant {v!r}; there are: gluon, module" for v in ("", "theano")]


def test_both_workers_share_an_environment():
    names = {workers.get(name).environment_name for name in MODES}
    assert names == {"mxnet"}


@pytest.mark.parametrize("name", TASKS)
def test_predictions_are_those_of_the_parameters_of_the_moment(session, name):
    """Module predicts with an executor of its own, and both reuse buffers from call to call."""
    task = small(name)
    data = datasets.load("synthetic", task=task.to_wire()).train
    with joined.set_up(session, task):
        for size in (16, 5, 16):
            joined.train(session, data, [slice(0, size)] * 2, [None] * 2)
            reference = rosetta_reference.Network(
                task.to_wire(), session.parameters(), dropout=False
            )
            expected = reference.predict(data.inputs[:9])
            found = [*session.predict([data.inputs[:4], data.inputs[4:9]], task.classes)]
            atol = 2e-6 * np.abs(expected).max()
            np.testing.assert_allclose(np.concatenate(found), expected, atol=atol)


def test_adam_s_first_step_is_not_too_long(session):
    """With beta2 as it comes every change is 6.5e-6 of itself too large, hidden by rounding.

    So the tolerance of the proof isn't enough here: it is about the length along the reference's.
    """
    task = small("mlp")
    data = datasets.load("synthetic", task=task.to_wire()).train
    with joined.set_up(session, task) as parameters:
        joined.train(session, data, [slice(0, 64)], [0.1])
        found = session.parameters()
    reference = rosetta_reference.Network(
        task.to_wire(), parameters, dropout=False, adam_form="hat"
    )
    reference.set_learning_rate(0.1)
    reference.train_step(data.inputs[:64], data.labels[:64])
    changed, expected = (
        np.concatenate([(v[n].astype(np.float64) - parameters[n]).ravel() for n in parameters])
        for v in (found, reference.parameters())
    )
    assert changed @ expected / (expected @ expected) == pytest.approx(1, abs=2e-6)


def test_nothing_is_left_of_networks_and_sizes_of_batches(session):
    """A network that has ended is freed, and so are executors for other sizes."""
    task = small("cnn")
    data = datasets.load("synthetic", task=task.to_wire()).train
    rows = [slice(0, size) for size in (64, 7, 33)] * 4
    process = psutil.Process(session.process.pid)
    sizes = []
    for _ in range(30):
        with joined.set_up(session, task):
            joined.train(session, data, rows, [None] * len(rows))
        sizes.append(process.memory_info().rss)
    assert max(sizes[20:]) - max(sizes[:10]) < GROWTH_BYTES
