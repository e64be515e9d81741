"""What is seen of the machine between two looks, and what is said of a whole task."""

from __future__ import annotations

import time

import msgspec
import pytest

from rosetta import workers
from rosetta.bench import observing
from rosetta.bench.observing import Look, between, look
from rosetta.bench.participant import Participant
from rosetta.results.drift import Seen

BEFORE = Look(
    at_ns=0, busy_s=100.0, own_s=5.0, stolen_s=1.0, swapped_bytes=10, throttled=3, mhz=3000.0
)
AFTER = Look(
    at_ns=2 * 10**9, busy_s=104.0, own_s=5.5, stolen_s=1.2, swapped_bytes=50, throttled=4, mhz=2e3
)
NULL = workers.get("null")
TORCH_LIKE = msgspec.structs.replace(NULL, name="torch", harness=False)


def test_others_used_what_neither_the_worker_nor_the_coordinator_has() -> None:
    seen = between(BEFORE, AFTER, worker_s=2.0, memory_bytes=7)
    assert seen.seconds == 2.0
    assert seen.others_s == pytest.approx(1.5)
    assert seen.stolen_s == pytest.approx(0.2)
    assert (seen.swapped_bytes, seen.throttled, seen.mhz, seen.memory_bytes) == (40, 1, 2000.0, 7)


def test_without_the_workers_time_nothing_is_known_of_the_others() -> None:
    assert between(BEFORE, AFTER, worker_s=None).others_s is None


def test_what_the_system_does_not_tell_stays_unknown() -> None:
    bare = Look(
        at_ns=1, busy_s=1.0, own_s=1.0, stolen_s=None, swapped_bytes=0, throttled=None, mhz=None
    )
    seen = between(bare, bare, worker_s=0.0)
    assert (seen.stolen_s, seen.throttled, seen.mhz) == (None, None, None)


def test_what_this_process_computes_is_not_the_others() -> None:
    """On the real machine: its own two seconds are in neither figure."""
    before, end = look([]), time.process_time() + 2
    while time.process_time() < end:
        pass
    after = look([])
    whole = between(before, after, worker_s=0.0)
    assert after.busy_s - before.busy_s >= 1.8
    assert whole.others_s is not None
    assert whole.others_s == pytest.approx(after.busy_s - before.busy_s - 2, abs=0.2)


def drifting(worker: workers.Worker, *, repeats: int = 1) -> Participant:
    participant = Participant(worker, repeats=repeats)
    for repeat in range(1, repeats + 1):
        for block in range(1, 21):
            participant.work_ns[repeat, block].extend([1_000_000 + 20_000 * block] * 10)
            participant.seen[repeat, block] = Seen(seconds=1.0)
    return participant


def test_drift_is_told_of_each_repeat_with_task_and_worker() -> None:
    (one,) = observing.notes("mlp", [drifting(TORCH_LIKE)])
    assert one.startswith("mlp: torch: steps got ") and one.endswith("over the run: cause unknown")
    both = observing.notes("mlp", [drifting(TORCH_LIKE, repeats=2)])
    assert [note.split(": ")[1] for note in both] == ["torch, repeat 1", "torch, repeat 2"]


def test_nothing_is_told_of_what_computes_nothing() -> None:
    assert observing.notes("mlp", [drifting(NULL)]) == []


def test_unequal_conditions_are_told_first() -> None:
    participant = drifting(TORCH_LIKE)
    participant.differences["computes elsewhere"] = None
    assert observing.notes("gru", [participant])[0] == "gru: torch: computes elsewhere"
