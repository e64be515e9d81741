"""What a worker's process is given beside its command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import zmq

from rosetta import workers
from rosetta.bench import launch


def test_every_kind_of_thread_is_counted_alike() -> None:
    variables = launch.variables(3)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "JULIA_NUM_THREADS")
    assert {variables[name] for name in names} == {"3"}


def test_a_worker_finds_the_libzmq_of_pyzmq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROSETTA_LIBZMQ", raising=False)
    path = launch.variables(1).get("ROSETTA_LIBZMQ")
    if path is None:
        assert not list(Path(zmq.__file__).parents[1].glob("pyzmq.libs/*"))
        pytest.skip("pyzmq was built for this machine's own libzmq")
    # Another program than this one, which has loaded it already.
    code = (
        "import ctypes, sys; v = [ctypes.c_int() for _ in range(3)];"
        "ctypes.CDLL(sys.argv[1]).zmq_version(*map(ctypes.byref, v));"
        "print('.'.join(str(n.value) for n in v))"
    )
    said = subprocess.check_output([sys.executable, "-S", "-c", code, path], text=True)
    assert said.strip() == zmq.zmq_version()


def test_the_users_own_libzmq_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSETTA_LIBZMQ", "/own/libzmq.so")
    assert launch.variables(1)["ROSETTA_LIBZMQ"] == "/own/libzmq.so"


def test_a_worker_s_own_variables_are_its_process_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They win over the user's, and Rosetta's own over theirs: a worker can't set those."""
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path))
    monkeypatch.setenv("CACHE", "/home/somebody")
    worker = workers.get("torch")
    declared = msgspec.structs.replace(
        worker.uv, variables={"CACHE": "{environment}/cache", "OMP_NUM_THREADS": "7"}
    )
    worker = msgspec.structs.replace(worker, environment=declared)
    assert launch.variables(1)["CACHE"] == "/home/somebody"
    found = launch.variables(1, worker)
    assert found["CACHE"] == f"{tmp_path}/environments/torch/cache"
    assert found["OMP_NUM_THREADS"] == "1"


def test_the_loader_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Rosetta's own Julia needs of its libraries, its wrapper says to it alone."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert "LD_LIBRARY_PATH" not in launch.variables(1)
