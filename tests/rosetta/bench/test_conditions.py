"""What is set alike for all workers, and what is said of too many threads."""

from __future__ import annotations

import pytest

from rosetta.bench import conditions


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two of them."""
    monkeypatch.setattr("rosetta.machine.usable_cpus", lambda: 2)


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_have_a_processor_each_need_no_word(threads: int) -> None:
    assert conditions.warnings(threads) == []


@pytest.mark.usefixtures("processors")
def test_more_threads_than_processors_are_worth_a_line() -> None:
    (line,) = conditions.warnings(99)
    assert line == "99 threads on 2 processors: they wait for each other; at most 2 help"


def test_every_pool_is_told_the_same_number_and_waits_without_computing() -> None:
    found = conditions.variables(3)
    assert {found[name] for name in found if name.endswith("THREADS")} == {"3"}
    assert found["OMP_WAIT_POLICY"] == "PASSIVE"
    assert conditions.thread_variables(3).items() <= found.items()
