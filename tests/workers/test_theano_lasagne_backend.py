"""The Theano worker: a real process, where its environment has been made."""

from __future__ import annotations

import pytest

import joined
import joined_features
from rosetta import workers
from tested_workers import needed

WORKER = workers.get("theano-lasagne")


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without Theano these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("theano-lasagne")


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
    assert (hello.language, hello.framework) == ("python", "Theano")
    assert hello.framework_version == environment.framework_version == "1.0.5"
    assert hello.tasks == ["mlp", "cnn", "gru", "resnet50"]
    assert hello.forms == {"adam": "hat", "momentum": "inside", "gru": "cudnn"}
    assert hello.disclosures["precision"] == "float32"


def test_products_are_a_blas_library_s(session):
    """Without one Theano would call NumPy for each."""
    assert "openblas" in session.hello.disclosures["blas"]


def test_what_it_compiles_stays_in_its_environment(session, environment):
    assert session.hello.disclosures["compiledir"].startswith(f"{environment.path}/compiledir/")


@pytest.mark.exhaustive
def test_two_processes_do_not_wait_for_each_other_to_compile(session, tmp_path):
    """Each has a folder of its own while both are alive; afterwards it is the next one's."""
    folders = []
    for name in ("second", "third"):
        (tmp_path / name).mkdir()
        with joined.joined(WORKER, tmp_path / name) as another:
            folders.append(another.hello.disclosures["compiledir"])
    assert session.hello.disclosures["compiledir"] != folders[0] == folders[1]


@pytest.mark.exhaustive
def test_a_theanorc_in_the_home_directory_changes_nothing(session, tmp_path, monkeypatch):
    (tmp_path / ".theanorc").write_text("[global]\nmode = FAST_COMPILE\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with joined.joined(WORKER, tmp_path) as another:
        assert another.hello.disclosures["mode"] == session.hello.disclosures["mode"]
    assert not (tmp_path / ".theano").exists()


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)
