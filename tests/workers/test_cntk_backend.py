"""The CNTK worker: a real process, where its environment has been made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest

import joined
import joined_features
import rosetta_reference
from rosetta import datasets, workers
from rosetta.conformance.small import small
from rosetta.tasks import Task
from rosetta.tasks.forms import in_form
from tested_workers import needed

WORKER = workers.get("cntk")
STUB = WORKER.folder / "mpi_stub.py"
GROWTH_BYTES = 12 << 20


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without CNTK these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def session(environment, tmp_path_factory):
    with joined.joined(WORKER, tmp_path_factory.mktemp("cntk")) as session:
        yield session


@pytest.fixture(params=["mlp", "cnn", "gru"])
def task(request, session):
    """Its GRU is the classic one."""
    return in_form(small(request.param), session.hello.forms)


class TestTasks:
    """Each task, in the form that the worker declares."""

    def test_parameters_come_back_as_they_were_sent(self, session, task):
        joined.check_that_parameters_come_back(session, task)

    def test_predictions_are_the_reference_s(self, session, task):
        joined.check_predictions(session, task)

    def test_training_is_the_reference_s_with_batches_of_any_size(self, session, task):
        joined.check_training(session, task)

    def test_it_is_proved(self, session, task):
        joined.check_proof(session, task)


class TestFeatures:
    """A thin ResNet-50, forward only, on images that are 3 x 3 in the last blocks.

    CNTK refuses a kernel that is larger than the image, also where the image is padded.
    """

    @pytest.fixture
    def task(self):
        content = small("resnet50").to_wire()
        content["input"]["shape"] = [3, 80, 72]
        return msgspec.convert(content, Task)

    def test_parameters_come_back_as_they_were_sent(self, session, task):
        joined.check_that_parameters_come_back(session, task)

    def test_features_are_the_reference_s_and_it_is_proved(self, session, task):
        joined.check_proof(session, task)

    def test_it_is_trained_by_nobody(self, session, task):
        joined_features.check_that_it_is_not_trained(session, task)

    def test_batch_norm_and_strides_are_the_task_s(self, session, task):
        joined_features.check_that_another_resnet_is_refused(session, task)


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "CNTK")
    assert hello.framework_version == "2.7"
    assert environment.framework_version.startswith("2.7")
    assert hello.tasks == ["mlp", "cnn", "gru", "resnet50"]
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "classic"}
    assert hello.disclosures["precision"] == "float32"
    assert hello.versions["python"].startswith("3.6.")


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


def test_adam_s_first_step_is_not_too_long(session):
    """With beta2 as it comes every change is 6.5e-6 of itself too large, hidden by rounding."""
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


@pytest.mark.exhaustive
def test_nothing_is_left_of_a_network_that_has_ended(session):
    task = small("cnn")
    data = datasets.load("synthetic", task=task.to_wire()).train
    process, sizes = psutil.Process(session.process.pid), []
    for _ in range(30):
        with joined.set_up(session, task):
            joined.train(session, data, [slice(0, 64), slice(0, 7)], [None, None])
        sizes.append(process.memory_info().rss)
    assert max(sizes[20:]) - max(sizes[:10]) < GROWTH_BYTES


def test_mpi_s_stand_ins_say_what_they_are(environment):
    """CNTK is linked with MPI and doesn't call it; whoever does is told."""
    (library,) = Path(environment.interpreter).parents[1].glob("lib/python3.6/**/libmpi.so.12")
    call = f"import ctypes; ctypes.CDLL({str(library)!r}).MPI_Finalize()"
    done = subprocess.run([environment.interpreter, "-c", call], capture_output=True, text=True)
    assert done.returncode != 0
    assert "CNTK called MPI_Finalize" in done.stderr


def test_without_a_compiler_the_environment_says_so(environment, tmp_path):
    """The last line is the reason that the row shows."""
    command = [environment.interpreter, STUB]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith("CNTK needs MPI stand-ins: no 'nm' on the PATH")


def test_without_cntk_there_is_nothing_to_stand_in_for():
    done = subprocess.run([sys.executable, STUB], capture_output=True, text=True)
    assert done.returncode != 0
    assert "is this CNTK 2.7?" in done.stderr
