"""Which workers `rosetta bench` takes when none is named, and which one is compared with."""

from __future__ import annotations

import pytest

from rosetta import workers
from rosetta.cli import bench_options
from rosetta.errors import UserError


def names_of(asked: list[str] | None) -> list[str]:
    return [worker.name for worker in bench_options.chosen_workers(asked, None)]


def test_frameworks_of_all_languages_take_part() -> None:
    names = names_of(None)
    found = workers.catalogue()
    expected = [name for name in found if found[name].default and not found[name].harness]
    assert sorted(names) == sorted(expected)
    assert {"numpy", "torch", "julia", "mxnet-gluon"} <= set(names)
    assert "null" not in names


def test_some_take_part_only_where_they_are_named_or_all_are() -> None:
    assert "chainer" not in names_of(None)
    assert names_of(["chainer"]) == ["chainer"]
    found = workers.catalogue()
    everybody = names_of(["all"])
    assert everybody[0] == "numpy"
    assert sorted(everybody) == sorted(name for name in found if not found[name].harness)


def test_all_may_stand_beside_others() -> None:
    """Variants never take part unless they are named, nor does what measures the harness."""
    together = names_of(["torch:compile,all", "null"])
    assert sorted(together) == sorted([*names_of(["all"]), "torch:compile", "null"])


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
