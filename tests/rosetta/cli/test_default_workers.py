"""Which workers `rosetta bench` takes when none is named, and which one is compared with."""

from __future__ import annotations

import pytest

from rosetta import workers
from rosetta.cli import bench
from rosetta.errors import UserError


def test_all_frameworks_of_all_languages_take_part() -> None:
    names = [worker.name for worker in bench._workers(None, None)]
    found = workers.catalogue()
    assert sorted(names) == sorted(name for name in found if not found[name].harness)
    assert {"numpy", "torch", "julia"} <= set(names)
    assert "null" not in names


def test_ratios_refer_to_numpy_unless_told_otherwise() -> None:
    """Not to the first by name, which may be one that most machines can't have."""
    everybody = bench._workers(None, None)
    assert bench._baseline(None, everybody) == "numpy"
    assert bench._baseline("torch", everybody) == "torch"
    assert bench._baseline(None, bench._workers(["torch,numpy"], None)) == "torch"
    with pytest.raises(UserError, match="--baseline null"):
        bench._baseline("null", everybody)
