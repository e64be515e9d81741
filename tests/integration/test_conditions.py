"""What every worker computes under, seen from outside while it runs."""

from __future__ import annotations

import json
import os
import signal

import psutil
import pytest

from integration.observe import children, eventually, steps_in
from rosetta import machine
from rosetta.bench.equality import listed as conditions_listed


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


# --- workers that compute under others ------------------------------------------------------------


@pytest.fixture
def notes_of(bench, rogue):
    """Trains a misbehaving worker, and returns what is said beside the table."""

    def go(behaviour):
        summary, _ = bench(rogue(behaviour))
        assert summary.rows[0].status == "ok", summary.rows[0].reason
        return [note.removeprefix("mlp: rogue: ") for note in summary.notes]

    return go


def test_nothing_is_said_of_equal_conditions(notes_of):
    assert notes_of("behaves") == []


@pytest.mark.skipif(machine.usable_cpus() < 2, reason="there is no other processor to be had")
def test_a_worker_that_takes_other_processors_is_found_out(notes_of):
    (own,) = machine.processors_for(1)
    (note,) = notes_of("changes its processors")
    every = conditions_listed(range(os.cpu_count()))
    assert note == f"its process may use the processors {every}; {own} were set"


def test_a_worker_that_says_it_computes_with_other_threads(notes_of):
    (note,) = notes_of("reports other threads")
    assert note == "its READY says that it computes with 4 threads; 1 were set"


def test_a_worker_that_starts_itself_anew_with_other_variables(notes_of):
    (note,) = notes_of("starts anew with other variables")
    assert note == "in its process OMP_NUM_THREADS is 8; 1 was set"


def test_a_worker_that_sees_something_else(notes_of):
    (own,) = machine.processors_for(1)
    found = notes_of("sees other conditions")
    assert f"it says that it may use the processors 40-41; {own} were set" in found
    assert "it says that OMP_NUM_THREADS is 3; 1 was set" in found
    assert "it says that OPENBLAS_NUM_THREADS is not set; 1 was set" in found
