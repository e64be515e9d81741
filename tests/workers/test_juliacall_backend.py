"""The juliacall worker: its looking for a Julia always, all else where juliacall finds one."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import joined
import joined_features
from rosetta import workers
from rosetta.coordinator import WorkerFailureError
from tested_workers import needed

ROOT = Path(__file__).parents[2]
WORKER = workers.get("juliacall")
TASKS = ["mlp", "cnn", "gru"]
EXE, PROJECT = "PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT"

START = """\
import sys, time
sys.path[:0] = sys.argv[1:]
import backend
try:
    backend.start("cpu", 1)
except ValueError as error:
    print(error)
print("imported" if "juliacall" in sys.modules else "not imported", time.process_time(), sep="\\n")
"""

pytestmark = pytest.mark.timeout(900)  # Julia compiles PythonCall when it is first loaded


@pytest.fixture(scope="module")
def environment():
    return needed(WORKER)


@pytest.fixture
def backend():
    """The module, imported here: it needs juliacall only to start Julia."""
    spec = importlib.util.spec_from_file_location("juliacall_backend", WORKER.folder / "backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def without_julia(monkeypatch, tmp_path):
    """Variables with which there is no Julia on this machine."""
    for name in (EXE, PROJECT, "PYTHON_JULIAPKG_EXE", "PYTHON_JULIAPKG_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("HOME", "JULIA_DEPOT_PATH", "JULIAUP_DEPOT_PATH", "PYTHON_JULIAPKG_PROJECT"):
        monkeypatch.setenv(name, str(tmp_path / name))


class Proxy:
    """Whoever wants anything from the network comes here, and is sent away."""

    def __init__(self) -> None:
        self.asked = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.asked += 1
                connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def proxy(monkeypatch) -> Iterator[Proxy]:
    proxy = Proxy()
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield proxy
    proxy.close()


# --- no Julia -------------------------------------------------------------------------------------


def started(environment) -> tuple[str, str, float]:
    """(the sentence, whether juliacall was imported, seconds of processor time)."""
    command = [environment.interpreter, "-c", START, WORKER.folder]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    *_, sentence, imported, seconds = ran.stdout.splitlines()
    return sentence, imported, float(seconds)


def test_without_a_julia_it_says_so_quickly_and_asks_nobody(environment, without_julia, proxy):
    sentence, imported, seconds = started(environment)
    assert sentence.startswith("juliacall could not find Julia 1.")
    assert f"set {EXE} and {PROJECT}" in sentence
    assert imported == "not imported"
    assert proxy.asked == 0
    assert seconds < 2


def test_only_who_wants_a_download_gets_one(environment, without_julia, proxy, monkeypatch):
    monkeypatch.setenv("PYTHON_JULIAPKG_OFFLINE", "no")
    sentence, _, _ = started(environment)
    assert proxy.asked > 0
    assert sentence.startswith("juliacall ")


def test_without_a_julia_the_worker_is_skipped(environment, without_julia, tmp_path):
    with (
        pytest.raises(WorkerFailureError, match="juliacall could not find Julia") as caught,
        joined.joined(WORKER, tmp_path),
    ):
        pass
    assert caught.value.status == "skipped"


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({EXE: "julia"}, f"{EXE} and {PROJECT} go together, and {PROJECT} is not set"),
        ({PROJECT: "/"}, f"{EXE} and {PROJECT} go together, and {EXE} is not set"),
        ({EXE: "/no/julia", PROJECT: "/"}, f"{EXE} is '/no/julia', which is no program"),
        ({EXE: "/bin/sh", PROJECT: "/no"}, f"{PROJECT} is '/no', which is no folder"),
    ],
)
def test_the_user_s_choice_is_looked_at_first(
    backend, without_julia, monkeypatch, variables, sentence
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError) as caught:
        backend.start("cpu", 1)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("name", ["flux", "../knet", ""])
def test_a_backend_that_is_not_there_is_refused(backend, monkeypatch, name):
    monkeypatch.setenv("ROSETTA_JULIACALL_BACKEND", name)
    with pytest.raises(ValueError, match="julia/workers has no such folder"):
        backend.start("cpu", 1)


# --- memory that Julia may use --------------------------------------------------------------------


def test_an_array_is_lent_and_not_copied(backend):
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    array.flags.writeable = False  # as it comes from the wire
    assert backend.aligned(array) is array
    assert backend.lent(array) == (array.ctypes.data, "int32", (2, 3))


def test_what_julia_cannot_read_is_copied(backend):
    frame = bytes(1) + np.arange(6, dtype=np.int32).tobytes()
    array = np.frombuffer(frame, np.int32, offset=1).reshape(2, 3)
    if array.flags.aligned:
        pytest.skip("this frame happens to lie well")
    copy = backend.aligned(array)
    assert copy.flags.aligned
    np.testing.assert_array_equal(copy, array)


# --- with a Julia ---------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["knet", "julia"])
def session(request, environment, tmp_path_factory):
    """One process for all tests of a hosted backend; skipped for the reason that a row tells."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setenv("ROSETTA_JULIACALL_BACKEND", request.param)
        folder = tmp_path_factory.mktemp(request.param)
        try:
            session = stack.enter_context(joined.joined(WORKER, folder))
        except WorkerFailureError as error:
            if error.status != "skipped":
                raise
            pytest.skip(error.reason)
        yield session


def test_it_says_what_is_hosted(session):
    hosted = session.hello.disclosures["hosted"].rpartition("/")[2]
    framework = {"knet": "Knet (juliacall)", "julia": "Julia (juliacall)"}[hosted]
    assert (session.hello.language, session.hello.framework) == ("python", framework)
    assert {"python", "numpy", "juliacall", "julia"} <= set(session.hello.versions)


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """A ResNet-50, forward only."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""
