"""Environments of several workers at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from rosetta import environments
from rosetta.environments import EnvironmentStatus, EnvironmentUnavailable
from rosetta.workers import Worker
from waiting import until

Make = Callable[..., Worker]

ENSURE_ALL = """\
import signal, sys
from pathlib import Path
import msgspec
from rosetta import environments, workers
signal.signal(signal.SIGINT, signal.default_int_handler)
def named(folder):
    worker = workers.read(Path(folder) / "worker.toml")[0]
    return msgspec.structs.replace(worker, name=worker.uv.lock, environment_name=worker.uv.lock)
environments.ensure_all([named(folder) for folder in sys.argv[1:]])
"""


def of_its_own(worker: Worker, name: str, lock: str) -> Worker:
    """`worker` under another name, with another lock in its folder."""
    (worker.folder / f"{name}.lock").write_text(lock)
    environment = msgspec.structs.replace(worker.uv, lock=f"{name}.lock", framework=None)
    return msgspec.structs.replace(
        worker, name=name, environment_name=name, environment=environment
    )


@pytest.fixture
def two_slow(make: Make, put_slow: Callable[[str], None]) -> list[Worker]:
    """Two workers whose packages are built until the file ``gate`` is there."""
    for name in ("slow_a", "slow_b"):
        put_slow(name)
    tiny = make("")
    return [of_its_own(tiny, name, f"{name}==1.0\n") for name in ("slow_a", "slow_b")]


def test_they_are_made_at_the_same_time(two_slow: list[Worker], tmp_path: Path) -> None:
    def open_when_both_have_begun() -> None:
        begun = [tmp_path / f"{worker.name}.started" for worker in two_slow]
        until(lambda: all(file.exists() for file in begun), "one waits for the other")
        (tmp_path / "gate").touch()

    opener = threading.Thread(target=open_when_both_have_begun)
    opener.start()
    made = environments.ensure_all(two_slow)
    opener.join()
    assert list(made) == ["slow_a", "slow_b"]
    assert all(isinstance(one, EnvironmentStatus) and one.ready for one in made.values())


def test_one_that_fails_does_not_stop_the_others(make: Make, wheels: Path) -> None:
    tiny = make("")
    bad, good = of_its_own(tiny, "bad", "missing==1.0\n"), of_its_own(tiny, "good", "")
    lines: list[str] = []
    made = environments.ensure_all([bad, good], lines.append)
    assert isinstance(made["bad"], EnvironmentUnavailable)
    assert "missing" in str(made["bad"])
    assert isinstance(made["good"], EnvironmentStatus) and made["good"].ready
    assert any(line.startswith("good: ready after") for line in lines)


def test_what_is_shared_is_made_once(make: Make, wheels: Path) -> None:
    tiny = make("")
    two = [msgspec.structs.replace(tiny, name=name) for name in ("tiny-a", "tiny-b")]
    lines: list[str] = []
    made = environments.ensure_all(two, lines.append)
    assert list(made) == ["tiny-a", "tiny-b"]
    assert sum("making its environment" in line for line in lines) == 1


def test_what_is_shared_and_fails_is_tried_once(make: Make, wheels: Path) -> None:
    tiny = make("missing==1.0\n")
    two = [msgspec.structs.replace(tiny, name=name) for name in ("tiny-a", "tiny-b")]
    lines: list[str] = []
    made = environments.ensure_all(two, lines.append)
    assert sum("making its environment" in line for line in lines) == 1
    assert {str(one) for one in made.values()} == {str(made["tiny-a"])}


def test_nothing_asked_is_nothing_made() -> None:
    assert environments.ensure_all([]) == {}


def test_an_interrupt_ends_all_of_them(
    make: Make, put_slow: Callable[[str], None], tmp_path: Path
) -> None:
    folders = []
    for name in ("slow_a", "slow_b"):
        put_slow(name)
        folder = tmp_path / name / "tiny"
        folder.mkdir(parents=True)
        text = (make("").folder / "worker.toml").read_text()
        (folder / "worker.toml").write_text(text.replace("requirements.lock", f"{name}.lock"))
        (folder / f"{name}.lock").write_text(f"{name}==1.0\n")
        folders.append(folder)
    maker = subprocess.Popen(
        [sys.executable, "-c", ENSURE_ALL, *folders], stderr=subprocess.PIPE, text=True
    )
    begun = [tmp_path / f"{name}.started" for name in ("slow_a", "slow_b")]
    until(lambda: all(file.exists() for file in begun), "they aren't made at the same time")
    children = psutil.Process(maker.pid).children(recursive=True)
    assert len(children) >= 2
    os.kill(maker.pid, signal.SIGINT)
    _, said = maker.communicate(timeout=20)
    assert "KeyboardInterrupt" in said
    psutil.wait_procs(children, timeout=10)
    assert not [child for child in children if child.is_running()]
    home = tmp_path / "home" / "environments"
    assert not [path for path in home.iterdir() if path.is_dir()], "what was begun is gone"


HOLD = """\
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


# Ctrl-C comes when the thread runs already and its maker doesn't know it yet.
INTERRUPTED_WHILE_STARTING = """\
import threading
start = threading.Thread.start
waiting = threading.Event()
def interrupted(thread):
    start(thread)
    waiting.wait()
    raise KeyboardInterrupt
threading.Thread.start = interrupted
"""


@pytest.fixture
def held(make: Make, tmp_path: Path) -> Iterator[Worker]:
    """A worker whose environment another process is making."""
    worker = make("")
    lock = tmp_path / "home" / "environments" / f"{worker.uv.lock}.lock"
    lock.parent.mkdir(parents=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    yield worker
    holder.communicate("")


def test_an_interrupt_ends_the_waiting_for_another_process(held: Worker) -> None:
    """Of a thread, too, which no signal reaches."""
    program = ENSURE_ALL.replace(
        "sys.argv[1:]])", "sys.argv[1:]], lambda line: print(line, flush=True))"
    )
    waiter = subprocess.Popen(
        [sys.executable, "-c", program, held.folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiter.stdout is not None
    assert "another process is making" in waiter.stdout.readline()
    os.kill(waiter.pid, signal.SIGINT)
    _, said = waiter.communicate(timeout=10)
    assert "KeyboardInterrupt" in said


def test_an_interrupt_ends_a_thread_that_has_only_just_begun(held: Worker) -> None:
    program = INTERRUPTED_WHILE_STARTING + ENSURE_ALL.replace(
        "sys.argv[1:]])", "sys.argv[1:]], lambda line: waiting.set())"
    )
    waiter = subprocess.run(
        [sys.executable, "-c", program, held.folder], capture_output=True, text=True, timeout=20
    )
    assert waiter.stderr.rstrip().endswith("KeyboardInterrupt")
