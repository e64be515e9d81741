"""Environments made by the real uv, from real and from hand-made packages."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from rosetta import environments, workers
from rosetta.environments import EnvironmentUnavailable
from rosetta.environments.python import attempts
from rosetta.environments.python.pip_settings import PipSettings
from rosetta.workers import Worker
from waiting import until_there

RUNNING = "{}.{}".format(*sys.version_info[:2])
MSGPACK = "msgpack==1.1.0\n"
Make = Callable[..., Worker]
PutWheel = Callable[..., None]

ENSURE = """\
import sys
from pathlib import Path
from rosetta import environments, workers
environments.ensure(workers.read(Path(sys.argv[1]))[0], lambda line: print(line, flush=True))
"""


def started(worker: Worker) -> subprocess.Popen[str]:
    """Another process, in a group of its own, that ensures the environment of `worker`."""
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE, str(worker.folder / "worker.toml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def imported(python: Path | None, code: str) -> str:
    """What the environment's Python prints, away from the checkout."""
    assert python is not None
    ran = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd="/")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_an_environment_is_made_once_and_then_found(make: Make) -> None:
    worker = make(MSGPACK)
    before = environments.status(worker)
    assert (before.ready, before.reason, before.interpreter) == (False, "not made yet", None)

    lines: list[str] = []
    made = environments.ensure(worker, lines.append)
    assert made == environments.status(worker)
    assert (made.ready, made.reason, made.framework_version) == (True, None, "1.1.0")
    assert lines[0] == f"tiny: making its environment with Python {RUNNING}"
    assert lines[-1].startswith("tiny: ready after ")
    marker = json.loads((made.path / "rosetta.json").read_text())
    digest = hashlib.sha256(MSGPACK.encode()).hexdigest()
    assert (marker["worker"], marker["lock_sha256"]) == (made.path.name, digest)
    assert environments.size(worker) > 10_000

    lines.clear()
    assert environments.ensure(worker, lines.append) == made
    assert lines == []


def test_the_workers_runtime_can_be_imported_by_hand(make: Make) -> None:
    made = environments.ensure(make(MSGPACK))
    code = "import msgpack, rosetta_worker; print(rosetta_worker.__path__[0])"
    assert imported(made.interpreter, code) == str(workers.PY_FOLDER / "rosetta_worker")


def test_what_was_installed_is_compiled(make: Make) -> None:
    made = environments.ensure(make(MSGPACK))
    assert list(made.path.glob("lib/*/site-packages/msgpack/__pycache__/*.pyc"))


