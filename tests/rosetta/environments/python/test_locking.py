"""Pinning a worker's packages: what stands in the lock, and what never does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rosetta import environments, workers
from rosetta.cli import env
from rosetta.environments import EnvironmentUnavailable
from rosetta.environments.python import attempts, pip_settings, uv
from rosetta.environments.python.pip_settings import PipSettings
from rosetta.workers import Worker

Make = Callable[..., Worker]
PutWheel = Callable[..., None]


def content(worker: Worker) -> str:
    return (worker.folder / "requirements.lock").read_text()


def test_the_newest_packages_and_what_they_need_are_pinned(
    make: Make, wheels: Path, put_wheel: PutWheel
) -> None:
    for version in ("1.5", "1.6"):
        put_wheel("homemade", version, "lesser<3")
    for version in ("2.0", "3.0"):
        put_wheel("lesser", version)
    worker = make("homemade==1.5\nleft==1.0\n", requirements="homemade\n")
    lines: list[str] = []
    environments.lock(worker, lines.append)
    assert content(worker) == "homemade==1.6\nlesser==2.0\n"
    assert lines == [
        "tiny: homemade 1.5 → 1.6",
        "tiny: left 1.0 → none",
        "tiny: lesser none → 2.0",
    ]
    assert environments.ensure(worker).ready
    assert str(wheels) not in content(worker)


def test_local_version_labels_are_left_out(make: Make, put_wheel: PutWheel) -> None:
    put_wheel("homemade", "1.5+cpu")
    worker = make("", requirements="homemade==1.5\n")
    environments.lock(worker)
    assert content(worker) == "homemade==1.5\n"
    environments.ensure(worker)  # which finds the labelled one again


def test_a_lock_that_stays_the_same_is_not_touched(make: Make, put_wheel: PutWheel) -> None:
    put_wheel("homemade", "1.5")
    worker = make("homemade==1.5\n", requirements="homemade\n")
    before = (worker.folder / "requirements.lock").stat().st_mtime_ns
    lines: list[str] = []
    environments.lock(worker, lines.append)
    assert lines == ["tiny: no package has changed"]
    assert (worker.folder / "requirements.lock").stat().st_mtime_ns == before


def test_a_first_lock_is_made(make: Make, put_wheel: PutWheel) -> None:
    put_wheel("homemade", "1.5")
    worker = make("", requirements="homemade\n")
    (worker.folder / "requirements.lock").unlink()
    environments.lock(worker)
    assert content(worker) == "homemade==1.5\n"


@pytest.mark.exhaustive
def test_packages_are_chosen_for_the_workers_python(make: Make, put_wheel: PutWheel) -> None:
    put_wheel("old", "1.0")
    put_wheel("new", "1.0")
    needs = "old ; python_version < '3.11'\nnew ; python_version >= '3.11'\n"
    for python, pinned in (("3.9", "old==1.0\n"), ("3.12", "new==1.0\n")):
        worker = make("", python=python, requirements=needs)
        environments.lock(worker)
        assert content(worker) == pinned


def test_a_failure_is_one_line_and_leaves_the_lock(make: Make, wheels: Path) -> None:
    worker = make("homemade==1.5\n", requirements="missing\n")
    with pytest.raises(EnvironmentUnavailable) as caught:
        environments.lock(worker)
    assert str(caught.value).startswith("uv could not lock requirements.in: ")
    assert "missing" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert content(worker) == "homemade==1.5\n"
    (worker.folder / "requirements.in").unlink()
    with pytest.raises(EnvironmentUnavailable, match=r"requirements\.in"):
        environments.lock(worker)


def test_no_lock_is_made_of_another_build_of_pytorch(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in attempts._OWN_SOURCES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pip_settings, "read", PipSettings)
    asked: list[dict[str, str]] = []

    def unreachable(command: list[str], limit_s: float, variables: dict[str, str]) -> uv.Ran:
        asked.append(variables)
        return uv.Ran(False, "error: the index can't be reached")

    monkeypatch.setattr(uv, "ask", unreachable)
    worker = make("torch==2.13.0\n", requirements="torch\n")
    file = worker.folder / "worker.toml"
    file.write_text(file.read_text() + 'torch_backend = "cpu"\n')
    with pytest.raises(EnvironmentUnavailable, match="can't be reached"):
        environments.lock(workers.read(file)[0])
    assert asked == [{"UV_TORCH_BACKEND": "cpu"}]


def test_an_interrupted_writing_leaves_the_old_lock(
    make: Make, put_wheel: PutWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_wheel("homemade", "1.6")
    worker = make("homemade==1.5\n", requirements="homemade\n")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(EnvironmentUnavailable, match="No space left"):
        environments.lock(worker)
    assert content(worker) == "homemade==1.5\n"
    assert not list(worker.folder.glob("*.tmp"))


def test_the_command_goes_on_after_a_failure(
    make: Make,
    put_wheel: PutWheel,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    put_wheel("homemade", "1.6")
    good = make("homemade==1.5\n", requirements="homemade\n")
    monkeypatch.setattr(workers, "get", lambda name: good)
    assert env.lock(["tiny"]) == 0
    assert "tiny: homemade 1.5 → 1.6" in capfd.readouterr().err
    (good.folder / "requirements.in").write_text("missing\n")
    assert env.lock(["tiny,other"]) == 1
    assert capfd.readouterr().err.count("tiny: uv could not lock requirements.in: ") == 2
    assert content(good) == "homemade==1.6\n"
