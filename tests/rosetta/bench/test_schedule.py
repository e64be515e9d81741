"""Blocks and turns: every step once, and a noisy machine is noisy for all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta.bench import schedule
from rosetta.bench.schedule import Block, blocks, phase, turns

PLANS = st.fixed_dictionaries(
    {"warmup": st.integers(0, 30), "size": st.integers(1, 40)},
).flatmap(
    lambda plan: st.tuples(
        st.integers(1, 400), st.just(plan), st.one_of(st.none(), st.integers(1, 90))
    )
)
Plan = tuple[int, dict[str, int], int | None]


def cut(plan: Plan) -> list[Block]:
    total, more, epoch = plan
    return list(blocks(total, **more, epoch=epoch))


@given(PLANS)
def test_the_blocks_are_the_steps_cut_up(plan: Plan) -> None:
    made = cut(plan)
    assert [step for block in made for step in block.steps] == list(range(plan[0]))
    assert [block.number for block in made] == list(range(len(made)))
    assert all(len(block.steps) > 0 for block in made)


@given(PLANS)
def test_the_first_block_holds_the_first_step_and_the_warm_up(plan: Plan) -> None:
    total, more, epoch = plan
    assert len(cut(plan)[0].steps) == min(total, 1 + more["warmup"], epoch or total)


@given(PLANS)
def test_a_block_is_timed_or_it_is_not(plan: Plan) -> None:
    warmup = plan[1]["warmup"]
    for block in cut(plan):
        assert len({phase(step, warmup) == "timed" for step in block.steps}) == 1


@given(PLANS)
def test_a_timed_block_has_at_most_its_size(plan: Plan) -> None:
    _, more, _ = plan
    assert all(len(b.steps) <= more["size"] for b in cut(plan) if b.start > more["warmup"])


@given(PLANS)
def test_a_block_never_crosses_the_end_of_an_epoch(plan: Plan) -> None:
    epoch = plan[2]
    for block in cut(plan):
        assert epoch is None or block.start // epoch == (block.stop - 1) // epoch


@given(PLANS)
def test_accuracy_is_taken_after_each_epoch_and_at_the_end(plan: Plan) -> None:
    total, _, epoch = plan
    ends = {total, *(range(epoch, total, epoch) if epoch else ())}
    assert {block.stop for block in cut(plan) if block.evaluate} == ends


@given(PLANS)
def test_blocks_are_as_large_as_they_may_be(plan: Plan) -> None:
    """A timed block is only smaller than its size at the end of an epoch or of the run."""
    total, more, epoch = plan
    for block in cut(plan):
        if block.start > more["warmup"] and len(block.steps) < more["size"]:
            assert block.stop == total or (epoch and block.stop % epoch == 0)


def test_the_default_run() -> None:
    """One step, five of warm-up, and twenty timed ones in blocks of ten."""
    made = list(blocks(26, warmup=5, size=10, epoch=None))
    assert [(b.start, b.stop, b.evaluate) for b in made] == [
        (0, 6, False),
        (6, 16, False),
        (16, 26, True),
    ]


def test_the_phases() -> None:
    assert [phase(step, 2) for step in range(5)] == ["first", "warmup", "warmup", "timed", "timed"]
    assert [phase(step, 0) for step in range(2)] == ["first", "timed"]


@given(st.integers(1, 12), st.integers(0, 2**31 - 1), st.integers(0, 50))
def test_each_is_in_each_place_equally_often(count: int, seed: int, start: int) -> None:
    orders = [turns(range(count), block, seed) for block in range(start, start + 2 * count)]
    for place in range(count):
        assert sorted(order[place] for order in orders) == sorted([*range(count), *range(count)])


def test_nobody_always_follows_the_same_other() -> None:
    pairs = {pair for block in range(8) for pair in itertools.pairwise(turns("abcd", block, 1))}
    followed = {who: {before for before, after in pairs if after == who} for who in "abcd"}
    assert all(len(others) >= 2 for others in followed.values())


@given(st.lists(st.integers(), unique=True, max_size=8), st.integers(0, 99), st.integers(0, 99))
def test_in_a_block_everybody_has_one_turn(present: list[int], block: int, seed: int) -> None:
    order = turns(present, block, seed)
    assert sorted(order) == sorted(present)
    assert order == turns(present, block, seed)


def test_seeds_give_different_orders() -> None:
    assert len({tuple(turns(range(6), 0, seed)) for seed in range(20)}) > 10


@pytest.mark.parametrize("block", [0, 1, 7])
def test_nobody_and_one_alone(block: int) -> None:
    assert turns([], block, 1) == []
    assert turns(["a"], block, 1) == ["a"]


def test_interleaved_workers_are_alive_together() -> None:
    assert schedule.groups(["a", "b", "c"], "interleaved", 1, 0) == [["a", "b", "c"]]
    assert schedule.groups([], "interleaved", 1, 0) == []


def test_sequential_workers_follow_each_other_in_an_order_that_changes() -> None:
    orders = [schedule.groups(["a", "b", "c"], "sequential", n, 0) for n in range(1, 7)]
    assert all(sorted(order) == [["a"], ["b"], ["c"]] for order in orders)
    for place in range(3):
        assert sorted(order[place][0] for order in orders) == sorted("aabbcc")
    assert schedule.groups([], "sequential", 1, 0) == []
