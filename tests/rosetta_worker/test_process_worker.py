"""What a worker's process says of the conditions that it computes under."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rosetta.bench import conditions
from rosetta.bench.equality import ECHOED, listed
from rosetta_worker import process


def test_it_names_the_processors_that_it_may_use_and_the_variables_that_are_set(monkeypatch):
    for name in process.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    found = process.conditions()
    assert set(found) <= set(ECHOED)
    assert found["thread variables"] == "OMP_NUM_THREADS=3 OMP_WAIT_POLICY=ACTIVE"
    if Path("/proc/self/status").exists():
        assert found["processors"] == listed(os.sched_getaffinity(0))


def test_it_leaves_out_what_the_system_does_not_tell(tmp_path):
    assert list(process.conditions(str(tmp_path / "none"))) == ["thread variables"]
    (tmp_path / "status").write_text("Name:\tpython\n")
    assert list(process.conditions(str(tmp_path / "status"))) == ["thread variables"]


def test_it_tells_of_every_variable_that_a_coordinator_sets():
    assert set(process.THREAD_VARIABLES) == set(conditions.thread_variables(1))


@pytest.mark.parametrize(
    ("processors", "text"), [([3], "3"), ([0, 1], "0-1"), ([8, 0, 1, 2, 3], "0-3,8"), ([], "")]
)
def test_processors_are_listed_as_linux_does(processors, text):
    assert listed(processors) == text
