"""The Knet worker: a real process, where a Julia and Knet are to be had."""

from __future__ import annotations

import pytest

import joined
from proofs.small import small
from rosetta import environments, workers
from rosetta.coordinator import WorkerFailureError
from rosetta.environments import EnvironmentUnavailable

TASKS = ["mlp", "cnn", "gru"]
WORKER = workers.get("knet")

pytestmark = pytest.mark.timeout(900)  # Julia compiles Knet when it is first loaded


@pytest.fixture(scope="module", autouse=True)
def knet():
    """Without Knet these tests say that they were skipped."""
    try:
        return environments.ensure(WORKER)
    except EnvironmentUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def session(knet, tmp_path_factory):
    """One process for all tests: what is compiled for one is compiled for the next."""
    with joined.joined(WORKER, tmp_path_factory.mktemp("knet")) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


def test_dropout_and_its_seed_are_obeyed(session):
    joined.check_dropout(session, small("cnn"))


def test_an_unknown_task_is_refused(session):
    joined.check_unknown_task(session, small("mlp"))


def test_it_says_what_computes(session, knet):
    hello = session.hello
    assert (hello.language, hello.framework) == ("julia", "Knet")
    assert hello.framework_version == hello.versions["Knet"] == knet.framework_version
    assert hello.tasks == TASKS
    assert hello.forms == {"adam": "torch", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"


@pytest.mark.parametrize("device", ["cuda:99", "tpu"])
def test_a_device_that_is_not_there_skips_the_worker(knet, device, tmp_path):
    with (
        pytest.raises(WorkerFailureError, match=f'device "{device}" is not available') as caught,
        joined.joined(WORKER, tmp_path, device=device),
    ):
        pass
    assert caught.value.status == "skipped"
