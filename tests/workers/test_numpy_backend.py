"""The NumPy worker's backend keeps the contract between a backend and the runtime."""

import importlib.util
import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import joined
import joined_features
import rosetta_reference
from rosetta import environments, workers

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "py" / "workers" / "numpy"
TASKS = ["mlp", "cnn", "gru"]
WORKER = workers.get("numpy")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    environments.ensure(WORKER)
    with joined.joined(WORKER, tmp_path_factory.mktemp("numpy")) as session:
        yield session


class TestFeatures(joined_features.RightFeatures):
    """ResNet-50."""


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("backend_under_test", FOLDER / "backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_setup(name, **changes):
    """What the runtime passes to `build`, and initial parameters."""
    task = tomllib.loads((ROOT / "protocol" / "tasks" / f"{name}.toml").read_text())
    random = np.random.default_rng(0)
    parameters = {
        entry["name"]: (0.05 * random.standard_normal(entry["shape"])).astype(np.float32)
        for entry in task["parameters"]
    }
    settings = {"batch_size": 4, "seed": 1, "dropout": False, "threads": 1, "device": "cpu"}
    return SimpleNamespace(task=task, **(settings | changes)), parameters


def make_batch(task, size=4):
    random = np.random.default_rng(1)
    limit, dtype = (256, np.uint8) if task["input"]["kind"] == "pixels" else (30_000, np.int32)
    inputs = random.integers(0, limit, (size, *task["input"]["shape"])).astype(dtype)
    labels = random.integers(0, task["classes"], size).astype(np.int32)
    inputs.flags.writeable = labels.flags.writeable = False  # as they come from the wire
    return inputs, labels


def test_start_says_what_the_worker_is(backend):
    told = backend.start("cpu", 2)
    assert told["framework"] == {"name": "NumPy", "version": np.__version__}
    assert set(told["versions"]) == {"numpy", "python"}
    assert told["tasks"] == [*TASKS, "resnet50"]
    assert told["forms"] == {"adam": "torch", "gru": "cudnn"}
    assert told["disclosures"]["precision"] == "float32"
    assert all(type(value) is str and value for value in told["disclosures"].values())
    json.dumps(told)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cudafoo", "gpu", "cpu:0", "CPU", ""])
def test_start_refuses_a_device_it_lacks(backend, device):
    sentence = f"^device '{device}' is not available: NumPy computes on the CPU$"
    with pytest.raises(ValueError, match=sentence):
        backend.start(device, 2)


@pytest.mark.parametrize("name", TASKS)
def test_a_network_trains_predicts_and_returns_its_parameters(backend, name):
    setup, parameters = make_setup(name)
    network = backend.build(setup, parameters)
    inputs, labels = make_batch(setup.task)

    found = network.parameters()
    assert list(found) == list(parameters)
    for key, values in parameters.items():
        np.testing.assert_array_equal(found[key], values)

    logits = network.predict(inputs)
    assert logits.dtype == np.float32
    assert logits.shape == (4, setup.task["classes"])

    reference = rosetta_reference.Network(setup.task, parameters, dropout=False)
    np.testing.assert_allclose(logits, reference.predict(inputs), rtol=1e-4, atol=1e-6)
    batch = network.to_device(inputs, labels)
    loss = network.train_step(batch)
    assert type(loss) is float
    assert loss == pytest.approx(reference.train_step(inputs, labels), abs=1e-6)
    assert network.train_step(batch) != loss
    for key, values in network.parameters().items():
        assert values.dtype == np.float32
        assert (values != parameters[key]).any(), key


@pytest.mark.parametrize("name", TASKS)
def test_nothing_is_checked_while_the_clock_runs(backend, name, monkeypatch):
    """The protocol's section 10: the runtime has checked the arrays, outside the timed region."""

    def refuse(network, *batch):
        raise AssertionError("checked again")

    monkeypatch.setattr(rosetta_reference.Network, "check", refuse)
    setup, parameters = make_setup(name)
    network = backend.build(setup, parameters)
    inputs, labels = make_batch(setup.task)
    network.train_step(network.to_device(inputs, labels))
    network.predict(inputs)


def test_to_device_copies_nothing(backend):
    setup, parameters = make_setup("mlp")
    inputs, labels = make_batch(setup.task)
    batch = backend.build(setup, parameters).to_device(inputs, labels)
    assert batch[0] is inputs
    assert batch[1] is labels


def test_dropout_and_seed_are_obeyed(backend):
    losses = []
    for changes in ({"dropout": False}, {"dropout": True}, {"dropout": True, "seed": 2}):
        setup, parameters = make_setup("cnn", **changes)
        network = backend.build(setup, parameters)
        losses.append(network.train_step(network.to_device(*make_batch(setup.task))))
    assert len(set(losses)) == 3


def test_the_manifest_and_the_lock_belong_together():
    manifest = tomllib.loads((FOLDER / "worker.toml").read_text())
    assert manifest["tasks"] == [*TASKS, "resnet50"]
    environment = manifest["environment"]
    wanted = set((FOLDER / environment["requirements"]).read_text().split())
    locked = {line.split("==")[0] for line in (FOLDER / environment["lock"]).read_text().split()}
    assert wanted == locked == {"numpy", "pyzmq", "msgpack"}
