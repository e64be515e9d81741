"""Each row's speed relative to the baseline's, over the blocks that both trained."""

from __future__ import annotations

from array import array

import msgspec
import pytest

from rosetta import workers
from rosetta.bench.participant import Participant
from rosetta.bench.ratios import with_ratios
from rosetta.results import Row

NULL = workers.get("null")


def participant(name: str, work_ns: dict[int, int], *, status: str = "ok", harness: bool = False):
    """A worker that took `work_ns[block]` for each of a block's three steps."""
    worker = msgspec.structs.replace(NULL, name=name, harness=harness)
    made = Participant(worker, status=status)
    for block, time in work_ns.items():
        made.work_ns[1, block] = array("Q", [time] * 3)
    return made


def ratios(*participants: Participant, baseline: str | None = "base") -> list[Row]:
    rows = [
        Row(worker=p.name, task="mlp", data="d", device="cpu", threads=1, status=p.status)
        for p in participants
    ]
    return with_ratios(rows, participants, baseline)


def steady(time: int, blocks: int = 6) -> dict[int, int]:
    return dict.fromkeys(range(1, blocks + 1), time)


def test_a_worker_that_takes_half_the_time_is_twice_as_fast() -> None:
    base, other = ratios(participant("base", steady(200)), participant("other", steady(100)))
    assert other.ratio == pytest.approx(2.0)
    assert other.ratio_interval == pytest.approx([2.0, 2.0])
    assert base.ratio == 1.0


def test_workers_of_different_times_have_no_interval() -> None:
    participants = [participant("base", steady(200)), participant("other", steady(100))]
    rows = [
        Row(worker=p.name, task="mlp", data="d", device="cpu", threads=1, status="ok")
        for p in participants
    ]
    _, other = with_ratios(rows, participants, "base", paired=False)
    assert other.ratio == pytest.approx(2.0)
    assert other.ratio_interval is None


def test_only_blocks_in_common_count() -> None:
    """A block that only one of them trained says nothing, however fast it was."""
    other = participant("other", {2: 100, 3: 100, 9: 1})
    assert ratios(participant("base", {1: 7, 2: 200, 3: 200}), other)[1].ratio == pytest.approx(2.0)


def test_without_a_common_block_there_is_no_ratio() -> None:
    rows = ratios(participant("base", {1: 1}), participant("other", {2: 1}))
    assert rows[1].ratio is rows[1].ratio_interval is None


def test_few_blocks_have_a_ratio_without_an_interval() -> None:
    row = ratios(participant("base", steady(200, 3)), participant("other", steady(100, 3)))[1]
    assert row.ratio == pytest.approx(2.0)
    assert row.ratio_interval is None


@pytest.mark.parametrize("status", ["failed", "crashed", "timeout", "interrupted", "skipped"])
def test_a_row_that_is_not_ok_takes_no_part(status: str) -> None:
    rows = ratios(participant("base", steady(200)), participant("other", steady(1), status=status))
    assert rows[1].ratio is None
    assert rows[0].ratio == 1.0


@pytest.mark.parametrize("status", ["failed", "crashed", "interrupted", "skipped"])
def test_a_baseline_that_is_not_ok_leaves_no_ratios(status: str) -> None:
    rows = ratios(participant("base", steady(200), status=status), participant("a", steady(1)))
    assert [row.ratio for row in rows] == [None, None]


@pytest.mark.parametrize("baseline", [None, "absent"])
def test_without_a_baseline_there_are_no_ratios(baseline: str | None) -> None:
    assert ratios(participant("base", steady(200)), baseline=baseline)[0].ratio is None


def test_the_harness_has_no_ratio_and_is_no_baseline() -> None:
    harness = participant("null", steady(1), harness=True)
    assert ratios(participant("base", steady(9)), harness)[1].ratio is None
    rows = ratios(participant("base", steady(9)), harness, baseline="null")
    assert [row.ratio for row in rows] == [None, None]


def test_everything_else_in_a_row_stays() -> None:
    row = ratios(participant("base", steady(200)))[0]
    bare = msgspec.structs.replace(row, ratio=None, ratio_interval=None)
    assert bare == Row(worker="base", task="mlp", data="d", device="cpu", threads=1, status="ok")


def test_asking_about_blocks_adds_none() -> None:
    """`work_ns` makes a block when one is asked for; the ratios mustn't."""
    other = participant("other", {1: 1})
    ratios(participant("base", steady(200)), other)
    assert list(other.work_ns) == [(1, 1)]
