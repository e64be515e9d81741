"""The TensorFlow worker and its variants: real processes, where TensorFlow is installed."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import joined
import joined_features
from rosetta import tasks, workers
from rosetta.conformance.small import small
from rosetta.workers import PY_FOLDER
from tested_workers import needed

TASKS = ["mlp", "cnn", "gru", "resnet50"]
WORKER = workers.get("tensorflow")
MODES = {
    "tensorflow": "tf.function",
    "tensorflow:eager": "eager",
    "tensorflow:jit_compile": "tf.function, jit_compile=True (XLA)",
}

# One network after the other: how often each function was traced, and how many graphs are left.
ALONE = """\
import gc, json, sys
from types import SimpleNamespace
sys.path[:0] = sys.argv[1:]
import backend
import numpy as np
import tensorflow as tf

task, parameters = json.load(sys.stdin)
parameters = {name: np.array(values, np.float32) for name, values in parameters.items()}
setup = SimpleNamespace(task=task, seed=1, dropout=True, device="cpu")
backend.start("cpu", 1)
traces, graphs = [], []
for _ in range(3):
    network = backend.build(setup, parameters)
    for size in (5, 1, 12):
        inputs = np.ones((size, *task["input"]["shape"]), task["input"]["dtype"])
        network.train_step(network.to_device(inputs, np.zeros(size, np.int32)))
        assert network.predict(inputs).dtype == np.float32
    functions = network.step, network.forward
    traces += [function.experimental_get_tracing_count() for function in functions]
    network = functions = None
    backend.free_networks()
    graphs.append(sum(isinstance(o, tf.Graph) for o in gc.get_objects()))
print(json.dumps({"traces": traces, "graphs": graphs}))
"""

pytestmark = pytest.mark.timeout(600)  # XLA takes its time to compile


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without TensorFlow these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def session(environment, tmp_path_factory):
    with joined.joined(WORKER, tmp_path_factory.mktemp("tensorflow")) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """Parameters, features and proof; what it refuses."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "TensorFlow")
    assert hello.framework_version == hello.versions["tensorflow"] == environment.framework_version
    assert {"python", "numpy", "keras", "cuda", "cudnn"} <= set(hello.versions)
    assert hello.tasks == TASKS
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32, TF32 off"
    assert hello.disclosures["mode"] == MODES[session.name]
    assert hello.disclosures["onednn"] in ("on", "off")
    assert hello.disclosures["gru"] == "Keras's loop over the time steps"


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


def test_an_unknown_variant_is_refused():
    joined.check_variants(WORKER, ["eager", "jit_compile"])


@pytest.fixture(scope="module", params=["eager", "jit_compile"])
def variant(environment, request, tmp_path_factory):
    worker = WORKER.with_variant(request.param)
    with joined.joined(worker, tmp_path_factory.mktemp(request.param)) as session:
        yield session


@pytest.mark.parametrize("name", TASKS)
def test_a_variant_is_the_same_network(variant, name):
    joined.check_proof(variant, small(name))


def test_a_variant_takes_batches_of_any_size(variant):
    joined.check_training(variant, small("mlp"))


def test_a_variant_says_how_it_computes(variant):
    assert variant.hello.disclosures["mode"] == MODES[variant.name]


def test_functions_are_traced_once_and_freed_whatever_the_user_s_keras_json_says(
    environment, tmp_path
):
    wrong = {"backend": "jax", "floatx": "float16", "image_data_format": "channels_first"}
    (tmp_path / "keras.json").write_text(json.dumps(wrong))
    task = small("cnn")
    parameters = {n: v.tolist() for n, v in tasks.initial_parameters(task, 3).items()}
    ran = subprocess.run(
        [environment.interpreter, "-c", ALONE, WORKER.folder, PY_FOLDER],
        env={**os.environ, "KERAS_HOME": str(tmp_path), "KERAS_BACKEND": "jax"},
        input=json.dumps([task.to_wire(), parameters]),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["traces"] == [1, 1] * 3
    assert len(set(found["graphs"])) == 1, found["graphs"]
