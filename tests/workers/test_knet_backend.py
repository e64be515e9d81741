"""The Knet worker: a real process, where a Julia and Knet are to be had."""

from __future__ import annotations

import pytest

import joined
import joined_features
from rosetta import workers
from tested_workers import needed

TASKS = ["mlp", "cnn", "gru"]
WORKER = workers.get("knet")

pytestmark = pytest.mark.timeout(900)  # Julia compiles Knet when it is first loaded


@pytest.fixture(scope="module", autouse=True)
def knet():
    """Without Knet these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def session(knet, tmp_path_factory):
    """One process for all tests: what is compiled for one is compiled for the next."""
    with joined.joined(WORKER, tmp_path_factory.mktemp("knet")) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """A ResNet-50, forward only."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, knet):
    hello = session.hello
    assert (hello.language, hello.framework) == ("julia", "Knet")
    assert hello.framework_version == hello.versions["Knet"] == knet.framework_version
    assert hello.tasks == [*TASKS, "resnet50"]
    assert hello.forms == {"adam": "torch", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"
