"""The three Keras 2 workers: real processes, where their environments have been made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import joined
import rosetta_reference
from rosetta import datasets, workers
from rosetta.conformance.small import small
from tested_workers import needed

VARIANTS = ["theano", "cntk", "tensorflow"]
TITLES = {"theano": "Theano", "cntk": "CNTK", "tensorflow": "TensorFlow 1"}
TASKS = ["mlp", "cnn", "gru"]

pytestmark = pytest.mark.timeout(900)  # Theano compiles C++


@pytest.fixture(scope="module", params=VARIANTS)
def worker(request):
    """Each has an environment of its own: those that aren't there say that they were skipped."""
    return workers.get(f"keras2-{request.param}")


@pytest.fixture(scope="module")
def environment(worker):
    return needed(worker)


@pytest.fixture(scope="module")
def session(worker, environment, tmp_path_factory):
    with joined.joined(worker, tmp_path_factory.mktemp(worker.name)) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, worker, environment):
    hello, variant = session.hello, worker.variant
    assert (hello.language, hello.framework) == ("python", f"Keras 2 ({TITLES[variant]})")
    assert hello.framework_version == hello.versions["keras"] == environment.framework_version
    assert variant in hello.versions
    assert hello.tasks == TASKS
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"
    layout = "channels_last" if variant == "tensorflow" else "channels_first"
    assert hello.disclosures["layout"] == layout


def test_a_device_that_is_no_device_is_refused(worker, environment):
    joined.check_devices(worker)


def test_what_keras_computes_with_must_be_chosen(worker, environment):
    found = joined.refusals(worker, [["cpu", 1], ["cpu", 1, "jax"]])
    assert found == [f"no variant {v!r}; there are: theano, cntk, tensorflow" for v in ("", "jax")]


def test_its_files_are_in_its_environment(session, worker, environment):
    """Neither Theano's compiled code nor Keras's settings go to the home directory."""
    assert worker.uv.variables["KERAS_HOME"].startswith("{environment}")
    assert (environment.path / "keras" / "keras.json").exists()
    if worker.variant == "theano":
        compiled = Path(session.hello.disclosures["compiledir"])
        assert compiled.is_relative_to(environment.path)


def test_adam_s_first_step_is_the_first(session):
    """On TensorFlow Keras's own is 0.744 as long: it has the second step's bias correction."""
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
