"""Run directories as `rosetta bench` leaves them, with the names, steps and rows a test asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rosetta.results import Row, Run, Step, Summary

MS = 10**6


def row(worker: str = "numpy", task: str = "mlp", **more: Any) -> Row:
    """A good row, but for what is said otherwise."""
    fields: dict[str, Any] = {
        "data": "synthetic",
        "device": "cpu",
        "threads": 2,
        "status": "ok",
        "proof": "same",
        "batch_size": 64,
        "steps": 24,
        "timed_steps": 20,
        "samples_per_s": 1000.0,
        "step_ns_median": 60 * MS,
        "step_ns_mad": MS,
        "setup_ns": 5 * MS,
        "peak_memory_bytes": 300 * 2**20,
    }
    return Row(worker=worker, task=task, **{**fields, **more})


def steps(
    times: Mapping[str, float],
    task: str = "mlp",
    *,
    total: int = 24,
    block: int = 4,
    repeats: int = 1,
    attempt: int = 1,
    **more: Any,
) -> list[Step]:
    """Interleaved turns of `block` steps: worker → milliseconds of its step, a little uneven.

    Step 0 is the first, the rest of block 0 the warm-up.
    """
    made = []
    for repeat in range(1, repeats + 1):
        for start in range(0, total, block):
            for worker, ms in times.items():
                for step in range(start, min(total, start + block)):
                    fields: dict[str, Any] = {
                        "loss": 2.5 / (1 + step),
                        "wait_ns": (50 if step == start else 1) * MS,
                        "copy_ns": MS // 10,
                        "step_ns": round(ms * MS * (1 + 0.01 * (step % 5))),
                    }
                    phase = "timed" if start else "warmup" if step else "first"
                    made.append(
                        Step(
                            task=task,
                            worker=worker,
                            step=step,
                            phase=phase,
                            block=start // block,
                            repeat=repeat,
                            attempt=attempt,
                            **{**fields, **more},
                        )
                    )
    return made


def write(
    directory: Path,
    rows: Iterable[Row],
    done: Iterable[Step],
    *,
    summary: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
) -> Path:
    """Write `run.json`, `steps.jsonl` and `summary.json`; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    said = {"run": "20260102-030405-abcd", "state": "complete", "rows": list(rows)}
    known: dict[str, Any] = {
        "run": said["run"],
        "rosetta": "0.1.0",
        "revision": "0123456789ab",
        "protocol": "1.0",
        "started": "2026-01-02T03:04:05+00:00",
        "command": ["/here/rosetta", "bench", "--quick", "--task", "mlp"],
        "options": {"schedule": "interleaved", "repeats": 1, "seed": 1},
        "tasks": {},
        "data": {"mlp": {"name": "synthetic"}},
        "workers": {},
        "environment": {"OMP_NUM_THREADS": "2"},
        "machine": {"cpu_model": "a processor", "logical_cores": 2},
    }
    record = Run(**{**known, **(run or {})})
    (directory / "run.json").write_bytes(msgspec.json.encode(record))
    lines = b"".join(msgspec.json.encode(step) + b"\n" for step in done)
    (directory / "steps.jsonl").write_bytes(lines)
    written = Summary(**{**said, **(summary or {})})
    (directory / "summary.json").write_bytes(msgspec.json.encode(written))
    return directory
