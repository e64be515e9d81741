"""A `Harness` with every part in it."""

from __future__ import annotations

from rosetta.harness.record import Ceiling, Harness, Overhead, Peer, RoundTrip


def overhead(ratio: float) -> Overhead:
    return Overhead(
        ratio=ratio,
        interval=[ratio - 0.01, ratio + 0.01],
        own_clock_ratio=1.0,
        driven_samples_per_s=1.0,
        plain_samples_per_s=1.0,
        blocks=5,
        steps_per_block=5,
        loss_difference=0.0,
    )


def ceiling(**ratios: float) -> Ceiling:
    """Peers whose name ends so answer every batch."""
    peers = {
        n: Peer(batches_per_s=1.0, answered=n.endswith("_answered"), ratio=r, interval=None)
        for n, r in ratios.items()
    }
    return Ceiling(batches_per_s=1000.0, copies=2.0, peers=peers)


def harness() -> Harness:
    planes = {
        plane: {
            "38400": {"1": ceiling(a=0.2, b=0.3, a_answered=0.4)},
            "196608": {
                "1": ceiling(a=1.1, b=3, a_answered=1.5),
                "2": ceiling(a=3, b=1.9, a_answered=1.5),
            },
        }
        for plane in ("inline_tcp", "inline_ipc", "shm")
    }
    return Harness(
        run="x",
        rosetta="0",
        started="now",
        quick=False,
        threads=1,
        overhead={"torch": {"mlp": overhead(0.91), "cnn": overhead(0.97), "gru": overhead(0.98)}},
        ceiling=planes,
        round_trip=RoundTrip(ratio=1.6, interval=None, round_trip_ns=160, raw_ns=100),
        memory_growth_bytes=19_000_000,
        memory_steps=20_000,
        machine={},
    )
