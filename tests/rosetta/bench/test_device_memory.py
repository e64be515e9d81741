"""Memory on a GPU: what the driver's tool says, and what is made of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rosetta import workers
from rosetta.bench import device_memory, observing
from rosetta.bench.participant import Participant
from rosetta.coordinator import Process, Router, Session

MIB = 2**20


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("1234, 567\n", {1234: 567 * MIB}),
        ("1234, 567\n99, 1\n1234, 3\n", {1234: 570 * MIB, 99: MIB}),
        ("1234, [N/A]\n99, [Insufficient Permissions]\n7, 5\n", {7: 5 * MIB}),
        ("No running processes found\n", {}),
        ("pid, used_gpu_memory [MiB]\n12, 3 MiB\n-1, 2\n,\n5\n", {}),
    ],
)
def test_what_the_tool_says_by_process(text: str, found: dict[int, int]) -> None:
    assert device_memory.by_process(text) == found


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script in the place of the driver's tool: there is no GPU to ask."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(script: str) -> None:
        (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "nvidia-smi").chmod(0o755)

    return make


def test_what_some_processes_use_together(tool: Callable[[str], None]) -> None:
    asked = "--query-compute-apps=pid,used_memory --format=csv,noheader,nounits"
    tool(f'[ "$*" = "{asked}" ] || exit 1; echo "7, 100"; echo "8, 20"; echo "9, 3"')
    assert device_memory.used_bytes({7, 9}) == 103 * MIB
    assert device_memory.used_bytes({1}) is None


@pytest.mark.parametrize("script", ["exit 9", "echo '7, 100'; exit 1", "printf '\\377, 1'"])
def test_a_tool_that_does_not_answer_tells_nothing(
    tool: Callable[[str], None], script: str
) -> None:
    tool(script)
    assert device_memory.used_bytes({7}) is None


def test_without_the_tool_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device_memory.used_bytes({7}) is None


# --- sampling -------------------------------------------------------------------------------------


@pytest.fixture
def participant(tmp_path: Path) -> Iterator[Callable[[str], Participant]]:
    """A worker on a device, whose process is a real one that only waits."""
    router, started = Router(), []

    def make(device: str) -> Participant:
        session = Session(router, "torch", "run", device=device)
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        session.process = Process(command, os.environ, tmp_path / "log", tmp_path)
        started.append(session)
        return Participant(workers.get("torch"), session)

    yield make
    for session in started:
        session.close()
    router.close()


def says(pid: int, mib: int) -> str:
    return f"echo '{pid}, {mib}'"


def test_the_peak_is_of_the_worker_and_stays(
    tool: Callable[[str], None], participant: Callable[[str], Participant]
) -> None:
    one = participant("cuda:1")
    assert one.session and one.session.process
    for mib in (300, 500, 400):
        tool(says(one.session.process.pid, mib))
        observing.sample_memory(one, last=True)
    assert one.peak_device_memory_bytes == 500 * MIB


def test_the_tool_is_not_asked_after_every_turn(
    tool: Callable[[str], None], participant: Callable[[str], Participant]
) -> None:
    one = participant("cuda")
    assert one.session and one.session.process
    tool(says(one.session.process.pid, 300))
    observing.sample_memory(one)
    tool(says(one.session.process.pid, 500))
    observing.sample_memory(one)
    assert one.peak_device_memory_bytes == 300 * MIB


def test_a_worker_on_the_cpu_has_none(
    tool: Callable[[str], None], participant: Callable[[str], Participant]
) -> None:
    one = participant("cpu")
    assert one.session and one.session.process
    tool(says(one.session.process.pid, 300))
    observing.sample_memory(one, last=True)
    assert one.peak_device_memory_bytes == 0
    assert one.peak_memory_bytes > 0
