"""The Caffe2 worker: a real process, where its environment has been made."""

from __future__ import annotations

import json
import subprocess

import msgspec
import psutil
import pytest

import joined
import joined_features
from rosetta import datasets, workers
from rosetta.conformance.small import small
from rosetta.tasks import Task
from tested_workers import needed

WORKER = workers.get("caffe2")

SEEDS = """\
import json, sys
sys.path.insert(0, sys.argv[1])
import backend
net = backend.core.Net("three layers")
for name in "abc":
    net.Dropout("x", [name, name + "_mask"], is_test=0)
backend.seed_dropout(net, int(sys.argv[2]))
print(json.dumps([op.device_option.random_seed for op in net.Proto().op]))
"""


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without Caffe2 these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("caffe2")


@pytest.fixture(scope="module")
def session(environment, folder):
    """One process for all tests: a task gets whatever the one before leaves in the workspace."""
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
    assert (hello.language, hello.framework) == ("python", "Caffe2")
    assert hello.framework_version == environment.framework_version == "1.10.2"
    assert hello.tasks == ["mlp", "cnn", "gru", "resnet50"]
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"
    assert "Math Kernel Library" in hello.disclosures["blas"]
    assert hello.disclosures["blas_threads"] == "1"


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


def test_an_unknown_variant_is_refused():
    joined.check_variants(WORKER, ["avx2"])


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_a_learning_rate_of_zero_can_be_changed(session, name):
    """Caffe2's optimisers add nothing to a net that is built with a learning rate of 0."""
    task = small(name)
    rate = task.optimiser.learning_rate
    data = datasets.load("synthetic", task=task.to_wire()).train
    with joined.set_up(session, with_optimiser(task, learning_rate=0.0)) as parameters:
        joined.train(session, data, [slice(0, 8)], [None])
        joined.check_equal(session.parameters(), parameters)
        joined.train(session, data, [slice(0, 8)], [rate])
        for key, values in session.parameters().items():
            assert (values != parameters[key]).any(), key


def test_momentum_may_be_zero(session):
    """Caffe2 then takes another operator, to which the learning rate's sign is the other way."""
    joined.check_training(session, with_optimiser(small("cnn"), momentum=0.0))


def test_prediction_leaves_the_training_alone(session):
    """Both nets write what they compute into the same workspace."""
    task = small("gru")
    data = datasets.load("synthetic", task=task.to_wire()).train
    rows = [slice(0, 6), slice(6, 8)]
    losses = []
    for disturbed in (False, True):
        with joined.set_up(session, task):
            for row in rows:
                losses += joined.train(session, data, [row], [None])
                if disturbed:
                    list(session.predict([data.inputs[8:11]], task.classes))
    assert losses[:2] == losses[2:]


def test_each_dropout_layer_has_random_numbers_of_its_own(environment):
    """Layers with the same seed would drop the same elements; without a seed, others each time."""
    found = []
    for seed in (0, 0, 2**31 - 1):
        command = [environment.interpreter, "-c", SEEDS, WORKER.folder, str(seed)]
        found.append(json.loads(subprocess.check_output(command, text=True)))
    assert found[0] == found[1]
    assert len({*found[0], *found[2]}) == 6


def test_the_recurrent_layer_has_no_threads_of_its_own(session):
    """By default it has four, and four more for the gradients."""
    process = psutil.Process(session.process.pid)
    before = process.num_threads()
    joined.check_training(session, small("gru"))
    assert process.num_threads() == before


def test_a_network_is_freed_when_the_next_one_comes(session):
    """The first one has 13 MB of weights, and with gradients and moments four times as much."""
    used = []
    for task in (wide_mlp(), small("gru")):
        data = datasets.load("synthetic", task=task.to_wire()).train
        with joined.set_up(session, task):
            joined.train(session, data, [slice(0, 8)], [None])
            used.append(psutil.Process(session.process.pid).memory_info().rss)
    assert used[0] - used[1] > 25e6


def test_its_log_is_not_about_the_processor(session, folder):
    """Caffe2 complains that it was compiled without AVX."""
    assert "CPU feature" not in (folder / "log").read_text()


@pytest.mark.parametrize("name", ["mlp", "cnn", "gru"])
def test_the_tuned_variant_is_the_same_network(environment, name, tmp_path):
    with joined.joined(workers.get("caffe2:avx2"), tmp_path) as session:
        assert session.hello.disclosures["MKL_DEBUG_CPU_TYPE"] == "5"
        joined.check_training(session, small(name))
        joined.check_proof(session, small(name))


def with_optimiser(task: Task, **changes: float) -> Task:
    content = task.to_wire()
    content["optimiser"].update(changes)
    return msgspec.convert(content, Task)


def wide_mlp() -> Task:
    """`small` with 784 pixels and 4096 units."""
    content = small("mlp").to_wire()
    content["input"]["shape"] = [784]
    content["layers"][0]["units"] = 4096
    shapes = {"fc1.weight": [4096, 784], "fc1.bias": [4096], "fc2.weight": [10, 4096]}
    for parameter in content["parameters"]:
        parameter["shape"] = shapes.get(parameter["name"], parameter["shape"])
    return msgspec.convert(content, Task)
