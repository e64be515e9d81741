"""Turns and ratios, from canned series."""

from __future__ import annotations

import pytest

from rosetta.errors import UserError
from rosetta.harness.blocks import interleaved, interval_of, per_second, speed_ratio


def test_all_do_a_block_before_anybody_does_the_next_and_they_take_turns_in_going_first():
    done: list[tuple[int, str]] = []

    def contender(name):
        def block(number):
            done.append((number, name))
            return 10 * number

        return block

    times = interleaved({"a": contender("a"), "b": contender("b")}, blocks=8, seed=1)
    assert [number for number, _ in done] == [n for n in range(9) for _ in "ab"]
    assert all({name for n, name in done if n == number} == {"a", "b"} for number in range(9))
    first = [name for _, name in done[2::2]]
    assert first.count("a") == first.count("b")
    assert times == {"a": [10 * n for n in range(1, 9)], "b": [10 * n for n in range(1, 9)]}


def test_twice_as_fast_in_every_block_is_two_with_no_doubt():
    theirs = [100, 300, 200, 400, 100, 900]
    ratio = speed_ratio([time // 2 for time in theirs], theirs)
    assert ratio.value == pytest.approx(2)
    assert interval_of(ratio) == pytest.approx([2, 2])


def test_a_block_in_which_the_machine_was_busy_for_one_of_them_does_not_count_much():
    assert speed_ratio([50, 50, 50, 5_000, 50], [100] * 5).value == pytest.approx(2)


def test_four_blocks_have_no_interval():
    assert interval_of(speed_ratio([1] * 4, [1] * 4)) is None


def test_nothing_measured_is_said():
    with pytest.raises(UserError, match="nothing was measured"):
        speed_ratio([], [])


def test_per_second_is_of_the_median_block():
    assert per_second([10**9, 2 * 10**9, 10**12], 64) == pytest.approx(32)
