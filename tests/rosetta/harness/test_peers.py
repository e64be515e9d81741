"""The peers' real processes."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

import waiting
from rosetta import environments
from rosetta.harness.peers import Answered, Memcpy, PeerError, PushPull, Queue, _paced
from rosetta.harness.ray_peer import RayStore, description
from rosetta.harness.round_trip import PingPong
from rosetta.results import RunDirectory
from rosetta.scratch import ScratchFolder

BATCHES = [np.full(1000, n, np.uint8) for n in range(3)]
ORPHANS = """
import os, pathlib, sys
from rosetta import environments
from rosetta.harness.peers import PushPull
if __name__ == "__main__":
    peer = PushPull("ipc", 2, pathlib.Path(sys.argv[1]))
    print(*[process.pid for process in peer._processes], flush=True)
    input()
"""


def peers(folder):
    return {
        "tcp": lambda: PushPull("tcp", 2, folder),
        "ipc": lambda: PushPull("ipc", 2, folder),
        "queue": lambda: Queue(2),
        "memcpy": Memcpy,
    }


@pytest.mark.parametrize("name", ["tcp", "ipc", "queue", "memcpy"])
def test_blocks_of_any_length_reach_any_number_of_receivers(tmp_path, name):
    with peers(tmp_path)[name]() as peer:
        for count, workers in ((1, 1), (7, 2), (3, 1)):
            assert peer.carry(BATCHES, count, workers) > 0
    assert not [p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline())]


@pytest.mark.parametrize("name", ["tcp", "ipc", "queue"])
def test_each_batch_can_be_answered_by_the_same_receivers(tmp_path, name):
    with peers(tmp_path)[name]() as peer, Answered(peer) as answered:
        for count, workers in ((1, 1), (7, 2), (3, 1)):
            assert answered.carry(BATCHES, count, workers) > 0
            assert peer.carry(BATCHES, count, workers) > 0


@pytest.mark.parametrize(("window", "most"), [(None, 1), (2, 2), (1, 1)])
def test_no_more_batches_than_the_window_are_unanswered(window, most):
    under_way, waited = [], []

    def send(number, answer):
        if answer:
            under_way.append(number)
        assert len(under_way) <= most

    _paced(7, window, send, lambda: waited.append(under_way.pop(0)))
    assert under_way == []
    assert waited == ([6] if window is None else list(range(7)))


@pytest.mark.parametrize("name", ["ipc", "queue"])
def test_a_receiver_that_is_gone_is_found_out(tmp_path, monkeypatch, name):
    with peers(tmp_path)[name]() as peer:
        monkeypatch.setattr("rosetta.harness.peers._LIMIT_MS", 1000)
        for socket in (*peer._pushes, peer._done) if name == "ipc" else ():
            socket.sndtimeo = socket.rcvtimeo = 1000
        for process in peer._processes:
            process.kill()
            process.join()
        with pytest.raises(PeerError, match="doesn't answer"):
            peer.carry(BATCHES, 3, 1)


def test_the_ping_pong_comes_back(tmp_path):
    with PingPong(tmp_path, 100) as raw:
        assert raw.trips(5) > 0


@pytest.mark.exhaustive
def test_receivers_end_with_the_process_that_started_them(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(ORPHANS)
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2 and all(map(psutil.pid_exists, pids))
        parent.send_signal(signal.SIGKILL)
    waiting.until(lambda: not any(map(psutil.pid_exists, pids)), "a receiver is left behind")


@pytest.mark.exhaustive
def test_ray_s_store_carries_too_and_leaves_nothing_in_the_home(tmp_path, monkeypatch):
    if not environments.status(description()).ready:
        pytest.skip("no environment: rosetta harness --ray makes it")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    with (
        RunDirectory(tmp_path / "run") as directory,
        ScratchFolder() as scratch,  # a short path: Ray makes sockets far below it
        RayStore(2, directory, scratch) as store,
    ):
        assert store.carry(BATCHES, 3, 2) > 0
        assert Answered(store).carry(BATCHES, 7, 2) > 0
    assert list((tmp_path / "home").iterdir()) == []
