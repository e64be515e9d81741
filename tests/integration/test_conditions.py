"""What every worker computes under, seen from outside while it runs."""

from __future__ import annotations

import json
import os
import signal

import psutil
import pytest

from integration.observe import children, eventually, steps_in
from rosetta import machine


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process")
@pytest.mark.parametrize("threads", [1, machine.usable_cpus()])
def test_workers_may_use_as_many_processors_as_they_have_threads(rosetta, tmp_path, threads):
    run = tmp_path / "run"
    process = rosetta(
        *("bench", "--no-proof", "--task", "mlp", "--worker", "null,numpy", "--epochs", 100000),
        *("--data", "synthetic", "--threads", threads, "--out", run),
    )
    assert eventually(lambda: steps_in(run) > 20, 60), process.communicate()[1]
    found = [set(psutil.Process(pid).cpu_affinity()) for pid in children(process.pid)]
    mine = set(psutil.Process(process.pid).cpu_affinity())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    said = set(json.loads((run / "run.json").read_text())["processors"])
    assert found == [said, said]
    assert len(said) == threads
    assert mine == os.sched_getaffinity(0), "the coordinator runs where it did"
