"""Keras's three workers, which are one backend.py: real processes, where they are installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import psutil
import pytest

import joined
import joined_features
from rosetta import datasets, workers
from rosetta.conformance.small import small
from rosetta.proof import prove
from rosetta.tasks import Task
from tested_workers import needed

TASKS = ["mlp", "cnn", "gru", "resnet50"]
NAMES = ["keras-torch", "keras-jax", "keras-tensorflow"]
FOLDER = workers.get(NAMES[0]).folder

pytestmark = pytest.mark.timeout(600)  # JAX compiles every network and every size of a batch


@pytest.fixture(scope="module", params=NAMES)
def worker(request):
    """Where it has no environment, its tests say that they were skipped."""
    worker = workers.get(request.param)
    needed(worker)
    return worker


@pytest.fixture(scope="module")
def session(worker, tmp_path_factory):
    """One process for all tests of a worker."""
    with joined.joined(worker, tmp_path_factory.mktemp(worker.name)) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """Parameters, features and proof; what it refuses."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, worker):
    hello, under = session.hello, worker.name.partition("-")[2]
    title, mode, compiled = {
        "tensorflow": ("Keras (TensorFlow)", "tf.function", "False"),
        "jax": ("Keras (JAX)", "jax.jit", "True"),
        "torch": ("Keras (PyTorch)", "eager", "False"),
    }[under]
    assert (hello.language, hello.framework) == ("python", title)
    assert hello.framework_version == hello.versions["keras"] >= "3.15.1"
    assert {"python", "numpy", "cuda", under} <= set(hello.versions)
    assert hello.tasks == TASKS
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32, TF32 off"
    assert hello.disclosures["layout"].startswith("NHWC")
    assert hello.disclosures["mode"] == mode
    assert hello.disclosures["jit_compile"] == f"auto, which is {compiled} here"
    assert {"gru", "dropout", "cpu kernels"} <= set(hello.disclosures)


def test_pixels_need_no_scale(session):
    """SPEC 6.4: what has its default value isn't sent, here a scale of 1."""
    content = small("mlp").to_wire()
    del content["input"]["scale"]
    task = msgspec.convert(content, Task)
    assert "scale" not in task.to_wire()["input"]
    joined.check_predictions(session, task)


def test_a_network_before_is_let_go_of(session, worker):
    """Its memory is free again when the next one is built."""
    if worker.name == "keras-jax":
        pytest.skip("the backend's own code is the same, and this would be compiled four times")
    task = with_vocabulary(60_000)
    network = 3 * 4 * 60_000 * 64  # bytes: the embedding, and Adam's two moments of it
    data = datasets.load("synthetic", task=task.to_wire()).train
    memory = []
    for _ in range(6):
        with joined.set_up(session, task):
            joined.train(session, data, [slice(0, 8)], [None])
            memory.append(psutil.Process(session.process.pid).memory_info().rss)
    # One that isn't freed for each build would be five; an allocator keeps up to two and a half.
    assert memory[5] - memory[0] < 3.5 * network, memory


def with_vocabulary(size: int) -> Task:
    """The small gru with an embedding that counts."""
    content = small("gru").to_wire()
    content["layers"][0].update(vocabulary=size, dimension=64)
    content["parameters"][0]["shape"] = [size, 64]
    content["parameters"][1]["shape"][1] = 64
    content["input"]["vocabulary"] = size
    return msgspec.convert(content, Task)


def test_without_the_mend_keras_on_tensorflow_is_another_network(tmp_path):
    """Adam's second moment of an embedding is wrong there as soon as a token occurs twice."""
    worker = workers.get("keras-tensorflow")
    needed(worker)
    folder = shutil.copytree(FOLDER, tmp_path / "keras")
    source = (folder / "backend.py").read_text(encoding="utf-8")
    assert "\ndef mended(optimiser):" in source
    source += "\n\ndef mended(optimiser):\n    return optimiser\n"
    (folder / "backend.py").write_text(source, encoding="utf-8")
    unmended = msgspec.structs.replace(worker, folder=folder)
    with joined.joined(unmended, tmp_path) as session:
        verdict = prove(session, small("gru"), clock=False)
        assert not verdict.same
        assert verdict.first_failure.quantity == "change of embedding.weight by the first step"
        assert verdict.first_failure.deviation > 0.01
        joined.check_proof(session, small("mlp"))  # the other gradients are dense


def test_a_device_that_is_no_device_is_refused(worker):
    joined.check_devices(worker)


def test_a_backend_of_keras_must_be_chosen(worker):
    found = joined.refusals(worker, [["cpu", 1], ["cpu", 1, "theano"]])
    assert found == [f"no variant {v!r}; there are: tensorflow, jax, torch" for v in ("", "theano")]


@pytest.mark.parametrize("name", NAMES)
def test_its_lock_has_what_it_asks_for(name):
    environment = workers.get(name).uv
    wanted = pinned(FOLDER / environment.requirements)
    locked = pinned(FOLDER / environment.lock)
    assert {"keras", "pyzmq", "msgpack", "numpy"} <= set(wanted) <= set(locked)
    assert {name: locked[name] for name in wanted if wanted[name]}.items() <= wanted.items()


def pinned(file: Path) -> dict[str, str]:
    """Package → its version, or else nothing."""
    lines = file.read_text(encoding="utf-8").split()
    return {line.partition("==")[0]: line.partition("==")[2] for line in lines}
