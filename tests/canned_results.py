"""Rows and summaries that tests of the report are made from."""

from __future__ import annotations

from typing import Any

from rosetta.results import Row, Run, Summary

MS = 10**6


def row(worker: str = "numpy", **more: Any) -> Row:
    fields: dict[str, Any] = {
        "task": "mlp",
        "data": "mnist",
        "device": "cpu",
        "threads": 2,
        "status": "ok",
        "proof": "same",
        "timed_steps": 40,
        "batch_size": 64,
    }
    return Row(worker=worker, **{**fields, **more})


def timed(worker: str, speed: float, ratio: float, *interval: float, **more: Any) -> Row:
    """A row with times; `interval` of its ratio, or none."""
    between = list(interval) or None
    return row(worker, samples_per_s=speed, ratio=ratio, ratio_interval=between, **more)


def summary(*rows: Row, **more: Any) -> Summary:
    return Summary(**{"run": "r", "state": "complete", "rows": list(rows), **more})


def record(**more: Any) -> Run:
    """`run.json` of a run of `mlp`, with another `cpu`, `batch_size`, `rate` or data `digest`."""
    training = {"batch_size": more.pop("batch_size", 64), "epochs": 5}
    content = {
        "layers": ["a", "b"],
        "optimiser": {"learning_rate": more.pop("rate", 0.001)},
        "training": training,
        "bench": {"steps": 400},
    }
    fields: dict[str, Any] = {
        "run": "r",
        "rosetta": "0.1.0",
        "revision": "abc",
        "protocol": "1.0",
        "started": "2024-01-31T12:00:00+00:00",
        "command": ["/home/somebody/rosetta", "bench"],
        "options": {"out": "/home/somebody/run"},
        "tasks": {"mlp": {"sha256": "…", "content": content}},
        "data": {"mlp": {"path": "/home/somebody/mnist", "sha256": {"x": more.pop("digest", "1")}}},
        "workers": {},
        "environment": {},
        "machine": {"cpu_model": more.pop("cpu", "Intel(R) Xeon(R) CPU @ 2.20GHz"), "gpus": []},
    }
    return Run(**{**fields, **more})
