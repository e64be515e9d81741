"""The worker in plain Julia: its own tests, and a real process, where a Julia is to be had."""

from __future__ import annotations

import subprocess

import pytest

import joined
import joined_features
from rosetta import environments, workers
from rosetta.bench import conditions
from rosetta.environments import EnvironmentUnavailable

TASKS = ["mlp", "cnn", "gru"]
WORKER = workers.get("julia")

pytestmark = pytest.mark.timeout(600)  # every function is compiled when it is first called


@pytest.fixture(scope="module", autouse=True)
def julia():
    """Without Julia these tests say that they were skipped."""
    try:
        return environments.ensure(WORKER)
    except EnvironmentUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def session(julia, tmp_path_factory):
    """One process for all tests: what is compiled for one is compiled for the next."""
    with joined.joined(WORKER, tmp_path_factory.mktemp("julia")) as session:
        yield session


def test_the_tests_in_julia(julia):
    """Finite differences, layers by hand, threads, allocations: `test/runtests.jl`."""
    done = subprocess.run(
        [julia.interpreter, "--startup-file=no", WORKER.folder / "test" / "runtests.jl"],
        env=environments.clean_environment(conditions.variables(2)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """A ResNet-50, forward only."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, julia):
    hello = session.hello
    assert (hello.language, hello.framework) == ("julia", "Julia")
    assert hello.framework_version == hello.language_version == julia.framework_version
    assert hello.tasks == [*TASKS, "resnet50"]
    assert hello.forms == {"adam": "torch", "momentum": "outside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"
    assert hello.disclosures["julia_threads"].startswith("1 of ")
