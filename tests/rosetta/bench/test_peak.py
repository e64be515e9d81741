"""The machine's peak, and a framework's share of it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from rosetta import workers
from rosetta.bench.participant import Participant
from rosetta.bench.peak import matrix_peak
from rosetta.tasks.operations import step_operations

from .test_participant import TORCH_LIKE, plan, result, trained


def test_it_is_measured() -> None:
    """Any machine of today does a billion operations a second, and none a thousand million."""
    peak = matrix_peak(1)
    assert peak is not None
    assert 1e9 < peak < 1e15


def test_where_it_cannot_be_measured_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")
    assert matrix_peak(1) is None


def row(participant: Participant, device: str = "cpu", peak: float | None = 1e12) -> Any:
    hello = SimpleNamespace(device=device, framework="", framework_version="", language="")
    fields = {"language_version": "", "forms": {}, "disclosures": {}}
    vars(hello).update(fields)
    participant.session = SimpleNamespace(hello=hello, process=None, plane="shm")  # type: ignore[assignment]
    return participant.row(plan(), device, 2, peak)


def test_the_share_is_of_the_operations_that_the_task_needs() -> None:
    """64 samples a millisecond, on a machine that can do 10¹² operations a second."""
    steps = [result(n, copy_ns=0, step_ns=10**6) for n in range(9)]
    expected = 64 * step_operations(plan().task) / 1e-3 / 1e12
    assert row(trained(*steps)).peak_share == pytest.approx(expected)


def test_what_has_no_share() -> None:
    steps = [result(n, copy_ns=0, step_ns=10**6) for n in range(9)]
    assert row(trained(*steps), peak=None).peak_share is None
    assert row(trained(*steps), peak=1e9).peak_share is None, "more than the peak: it was no peak"
    assert row(trained(*steps), device="cuda").peak_share is None
    harness = msgspec.structs.replace(TORCH_LIKE, harness=True)
    assert row(trained(*steps, worker=harness)).peak_share is None
    assert row(Participant(workers.get("numpy"))).peak_share is None


def test_processor_time_is_the_mean_over_timed_turns() -> None:
    participant = trained(*[result(n) for n in range(9)])
    assert row(participant).cpu_ns_per_step is None
    participant.cpu_ns, participant.cpu_steps = 4_500, 3
    assert row(participant).cpu_ns_per_step == 1_500
