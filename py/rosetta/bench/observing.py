"""What is seen of a worker and of the machine from outside: at both ends of a turn, never in it."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import psutil

from rosetta import machine
from rosetta.bench import device_memory
from rosetta.bench.participant import Participant
from rosetta.coordinator import Process
from rosetta.results import drift
from rosetta.results.drift import Seen

Number = TypeVar("Number", int, float)
_DEVICE_INTERVAL_S = 2.0


@dataclass(frozen=True)
class Look:
    """The machine's counters at one moment, and the processor time of this process."""

    at_ns: int
    busy_s: float
    """Of all processes, since the machine was started."""
    own_s: float
    stolen_s: float | None
    swapped_bytes: int | None
    throttled: int | None
    mhz: float | None


def look(processors: Sequence[int]) -> Look:
    """Look at the machine now; the clock frequency is that of `processors` (empty: of all)."""
    times = psutil.cpu_times()
    busy = ("user", "nice", "system", "irq", "softirq")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # psutil's, where there are no such counts
        swap = psutil.swap_memory()
    return Look(
        at_ns=time.monotonic_ns(),
        busy_s=sum(getattr(times, name, 0.0) for name in busy),
        own_s=time.process_time(),
        stolen_s=getattr(times, "steal", None),
        swapped_bytes=swap.sin + swap.sout,
        throttled=machine.throttle_count(),
        mhz=machine.frequency_mhz(processors),
    )


def between(
    before: Look, after: Look, worker_s: float | None, memory_bytes: int | None = None
) -> Seen:
    """What happened from one look to the other.

    `worker_s`: processor time of the worker meanwhile; None: not known, so the others' isn't.
    """
    others_s = None
    if worker_s is not None:
        others_s = after.busy_s - before.busy_s - (after.own_s - before.own_s) - worker_s
    return Seen(
        seconds=(after.at_ns - before.at_ns) / 1e9,
        others_s=others_s,
        stolen_s=_difference(before.stolen_s, after.stolen_s),
        swapped_bytes=_difference(before.swapped_bytes, after.swapped_bytes),
        throttled=_difference(before.throttled, after.throttled),
        mhz=after.mhz,
        memory_bytes=memory_bytes,
    )


@contextmanager
def turn(
    participant: Participant,
    key: tuple[int, int],
    steps: int,
    processors: Sequence[int],
    *,
    timed: bool,
) -> Iterator[None]:
    """Around a turn of so many steps: `participant` learns what was seen of it, if it is `timed`.

    `key`: repeat and block. A turn that fails tells nothing.
    """
    if not timed:
        yield
        sample_memory(participant)
        return
    process = participant.session.process if participant.session else None
    before, before_ns = look(processors), process.cpu_ns() if process else 0
    yield
    used_ns = process.cpu_ns() - before_ns if process else -1
    after = look(processors)
    if used_ns >= 0:  # less: something that had computed was gone at the second look
        participant.cpu_ns += used_ns
        participant.cpu_steps += steps
    memory_bytes = sample_memory(participant)
    worker_s = used_ns / 1e9 if used_ns >= 0 else None
    participant.seen[key] = between(before, after, worker_s, memory_bytes)


def sample_memory(participant: Participant, *, last: bool = False) -> int | None:
    """Resident bytes of the worker now; between turns: to look through all takes a millisecond.

    Its memory on a GPU is looked at now and then only, and the `last` time in any case.
    """
    process = participant.session.process if participant.session else None
    if process is None:
        return None
    now = process.sample_memory()
    participant.peak_memory_bytes = max(participant.peak_memory_bytes, process.peak_memory_bytes)
    due = time.monotonic() - participant.device_looked_at_s > _DEVICE_INTERVAL_S
    if participant.session and participant.session.device.startswith("cuda") and (due or last):
        _sample_device(participant, process)
    return now


def _sample_device(participant: Participant, process: Process) -> None:
    with contextlib.suppress(psutil.Error):  # it is gone: that is said elsewhere
        used = device_memory.used_bytes({member.pid for member in process.family()})
        participant.peak_device_memory_bytes = max(participant.peak_device_memory_bytes, used or 0)
    participant.device_looked_at_s = time.monotonic()


def notes(task: str, participants: Sequence[Participant]) -> list[str]:
    """What a reader of a task's numbers must know: unequal conditions, drift, stray steps.

    Workers that measure the harness compute nothing that could drift.
    """
    found = []
    for participant in participants:
        name = f"{task}: {participant.name}"
        found += [f"{name}: {sentence}" for sentence in participant.differences]
        if not participant.worker.harness:
            for repeat in sorted({repeat for repeat, _ in participant.seen}):
                more = f", repeat {repeat}" if participant.repeats > 1 else ""
                keys = sorted(key for key in participant.seen if key[0] == repeat)
                blocks = [participant.work_ns[key] for key in keys]
                found += drift.notes(name + more, blocks, [participant.seen[key] for key in keys])
    return found


def _difference(before: Number | None, after: Number | None) -> Number | None:
    return None if before is None or after is None else after - before
