"""Memory: how much a coordinator grows over many steps, seen from outside."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from rosetta.results import RunDirectory

SETTLED = 0.05
"""Share of the steps after which growth counts: by then everything was done once."""
_POLL_S = 0.1
_STOP_S = 10.0


class MemoryUnknownError(Exception):
    """It couldn't be measured; one sentence."""


def measure(steps: int, *, directory: RunDirectory, scratch: Path) -> int:
    """Bytes that `rosetta bench` grows by over `steps` steps of a null worker on `mlp`.

    A real run, recorded like every other. Raises MemoryUnknownError.
    """
    run = scratch / "memory-run"
    command = [sys.executable, "-m", "rosetta", "bench", "--worker", "null", "--task", "mlp"]
    command += ["--data", "synthetic", "--no-proof", "--threads", "1", "--warmup", "0"]
    command += ["--steps", str(steps), "--test-samples", "64", "--out", str(run)]
    with directory.log("memory").open("ab") as log:
        bench = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            samples = _watch(bench, run / "steps.jsonl")
        finally:
            _stop(bench)
    if bench.returncode:
        raise MemoryUnknownError(f"rosetta bench exited with {bench.returncode}: see logs/memory")
    return growth(samples, steps)


def growth(samples: Sequence[tuple[int, int]], steps: int) -> int:
    """Largest growth since the run had settled, from (steps done, resident bytes) in their order.

    What comes after the last step (the evaluation, the summary) isn't counted. Raises
    MemoryUnknownError where the run was over before it was looked at twice.
    """
    counted = [size for done, size in samples if SETTLED * steps <= done < steps]
    if len(counted) < 2:
        raise MemoryUnknownError("too few steps to see the memory grow")
    return max(0, max(counted) - counted[0])


def _watch(bench: subprocess.Popen[bytes], steps_file: Path) -> list[tuple[int, int]]:
    samples: list[tuple[int, int]] = []
    process = psutil.Process(bench.pid)
    read, lines = 0, 0
    while bench.poll() is None:
        try:
            with steps_file.open("rb") as file:
                file.seek(read)
                new = file.read()
            read, lines = read + len(new), lines + new.count(b"\n")
            samples.append((lines, process.memory_info().rss))
        except (OSError, psutil.Error):
            pass  # it hasn't begun, or is gone
        time.sleep(_POLL_S)
    return samples


def _stop(bench: subprocess.Popen[bytes]) -> None:
    """It ends its worker when it is asked to end."""
    if bench.poll() is None:
        bench.terminate()
    try:
        bench.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        bench.kill()
        bench.wait()
