"""Which workers `rosetta bench` takes when none is named, and which one is compared with."""

from __future__ import annotations

import pytest

from rosetta import workers
from rosetta.cli import bench_options
from rosetta.errors import UserError


def test_all_frameworks_of_all_languages_take_part() -> None:
    names = [worker.name for worker in bench_options.chosen_workers(None, None)]
    found = workers.catalogue()
    assert sorted(names) == sorted(name for name in found if not found[name].harness)
    assert {"numpy", "torch", "julia"} <= set(names)
    assert "null" not in names


def test_ratios_refer_to_numpy_unless_told_otherwise() -> None:
    """Not to the first by name, which may be one that most machines can't have."""
    everybody = bench_options.chosen_workers(None, None)
    assert bench_options.baseline(None, everybody) == "numpy"
    assert bench_options.baseline("torch", everybody) == "torch"
    assert (
        bench_options.baseline(None, bench_options.chosen_workers(["torch,numpy"], None)) == "torch"
    )
    with pytest.raises(UserError, match="--baseline null"):
        bench_options.baseline("null", everybody)