def test_our_own_environment_does_not_leak_in(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/nowhere")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert environments.ensure(make(MSGPACK)).ready


def test_a_changed_lock_is_built_from_scratch(make: Make) -> None:
    made = environments.ensure(make(MSGPACK))
    stray = made.path / "stray"
    stray.touch()
    worker = make("msgpack==1.0.8\n")
    assert environments.status(worker).reason == "its lock has changed"
    assert environments.ensure(worker).framework_version == "1.0.8"
    assert not stray.exists()


def test_another_python_version_is_a_reason_to_rebuild(make: Make) -> None:
    environments.ensure(make(MSGPACK))
    assert environments.status(make(MSGPACK, python="3.99")).reason == (
        f"made for Python {RUNNING}, now 3.99"
    )


def test_a_python_that_is_gone_is_a_reason_to_rebuild(make: Make) -> None:
    worker = make(MSGPACK)
    python = environments.ensure(worker).interpreter
    assert python is not None
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert environments.status(worker).reason == "the Python that it was made with is gone"
    assert environments.ensure(worker).ready


def test_an_impossible_requirement_is_a_reason_in_one_line(make: Make) -> None:
    worker = make("msgpack==99.0\n")
    with pytest.raises(EnvironmentUnavailable) as caught:
        environments.ensure(worker)
    reason = str(caught.value)
    assert "msgpack==99.0" in reason
    assert "\n" not in reason
    log = Path(reason.rpartition("log: ")[2])
    assert "msgpack==99.0" in log.read_text()
    assert environments.status(worker).reason == "not made yet"
    assert environments.ensure(make(MSGPACK)).ready


def test_a_lock_that_is_missing_is_said(make: Make) -> None:
    worker = make(MSGPACK)
    (worker.folder / "requirements.lock").unlink()
    assert "requirements.lock" in (environments.status(worker).reason or "")
    with pytest.raises(EnvironmentUnavailable, match=r"requirements\.lock: No such file"):
        environments.ensure(worker)


def test_a_home_that_cannot_be_written_is_said(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = make(MSGPACK)
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnavailable, match="Not a directory"):
        environments.ensure(worker)


def test_pips_folder_of_wheels_is_used(make: Make, wheels: Path, put_wheel: PutWheel) -> None:
    put_wheel("homemade", "1.5")
    made = environments.ensure(make("homemade==1.5\n", framework="homemade"))
    assert made.framework_version == "1.5"
    assert imported(made.interpreter, "import homemade; print(homemade.version)") == "1.5"


def test_a_folder_of_wheels_that_is_missing_stops_nothing(
    make: Make, wheels: Path, put_wheel: PutWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_wheel("homemade", "1.5")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{wheels}/gone {wheels}")
    assert environments.ensure(make("homemade==1.5\n")).ready


@pytest.mark.parametrize("fault", ["dangling file", "no answer"])
def test_a_broken_extra_index_stops_nothing(
    make: Make,
    tmp_path: Path,
    wheels: Path,
    put_wheel: PutWheel,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    put_wheel("homemade", "1.5")
    main, extra = tmp_path / "main", tmp_path / "extra"
    main.mkdir()
    (extra / "homemade").mkdir(parents=True)
    better = "homemade-1.5-9-py3-none-any.whl"  # a higher build number: uv must want this one
    page = f'<html><body><a href="../../gone/{better}">{better}</a></body></html>'
    (extra / "homemade" / "index.html").write_text(page)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", main.as_uri())
    silent = "http://127.0.0.1:9/simple"
    broken = extra.as_uri() if fault == "dangling file" else silent
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", broken)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    lines: list[str] = []
    made = environments.ensure(make("homemade==1.5\n", framework="homemade"), lines.append)
    assert made.framework_version == "1.5"
    assert ("No such file" if fault == "dangling file" else "Connection refused") in lines[1]
    assert lines[2] == "tiny: trying again without pip's extra indexes"


def test_pytorchs_own_index_comes_first_where_nothing_is_configured(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in attempts._OWN_SOURCES:
        monkeypatch.delenv(name, raising=False)
    worker = make(MSGPACK)
    file = worker.folder / "worker.toml"
    file.write_text(file.read_text() + 'torch_backend = "cpu"\n')
    worker = workers.read(file)[0]

    first, second = attempts.attempts(worker, PipSettings())
    assert first.variables == {"UV_TORCH_BACKEND": "cpu"}
    assert second.variables == {}
    assert "several gigabytes" in second.note
    (only,) = attempts.attempts(worker, PipSettings(find_links=("/wheels",)))
    assert only.variables == {}
    monkeypatch.setenv("UV_TORCH_BACKEND", "cu128")
    (only,) = attempts.attempts(worker, PipSettings())
    assert only.variables == {}


def test_a_maker_that_is_killed_leaves_nothing_that_looks_ready(
    make: Make, tmp_path: Path, gate: Path
) -> None:
    worker = make("slow==1.0\n", framework="slow")
    maker = started(worker)
    until_there(tmp_path / "slow.started")
    maker.kill()
    maker.communicate()
    assert environments.status(worker).reason == "its making was cut short"

    # The uv that it started lives on, and still holds the lock: it is waited for.
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if "another process" in line:
            gate.touch()

    assert environments.ensure(worker, report).framework_version == "1.0"
    assert "another process" in lines[0]
    assert lines[1].startswith("tiny: making")


def test_an_interrupt_leaves_nothing_behind(make: Make, tmp_path: Path, gate: Path) -> None:
    worker = make("slow==1.0\n", framework="slow")
    maker = started(worker)
    until_there(tmp_path / "slow.started")
    os.killpg(maker.pid, signal.SIGINT)
    output, _ = maker.communicate(timeout=20)
    assert maker.returncode != 0
    assert "KeyboardInterrupt" in output
    assert environments.status(worker).reason == "not made yet"
    gate.touch()
    assert environments.ensure(worker).ready


def test_two_processes_make_it_once(make: Make, tmp_path: Path, gate: Path) -> None:
    worker = make("slow==1.0\n", framework="slow")
    first = started(worker)
    until_there(tmp_path / "slow.started")
    second = started(worker)
    assert second.stdout is not None
    assert "another process" in second.stdout.readline()
    gate.touch()
    said, _ = first.communicate(timeout=20)
    rest, _ = second.communicate(timeout=20)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "ready after" in said
    assert rest == ""
    assert environments.status(worker).ready


def test_an_environment_is_removed_with_its_log(make: Make) -> None:
    worker = make(MSGPACK)
    environments.remove(worker)  # nothing there: nothing to do
    path = environments.ensure(worker).path
    log = path.with_name(f"{path.name}.log")
    assert log.exists()
    environments.remove(worker)
    assert not path.exists()
    assert not log.exists()
    assert environments.size(worker) == 0
    assert environments.status(worker).reason == "not made yet"


def test_the_home_is_in_the_checkout_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROSETTA_HOME", raising=False)
    assert environments.home() == workers.CHECKOUT / ".rosetta"
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path))
    assert environments.home() == tmp_path


def test_an_interrupted_making_leaves_nobody_behind_who_holds_the_lock(tmp_path):
    """The process alone is interrupted, not its group, as a cancelled job or `timeout` does it."""
    log, lock = tmp_path / "log", tmp_path / "lock"
    program = (
        "import os, sys, pathlib; from rosetta.environments import programs;"
        "fd = os.open(sys.argv[2], os.O_CREAT | os.O_RDWR);"
        "programs.logged(['sh', '-c', 'sleep 317 & sleep 317'], pathlib.Path(sys.argv[1]), {}, fd)"
    )
    maker = subprocess.Popen([sys.executable, "-c", program, str(log), str(lock)])
    deadline = time.monotonic() + 20
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    maker.send_signal(signal.SIGINT)
    maker.wait(20)
    with lock.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "317"]
    ]
