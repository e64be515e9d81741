"""What was wished for. A goal that isn't met is said; nothing fails for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rosetta.harness.record import Ceiling, Goal, Harness, Overhead, Peer, RoundTrip

LEAST_RATIO = {"mlp": 0.90, "cnn": 0.98, "gru": 0.98}
"""Share of the plain script's samples/s that a driven worker should reach, by task."""
LARGE_BYTES = 196_608
"""Batches from here on should travel faster over `shm` than by any peer."""
LONGEST_ROUND_TRIP = 1.5
LARGEST_GROWTH_BYTES = 20_000_000


def goals(harness: Harness) -> list[Goal]:
    """Every goal that something was measured for."""
    found = [
        _overhead(worker, task, overhead)
        for worker, by_task in harness.overhead.items()
        for task, overhead in by_task.items()
        if task in LEAST_RATIO
    ]
    found += _ceilings(harness.ceiling.get("shm", {}))
    if harness.round_trip:
        found.append(_round_trip(harness.round_trip))
    if harness.memory_growth_bytes is not None:
        found.append(_memory(harness.memory_growth_bytes, harness.memory_steps or 0))
    return found


def _overhead(worker: str, task: str, overhead: Overhead) -> Goal:
    least = LEAST_RATIO[task]
    return Goal(
        name=f"{worker} on {task}, driven / plain script, samples/s",
        value=f"{overhead.ratio:.3f}",
        interval=_range(overhead.interval),
        goal=f">= {least:.2f}",
        met=overhead.ratio >= least,
    )


def _ceilings(by_bytes: Mapping[str, Mapping[str, Ceiling]]) -> Iterator[Goal]:
    for size, by_workers in by_bytes.items():
        if int(size) < LARGE_BYTES:
            continue
        for workers, ceiling in by_workers.items():
            for answered in (False, True):
                peers = {n: p for n, p in ceiling.peers.items() if p.answered == answered}
                if peers:
                    yield _ceiling(int(size), int(workers), peers)


def _ceiling(size: int, workers: int, peers: Mapping[str, Peer]) -> Goal:
    """Against the fastest peer. One copy serves all workers, where peers copy for each."""
    fastest = min(peers, key=lambda name: peers[name].ratio)
    peer = peers[fastest]
    return Goal(
        name=f"shm / {fastest}, batches/s, {size:,} bytes to {_count(workers)}",
        value=f"{peer.ratio:.2f}",
        interval=_range(peer.interval),
        goal=f"> {workers}",
        met=peer.ratio > workers,
    )


def _round_trip(trip: RoundTrip) -> Goal:
    return Goal(
        name="round trip of an empty batch / raw ROUTER-DEALER",
        value=f"{trip.ratio:.2f}",
        interval=_range(trip.interval),
        goal=f"<= {LONGEST_ROUND_TRIP}",
        met=trip.ratio <= LONGEST_ROUND_TRIP,
    )


def _memory(growth_bytes: int, steps: int) -> Goal:
    return Goal(
        name=f"growth of the coordinator in {steps:,} steps",
        value=f"{growth_bytes / 1e6:.1f} MB",
        goal=f"< {LARGEST_GROWTH_BYTES / 1e6:.0f} MB",
        met=growth_bytes < LARGEST_GROWTH_BYTES,
    )


def _range(interval: list[float] | None) -> str:
    return f"{interval[0]:.3f}-{interval[1]:.3f}" if interval else ""


def _count(workers: int) -> str:
    return f"{workers} worker{'s' * (workers > 1)}"
