"""Batches in shared memory: copied once, read by all, written by nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq

from bare_peer import Scripted, answer, set_up
from rosetta.coordinator import Lease, Process, Router, Session, SharedMemory, prepare_batch
from rosetta.coordinator.shared_memory import ALIGNMENT_BYTES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the shm plane needs Linux")
VALUES = np.arange(1000 * 7, dtype=np.int32).reshape(1000, 7)


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    made = SharedMemory(2**20)
    yield made
    made.close()


def test_a_gathered_batch_lies_in_it_aligned(memory: SharedMemory) -> None:
    rows = np.array([3, 999, 0, 3])
    with Lease(memory) as lease:
        first, second = lease.gather(VALUES, rows), lease.gather(VALUES, rows[:1])
        np.testing.assert_array_equal(first, VALUES[rows])
        np.testing.assert_array_equal(second, VALUES[[3]])
        offsets = [memory.offset_of(first), memory.offset_of(second)]
        assert offsets == [0, 128]
        assert all(offset is not None and not offset % ALIGNMENT_BYTES for offset in offsets)
    assert memory.offset_of(VALUES) is None


def test_an_array_that_is_not_whole_or_aligned_is_none_of_its_own(memory: SharedMemory) -> None:
    with Lease(memory) as lease:
        array = lease.share(VALUES)
        assert memory.offset_of(array[16:32]) == 16 * 7 * 4
        assert memory.offset_of(array[1:]) is None
        assert memory.offset_of(array[:, :3]) is None


def test_a_slot_is_used_again_when_its_lease_is_over_and_not_before(memory: SharedMemory) -> None:
    rows = np.arange(16)
    with Lease(memory) as first:
        held = first.gather(VALUES, rows)
        with Lease(memory) as second:
            assert memory.offset_of(second.gather(VALUES, rows)) == 448
        np.testing.assert_array_equal(held, VALUES[:16])
    with Lease(memory) as third:
        found = {memory.offset_of(third.gather(VALUES, rows)) for _ in range(2)}
    assert found == {0, 448}


def test_where_there_is_no_room_arrays_are_ordinary(memory: SharedMemory) -> None:
    large = np.ones((2**20 + 1,), np.uint8)
    for lease in (Lease(memory), Lease(None)):
        array = lease.gather(large, np.arange(len(large)))
        assert memory.offset_of(array) is None
        np.testing.assert_array_equal(array, large)


READ = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
print(mmap.mmap(file, 2**20, access=mmap.ACCESS_READ)[:28].hex())
"""
WRITE = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
mmap.mmap(file, 2**20)[0] = 1
"""


def test_another_process_reads_it_and_cannot_write(memory: SharedMemory) -> None:
    with Lease(memory) as lease:
        lease.gather(VALUES, np.array([5]))
        read, written = (
            subprocess.run(
                [sys.executable, "-c", script, memory.path],
                capture_output=True,
                text=True,
                check=False,
            )
            for script in (READ, WRITE)
        )
    assert bytes.fromhex(read.stdout) == VALUES[5].tobytes()
    assert "PermissionError" in written.stderr
    with pytest.raises(PermissionError):
        os.truncate(memory.path, 0)


@pytest.fixture
def worker(
    context: zmq.Context[Any], router: Router, memory: SharedMemory, tmp_path: Path
) -> Iterator[Callable[..., tuple[Session, list[tuple[dict[str, Any], list[bytes]]]]]]:
    """A session with a worker, scripted here; what it got in BATCH messages."""
    running: list[Scripted] = []

    def make(planes: list[str], ours: bool) -> tuple[Session, list[Any]]:
        got: list[Any] = []

        def behave(peer: Any, header: Any, frames: Any) -> None:
            if header["type"] == "BATCH":
                got.append((header, frames))
            answer(peer, header, frames)

        session = Session(router, "bare", "run-1", shared=memory)
        if ours:
            command = [sys.executable, "-c", "import time; time.sleep(60)"]
            session.process = Process(command, dict(os.environ), tmp_path / "log", tmp_path)
        running.append(Scripted(context, router.endpoint, session, behave, planes=planes))
        session.await_hello(time.monotonic())
        return session, got

    yield make
    for scripted in running:
        scripted.stop()


@pytest.mark.parametrize(
    ("planes", "ours", "plane"),
    [
        (["inline", "shm"], True, "shm"),
        (["inline"], True, "inline"),
        (["inline", "shm"], False, "inline"),
    ],
)
def test_only_workers_of_ours_that_can_are_sent_offsets(
    planes: list[str],
    ours: bool,
    plane: str,
    worker: Callable[..., tuple[Session, list[Any]]],
    router: Router,
    memory: SharedMemory,
) -> None:
    """Who is started elsewhere may be on another machine: its batches come whole."""
    session, got = worker(planes, ours)
    set_up(session)
    rows = np.arange(4)
    with Lease(memory) as lease:
        inputs = lease.gather(np.ones((4, 784), np.uint8), rows)
        labels = np.zeros(4, np.int32)
        batch = prepare_batch(router.next_id(), 0, inputs, labels, shared=memory)
        session.train([batch], lambda result: None)
    ((header, frames),) = got
    assert session.plane == plane
    offsets = [array.get("offset_bytes") for array in header["arrays"]]
    assert offsets == ([0, None] if plane == "shm" else [None, None])
    assert [len(frame) for frame in frames] == ([16] if plane == "shm" else [4 * 784, 16])
    session.close()
