"""`rosetta env`: what is made, what may be left out, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rosetta import workers
from rosetta.cli import env
from rosetta.environments import EnvironmentStatus, EnvironmentUnavailable, NotInstalled, kinds
from rosetta.workers import Worker


@dataclass
class Machine:
    """Stands in for the making of environments."""

    asked: dict[str, bool] = field(default_factory=dict)
    """Worker → whether its packages were to be installed."""
    errors: dict[str, EnvironmentUnavailable] = field(default_factory=dict)
    """Worker → what making its environment ends with."""

    def ensure(self, worker: Worker, *_: Any, install_packages: bool) -> EnvironmentStatus:
        self.asked[worker.name] = install_packages
        if worker.name in self.errors:
            raise self.errors[worker.name]
        return EnvironmentStatus(worker.name, Path("/made"), True, None, None, None)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """With the workers ``numpy`` and ``torch``, of which the latter is optional."""
    numpy, torch = workers.get("numpy"), workers.get("torch")
    optional = msgspec.structs.replace(torch.environment, optional=True)
    both = {"numpy": numpy, "torch": msgspec.structs.replace(torch, environment=optional)}
    monkeypatch.setattr(workers, "catalogue", lambda: both)
    monkeypatch.setattr(workers, "get", both.__getitem__)
    machine = Machine()
    monkeypatch.setattr(kinds, "ensure", machine.ensure)
    return machine


def test_all_are_made_without_packages_for_julia(machine: Machine) -> None:
    assert env.create() == 0
    assert machine.asked == {"numpy": False, "torch": False}


def test_one_that_is_named_gets_its_packages(machine: Machine) -> None:
    assert env.create(["torch"]) == 0
    assert machine.asked == {"torch": True}


@pytest.mark.parametrize(
    ("worker", "error", "code"),
    [
        ("numpy", EnvironmentUnavailable("no network"), 1),
        ("numpy", NotInstalled("no Julia"), 0),  # not Rosetta's to make
        ("torch", EnvironmentUnavailable("no network"), 0),  # optional
    ],
)
def test_what_may_be_left_out_of_all(
    machine: Machine,
    capsys: pytest.CaptureFixture[str],
    worker: str,
    error: EnvironmentUnavailable,
    code: int,
) -> None:
    machine.errors[worker] = error
    assert env.create() == code
    assert set(machine.asked) == {"numpy", "torch"}, "the others are made all the same"
    said = capsys.readouterr().err
    assert f"{worker}: {'' if code else 'left out: '}{error}" in said


def test_what_is_named_may_be_left_out_where_that_is_said(machine: Machine) -> None:
    machine.errors["torch"] = NotInstalled("no Julia")
    assert env.create(["numpy,torch"], where_possible=True) == 0
    assert machine.asked == {"numpy": False, "torch": False}


@pytest.mark.parametrize("error", [EnvironmentUnavailable("no network"), NotInstalled("no Julia")])
def test_nothing_that_is_named_may_be_left_out(
    machine: Machine, error: EnvironmentUnavailable
) -> None:
    machine.errors["torch"] = error
    assert env.create(["numpy,torch"]) == 1
    assert machine.asked == {"numpy": True, "torch": True}
