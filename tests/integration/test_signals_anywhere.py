"""SIGKILL, SIGSTOP and SIGTERM to a worker and to the coordinator, at points all over a run.

Whatever is hit, and when: every line of `steps.jsonl` is whole and none that a row counts is
missing, the run directory can be read, no process is left, nothing is left in shared memory.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from integration.conftest import read_steps
from integration.observe import alive, children, eventually, steps_in
from rosetta.results import read_run, read_summary

pytestmark = pytest.mark.exhaustive

STEPS = 1 + 1 + 300
ASKED = (
    *("bench", "--no-proof", "--task", "mlp", "--worker", "null,numpy", "--steps", STEPS - 2),
    *("--warmup", 1, "--data", "synthetic", "--threads", 1, "--batch-size", 16),
    *("--start-deadline", 20, "--step-deadline", 2),
)
POINTS = [
    # Seconds after the start, while the processes are made and greeted, …
    *(("seconds", at) for at in (0.3, 0.6, 0.9, 1.2, 1.6)),
    # … and steps that were recorded: the first, of either worker, in a block and between two.
    *(("steps", at) for at in (1, 12, 255, 590)),
]
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP]


def wait_for(point: tuple[str, float], process, folder: Path) -> None:
    kind, at = point
    if kind == "seconds":
        time.sleep(at)
    else:
        assert eventually(lambda: steps_in(folder) >= at or process.poll() is not None, 60)


def check_files(folder: Path) -> None:
    """Whatever was written can be read, and what a row counts is there."""
    if not (folder / "steps.jsonl").exists():
        return  # it was hit before it had begun
    content = (folder / "steps.jsonl").read_bytes()
    assert content.endswith(b"\n") or not content
    counted = Counter(step.worker for step in read_steps(folder))
    if (folder / "summary.json").exists():
        read_run(folder)
        for row in read_summary(folder).rows:
            assert row.steps <= counted[row.worker], row


def in_shared_memory() -> set[str]:
    return {entry.name for entry in os.scandir("/dev/shm")}


def send(number: signal.Signals, pid: int) -> None:
    """A process that is gone already was hit as well."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point[1]} {point[0]}")
def test_the_coordinator_is_hit(rosetta, tmp_path, point, number):
    folder, before = tmp_path / "run", in_shared_memory()
    process = rosetta(*ASKED, "--out", folder)
    wait_for(point, process, folder)
    mine = children(process.pid) if process.poll() is None else []
    send(number, process.pid)
    if number == signal.SIGSTOP:
        time.sleep(1.0)
        send(signal.SIGCONT, process.pid)
    process.communicate(timeout=60)
    # One that hadn't been welcomed waits for half a minute: SPEC, section 7.
    assert eventually(lambda: not any(map(alive, mine)), 45), "a worker is left behind"
    check_files(folder)
    assert in_shared_memory() <= before
    if number == signal.SIGSTOP:  # it was away for a moment, and has lost nothing
        assert process.returncode == 0
        assert {row.steps for row in read_summary(folder).rows} == {STEPS}
    elif number == signal.SIGTERM and (folder / "summary.json").exists():
        assert read_summary(folder).state in ("interrupted", "complete")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point[1]} {point[0]}")
def test_a_worker_is_hit(rosetta, tmp_path, point, number):
    folder, before = tmp_path / "run", in_shared_memory()
    process = rosetta(*ASKED, "--out", folder)
    assert eventually(lambda: len(children(process.pid)) == 2, 60)
    null, victim = sorted(children(process.pid))  # in the order in which they were started
    wait_for(point, process, folder)
    send(number, victim)
    process.communicate(timeout=90)
    assert not alive(null) and not alive(victim)
    check_files(folder)
    assert in_shared_memory() <= before
    summary = read_summary(folder)
    assert (summary.state, summary.missing) == ("complete", [])
    others, hit = sorted(summary.rows, key=lambda row: row.worker)
    assert (others.worker, others.status, others.steps) == ("null", "ok", STEPS)
    assert hit.status in ("ok", "crashed", "timeout")
    counted = Counter(step.worker for step in read_steps(folder))
    assert hit.steps == counted["numpy"]
    if hit.status == "ok":  # it had done all before it was hit
        assert hit.steps == STEPS
    else:
        assert hit.reason
        assert "\n" not in hit.reason
