"""The Chainer worker: a real process, where its environment has been made."""

from __future__ import annotations

import pytest

import joined
import joined_features
from rosetta import workers
from tested_workers import needed

WORKER = workers.get("chainer")


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without Chainer these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("chainer")


@pytest.fixture(scope="module")
def session(environment, folder):
    with joined.joined(WORKER, folder) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """The fourth task, forward only."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "Chainer")
    assert hello.framework_version == environment.framework_version == "7.8.1"
    assert hello.tasks == ["mlp", "cnn", "gru", "resnet50"]
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"].startswith("float32")


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)
