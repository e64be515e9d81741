"""Ceiling: how many batches a second the harness brings to workers that compute nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np

from rosetta import tasks
from rosetta.harness.blocks import Contender, interleaved, interval_of, per_second, speed_ratio
from rosetta.harness.crew import Arrays, Crew, PlaneName
from rosetta.harness.extent import Series
from rosetta.harness.peers import (
    Answered,
    AnsweringCarrier,
    Memcpy,
    Payload,
    PeerCarrier,
    PushPull,
    Queue,
)
from rosetta.harness.record import Ceiling, Peer
from rosetta.results import RunDirectory
from rosetta.tasks import Task

PLANES: tuple[PlaneName, ...] = get_args(PlaneName)
MEMCPY = "memcpy"
ANSWERED = "_answered"
"""Ends the names of peers that have every batch answered."""
_ROTATED = 8
"""Different batches: one alone would stay in the processor's nearest cache."""


@dataclass(frozen=True)
class Size:
    """Batches of one size: a task, and how many samples a batch has."""

    task: str
    samples: int


SIZES = (Size("gru", 64), Size("cnn", 64), Size("cnn", 256))
"""38,400, 196,608 and 786,432 bytes of inputs."""

Found = dict[str, dict[str, dict[str, Ceiling]]]


def measure(
    series: Series,
    counts: Sequence[int],
    *,
    seed: int,
    directory: RunDirectory,
    scratch: Path,
    more: Mapping[str, Callable[[], AnsweringCarrier]],
    say: Callable[[str], None],
) -> Found:
    """Every size, plane and number of workers; `more` makes further peers.

    All processes are started once and are alive together. The null worker's environment must be
    there. Raises WorkerFailureError, PeerError, CompanionError, UserError.
    """
    most = max(counts)
    found: Found = {plane: {} for plane in PLANES}
    with contextlib.ExitStack() as stack:
        log = directory.log("null")
        crews = [stack.enter_context(Crew(p, most, scratch=scratch, log=log)) for p in PLANES]
        streamed: dict[str, AnsweringCarrier] = {
            "pyzmq_tcp": stack.enter_context(PushPull("tcp", most, scratch)),
            "pyzmq_ipc": stack.enter_context(PushPull("ipc", most, scratch)),
            "multiprocessing_queue": stack.enter_context(Queue(most)),
            **{name: stack.enter_context(make()) for name, make in more.items()},
        }
        answered = {name + ANSWERED: Answered(peer) for name, peer in streamed.items()}
        peers: dict[str, PeerCarrier] = {**streamed, **answered, MEMCPY: Memcpy()}
        for size in SIZES:
            task, batches = batches_of(size)
            key = str(batches[0][0].nbytes)
            for crew in crews:
                crew.setup(task)
                found[crew.plane][key] = {}
            for count in counts:
                say(f"ceiling: {int(key):,} bytes, {count} worker{'s' * (count > 1)}")
                contenders = _contenders(crews, peers, batches, series.size, count)
                times = interleaved(contenders, series.blocks, seed)
                for plane, ceiling in result(times, series.size).items():
                    found[plane][key][str(count)] = ceiling
    return found


def batches_of(size: Size) -> tuple[Task, list[Arrays]]:
    """The task, and some batches for it that differ."""
    task = tasks.load(size.task)
    training = msgspec.structs.replace(task.training, batch_size=size.samples)
    task = msgspec.structs.replace(task, training=training)
    rng = np.random.default_rng(1)
    shape = (size.samples, *task.input.shape)
    batches: list[Arrays] = []
    for _ in range(_ROTATED):
        inputs = rng.integers(0, 256, shape).astype(task.input.dtype)
        batches.append((inputs, rng.integers(0, task.classes, size.samples).astype(np.int32)))
    return task, batches


def result(times: Mapping[str, Sequence[int]], count: int) -> dict[PlaneName, Ceiling]:
    """The figures of every plane, from the nanoseconds of each block of `count` batches."""
    peers = [name for name in times if name not in (*PLANES, MEMCPY)]
    return {
        plane: Ceiling(
            batches_per_s=per_second(times[plane], count),
            copies=1 / speed_ratio(times[plane], times[MEMCPY]).value,
            peers={name: _peer(name, times[plane], times[name], count) for name in peers},
        )
        for plane in PLANES
    }


def _peer(name: str, ours: Sequence[int], theirs: Sequence[int], count: int) -> Peer:
    ratio = speed_ratio(ours, theirs)
    return Peer(
        batches_per_s=per_second(theirs, count),
        answered=name.endswith(ANSWERED),
        ratio=ratio.value,
        interval=interval_of(ratio),
    )


def _contenders(
    crews: Sequence[Crew],
    peers: Mapping[str, PeerCarrier],
    batches: list[Arrays],
    size: int,
    count: int,
) -> dict[str, Contender]:
    payloads = [_payload(batch) for batch in batches]

    def ours(crew: Crew) -> Contender:
        return lambda number: crew.carry(batches, size, count)

    def theirs(peer: PeerCarrier) -> Contender:
        return lambda number: peer.carry(payloads, size, count)

    return {
        **{crew.plane: ours(crew) for crew in crews},
        **{name: theirs(peer) for name, peer in peers.items()},
    }


def _payload(batch: Arrays) -> Payload:
    return np.frombuffer(b"".join(array.tobytes() for array in batch), np.uint8)
