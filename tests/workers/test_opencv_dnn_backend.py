"""The OpenCV worker, which only goes forward: a real process, where OpenCV is installed."""

from __future__ import annotations

import json
import subprocess
import time

import numpy as np
import psutil
import pytest

import joined
import joined_features
import rosetta_reference
from rosetta import workers
from rosetta.conformance.small import small
from rosetta.coordinator import WorkerFailureError
from rosetta.proof.script import draw
from tested_workers import needed

WORKER = workers.get("opencv-dnn")

READ_BACK = """\
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import caffe_files

values = np.arange(6, dtype=np.float32).reshape(2, 3)
message = caffe_files.caffemodel({"fc": [values]})
sys.stdout.write(json.dumps(list(message)))
"""


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without OpenCV these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def session(environment, tmp_path_factory):
    with joined.joined(WORKER, tmp_path_factory.mktemp("opencv")) as session:
        yield session


class TestFeatures(joined_features.RightFeatures):
    """A ResNet-50, forward only."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "OpenCV dnn")
    assert environment.framework_version.startswith(hello.framework_version)
    assert hello.tasks == ["resnet50"]
    assert hello.disclosures["precision"] == "float32"
    assert "fused" in hello.disclosures["mode"]


def test_a_task_that_trains_is_refused(session):
    with pytest.raises(WorkerFailureError, match="no task 'mlp'"):
        session.setup(
            small("mlp"), joined.sensitive_parameters(small("mlp")), seed=1, dropout=False
        )
    joined.check_that_parameters_come_back(session, small("resnet50"))


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


def test_features_are_the_reference_s_for_batches_of_any_size(session):
    task = small("resnet50")
    rng = np.random.default_rng(1)
    with joined.set_up(session, task) as parameters:
        reference = rosetta_reference.Network(task.to_wire(), parameters, dropout=False)
        for size in (4, 1, 7, 4):
            inputs, _ = draw(task, rng, size)
            expected = reference.predict(inputs)
            (found,) = session.predict([inputs], task.features)
            np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


def test_it_sleeps_between_batches(session):
    task = small("resnet50")
    inputs, _ = draw(task, np.random.default_rng(1), 32)
    process = psutil.Process(session.process.pid)
    with joined.set_up(session, task):
        list(session.predict([inputs] * 3, task.features))
        time.sleep(0.5)  # what the last batch has left behind may be put away
        before = sum(process.cpu_times()[:2])
        time.sleep(joined.IDLE_S)
        assert sum(process.cpu_times()[:2]) - before < 0.01 * joined.IDLE_S


def test_a_caffemodel_is_what_caffe_s_own_messages_say(environment):
    """Byte for byte: fields 100, 1, 7 (shape 7, data 5) of `caffe.proto`, floats packed."""
    command = [environment.interpreter, "-c", READ_BACK, WORKER.folder]
    found = bytes(json.loads(subprocess.check_output(command)))
    floats = np.arange(6, dtype="<f4").tobytes()
    blob = b"\x2a\x18" + floats + b"\x3a\x04" + b"\x0a\x02\x02\x03"
    layer = b"\x0a\x02fc" + b"\x3a" + bytes([len(blob)]) + blob
    assert found == b"\xa2\x06" + bytes([len(layer)]) + layer
