"""Which of many steps are drawn."""

import numpy as np
import pytest

from rosetta.report.html.thinning import (
    FEWEST,
    MOST,
    POINTS,
    QUANTILES,
    distribution,
    drawn,
    every_nth,
    room_for_each,
    short,
)


def test_few_steps_are_all_drawn():
    chosen, size = drawn(np.array([3, 1, 2]), 10)
    assert chosen.tolist() == [0, 1, 2]
    assert size == 1


def test_of_many_the_median_and_the_slowest_of_each_group_are_drawn():
    times = np.array([5, 1, 9, 2, 4, 4, 4, 4, 1, 2, 3, 100])
    chosen, size = drawn(times, 6)
    assert size == 4
    # (5 1 9 2): 2 and 9; (4 4 4 4): the second and the last; (1 2 3 100): 2 and 100
    assert chosen.tolist() == [2, 3, 5, 7, 9, 11]


@pytest.mark.parametrize("steps", [1, 199, 200, 201, 401, 20_000, 20_001])
def test_no_more_are_drawn_than_there_is_room_and_the_slowest_is_among_them(steps):
    times = np.random.default_rng(steps).integers(1, 10**9, steps)
    chosen, _ = drawn(times, 200)
    assert len(chosen) <= 200
    assert times[chosen].max() == times.max()
    assert (np.diff(chosen) > 0).all()


def test_room_is_shared():
    assert room_for_each(1) == MOST
    assert room_for_each(40) == POINTS // 40
    assert room_for_each(100_000) == FEWEST


def test_a_distribution_keeps_its_ends_and_its_quantiles():
    values = np.random.default_rng(1).normal(size=10_001)
    kept = distribution(values)
    assert len(kept) == QUANTILES
    assert (kept[0], kept[-1]) == (values.min(), values.max())
    assert kept[QUANTILES // 2] == np.median(values)
    assert distribution(np.array([2.0, 1.0])) == [1.0, 2.0]


@pytest.mark.parametrize(("steps", "every"), [(0, 1), (500, 1), (501, 2), (20_000, 40)])
def test_every_nth(steps, every):
    assert every_nth(steps, 500) == every
    assert len(range(0, steps, every)) <= 500


def test_numbers_are_shortened_not_changed():
    assert short(123.456789) == 123.5
    assert short(0.000123456) == 0.0001235
