"""The PyTorch worker and its variants: real processes, where PyTorch is installed."""

from __future__ import annotations

import json
import subprocess

import pytest

import joined
import joined_features
from rosetta import environments, workers
from rosetta.bench import conditions
from rosetta.conformance.small import small
from rosetta.coordinator import WorkerFailureError
from rosetta.workers import PY_FOLDER
from tested_workers import needed

TASKS = ["mlp", "cnn", "gru", "resnet50"]
WORKER = workers.get("torch")

COUNT = """\
import json, sys
import numpy as np
from rosetta_worker.backends import Setup, load

backend = load(sys.argv[1])
task = json.load(sys.stdin)
backend.start("cpu", 1, "compile")
from torch._dynamo.utils import counters

parameters = {p["name"]: np.ones(p["shape"], np.float32) for p in task["parameters"]}


def programs():
    '''After a step with each size of batch: how many there are.'''
    network, counts = backend.build(Setup(task, 8, 1, False, 1, "cpu"), parameters), []
    before = counters["stats"]["unique_graphs"]
    for size in (8, 5, 8, 7, 6, 9, 1, 1, 8):
        batch = np.ones((size, *task["input"]["shape"]), np.uint8), np.zeros(size, np.int32)
        network.train_step(network.to_device(*batch))
        counts.append(counters["stats"]["unique_graphs"] - before)
    return counts


print(json.dumps([programs(), programs()]))
"""

pytestmark = pytest.mark.timeout(900)  # TorchInductor's C++ is compiled


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without PyTorch these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def session(environment, tmp_path_factory):
    with joined.joined(WORKER, tmp_path_factory.mktemp("torch")) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """ResNet-50."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "PyTorch")
    assert hello.framework_version == hello.versions["torch"] == environment.framework_version
    assert hello.tasks == TASKS
    assert hello.forms == {"adam": "torch", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32, TF32 off"
    assert (hello.disclosures["mode"], hello.disclosures["layout"]) == ("eager", "NCHW")


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


def test_an_unknown_variant_is_refused():
    joined.check_variants(WORKER, ["compile", "channels_last"])


# --- torch:channels_last --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def channels_last(environment, tmp_path_factory):
    worker = WORKER.with_variant("channels_last")
    with joined.joined(worker, tmp_path_factory.mktemp("channels_last")) as session:
        yield session


def test_channels_last_is_the_same_network(channels_last):
    """Its kernels lie in memory as OHWI, and are read back as OIHW."""
    hello = channels_last.hello
    assert hello.disclosures["layout"] == "NHWC (channels_last)"
    assert hello.tasks == ["cnn", "resnet50"]
    joined.check_that_parameters_come_back(channels_last, small("cnn"))
    joined.check_predictions(channels_last, small("cnn"))
    joined.check_training(channels_last, small("cnn"))
    joined.check_proof(channels_last, small("cnn"))
    joined.check_proof(channels_last, small("resnet50"))


# --- torch:compile --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled(environment, tmp_path_factory):
    """Skipped for the reason that a row tells: there may be no C++ compiler."""
    try:
        worker = WORKER.with_variant("compile")
        with joined.joined(worker, tmp_path_factory.mktemp("compile")) as session:
            yield session
    except WorkerFailureError as error:
        if error.status != "skipped":
            raise
        pytest.skip(error.reason)


@pytest.mark.exhaustive
def test_compiled_is_the_same_network(compiled):
    """Every set-up is compiled: no more of them than it takes."""
    assert compiled.hello.disclosures["mode"] == "torch.compile of the module"
    assert compiled.hello.tasks == ["mlp", "cnn", "resnet50"]
    joined.check_that_parameters_come_back(compiled, small("mlp"))
    joined.check_predictions(compiled, small("mlp"))
    joined.check_training(compiled, small("mlp"))
    joined.check_proof(compiled, small("cnn"))


@pytest.mark.exhaustive
def test_compiled_resnet50_is_the_same_network(compiled):
    joined.check_proof(compiled, small("resnet50"))


@pytest.mark.exhaustive
def test_compiled_obeys_dropout_and_its_seed(compiled):
    joined.check_dropout(compiled, small("cnn"))


@pytest.mark.exhaustive
def test_compiled_sleeps_between_batches(compiled):
    joined.check_sleep(compiled, small("mlp"))


@pytest.mark.exhaustive
def test_compiled_is_not_compiled_for_every_size_of_batch(compiled, environment):
    """The second size makes a program for all sizes but 1; a network built later starts anew."""
    variables = {**conditions.variables(1), "PYTHONPATH": str(PY_FOLDER)}
    done = subprocess.run(
        [environment.interpreter, "-c", COUNT, WORKER.folder],
        input=json.dumps(small("mlp").to_wire()),
        env=environments.clean_environment(variables),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == [[1, 2, 2, 2, 2, 2, 3, 3, 3]] * 2


@pytest.mark.exhaustive
def test_without_a_compiler_compiled_says_so(environment, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with (
        pytest.raises(WorkerFailureError, match=r"needs a C\+\+ compiler") as caught,
        joined.joined(WORKER.with_variant("compile"), tmp_path),
    ):
        pass
    assert caught.value.status == "skipped"
