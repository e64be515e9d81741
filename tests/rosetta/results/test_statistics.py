"""The numbers of a summary, from canned series."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta.results import median_and_mad, quantile, ratio_of_blocks
from rosetta.results.statistics import MIN_BLOCKS

TIMES = st.lists(st.integers(1_000, 10**9), min_size=1, max_size=8)
BLOCKS = st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("series", "median", "mad"),
    [
        ([5], 5, 0),
        ([1, 2, 3, 4, 100], 3, 1),
        ([10, 20], 15, 5),
        ([7, 7, 7], 7, 0),
        ([0, 0], 0, 0),
        ([2**62, 2**62], 2**62, 0),
    ],
)
def test_median_and_median_absolute_deviation(series: list[int], median: int, mad: int) -> None:
    assert median_and_mad(series) == (median, mad)


def test_one_outlier_moves_neither() -> None:
    quiet = [100, 101, 102, 103, 104]
    assert median_and_mad([*quiet[:-1], 10**12]) == median_and_mad(quiet)


@pytest.mark.parametrize(
    ("q", "count", "value"),
    [(0.9, 63, None), (0.9, 64, 57), (0.9, 101, 90), (0.99, 661, None), (0.99, 662, 654)],
)
def test_a_quantile_is_told_only_with_enough_values(q: float, count: int, value: int) -> None:
    """Of 0, 1, 2 …: interpolated, and rounded."""
    assert quantile(range(count), q) == value


def test_the_ratio_is_the_geometric_mean_of_the_blocks_ratios() -> None:
    """Twice as fast in one block and eight times in another: four times as fast."""
    ratio = ratio_of_blocks([[200, 100, 300], [800]], [[100], [100, 90, 4000]])
    assert ratio is not None
    assert ratio.value == pytest.approx(4.0)


def test_more_is_faster() -> None:
    ratio = ratio_of_blocks([[300]] * 5, [[100]] * 5)
    assert ratio is not None
    assert ratio.value == pytest.approx(3.0)
    assert ratio.interval == pytest.approx((3.0, 3.0))


def test_fewer_than_five_blocks_have_no_interval() -> None:
    assert MIN_BLOCKS == 5
    for blocks in (1, 2, 3, 4):
        ratio = ratio_of_blocks([[200]] * blocks, [[100]] * blocks)
        assert ratio is not None
        assert ratio.interval is None
    ratio = ratio_of_blocks([[200]] * 5, [[100]] * 5)
    assert ratio is not None
    assert ratio.interval is not None


def test_without_a_common_block_there_is_no_ratio() -> None:
    assert ratio_of_blocks([], []) is None
    assert ratio_of_blocks([[1]], []) is None
    assert ratio_of_blocks([[], [1]], [[1], []]) is None


def test_only_blocks_that_both_have_count() -> None:
    both = ratio_of_blocks([[200], [999], []], [[100], [], [7]])
    assert both is not None
    assert both.value == pytest.approx(2.0)
    longer = ratio_of_blocks([[200], [400]], [[100]])
    assert longer is not None
    assert longer.value == pytest.approx(2.0)


def test_a_clock_too_coarse_to_see_a_step_is_no_error() -> None:
    """A worker may report 0 ns; it counts as 1 ns."""
    faster = ratio_of_blocks([[1000]] * 5, [[0]] * 5)
    slower = ratio_of_blocks([[0]] * 5, [[1000]] * 5)
    assert faster is not None
    assert slower is not None
    assert faster.value == pytest.approx(1000)
    assert slower.value == pytest.approx(1 / 1000)


def coverage(blocks: int, runs: int = 400, truth: float = 2.0) -> float:
    """How often the interval holds the true ratio when every block has a mood of its own."""
    rng = np.random.default_rng(20_240)
    held = 0
    for run in range(runs):
        baseline, other = np.exp(rng.normal(0, 0.05, (2, blocks))) * [[truth * 1e6], [1e6]]
        ratio = ratio_of_blocks(baseline[:, None].tolist(), other[:, None].tolist(), seed=run)
        assert ratio is not None
        assert ratio.interval is not None
        held += ratio.interval[0] <= truth <= ratio.interval[1]
    return held / runs


@pytest.mark.exhaustive
@pytest.mark.parametrize("blocks", [8, 10, 40])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(blocks: int) -> None:
    """A default run has 10 or 40 blocks. 95 % of 400 runs, three standard errors on each side."""
    assert coverage(blocks) == pytest.approx(0.95, abs=0.033)


def test_noise_in_common_is_not_a_difference() -> None:
    """Blocks pair: a machine that gets three times slower is slower for both."""
    mood = np.linspace(1, 3, 20)
    ratio = ratio_of_blocks([[round(1e6 * m)] for m in mood], [[round(1e6 * m)] for m in mood])
    assert ratio is not None
    assert ratio.interval == pytest.approx((1.0, 1.0))


@given(BLOCKS)
def test_swapping_baseline_and_other_inverts(blocks: list[tuple[list[int], list[int]]]) -> None:
    first, second = zip(*blocks, strict=True)
    there, back = ratio_of_blocks(first, second), ratio_of_blocks(second, first)
    assert there is not None
    assert back is not None
    assert there.value == pytest.approx(1 / back.value)
    if there.interval and back.interval:
        assert there.interval == pytest.approx((1 / back.interval[1], 1 / back.interval[0]))


@given(BLOCKS, st.integers(2, 1000))
def test_the_unit_of_time_does_not_matter(
    blocks: list[tuple[list[int], list[int]]], scale: int
) -> None:
    first, second = zip(*blocks, strict=True)
    plain = ratio_of_blocks(first, second)
    scaled = ratio_of_blocks(
        [[t * scale for t in times] for times in first],
        [[t * scale for t in times] for times in second],
    )
    assert plain is not None
    assert scaled is not None
    assert scaled.value == pytest.approx(plain.value)
    assert scaled.interval == pytest.approx(plain.interval)


@given(BLOCKS)
def test_value_and_interval_lie_among_the_blocks_ratios(
    blocks: list[tuple[list[int], list[int]]],
) -> None:
    first, second = zip(*blocks, strict=True)
    ratio = ratio_of_blocks(first, second)
    assert ratio is not None
    each = [math.log(np.median(b) / np.median(o)) for b, o in blocks]
    low, high = ratio.interval or (ratio.value, ratio.value)
    slack = 1 + 1e-9
    assert math.exp(min(each)) <= min(low, ratio.value) * slack
    assert max(high, ratio.value) <= math.exp(max(each)) * slack
    assert ratio_of_blocks(first, second) == ratio, "seeded"


def test_repeats_that_agree_have_the_interval_of_their_blocks() -> None:
    """Three fresh processes, each twice as fast in each of three blocks."""
    ratio = ratio_of_blocks([[200]] * 9, [[100]] * 9, repeats=[1, 1, 1, 2, 2, 2, 3, 3, 3])
    assert ratio is not None
    assert ratio.interval == pytest.approx((2.0, 2.0))


def test_what_differs_from_process_to_process_widens_the_interval() -> None:
    """In one process of three it is twice as fast, in each of its many blocks alike."""
    times = [[100]] * 20 + [[50]] * 20 + [[100]] * 20
    numbers = [1] * 20 + [2] * 20 + [3] * 20
    together = ratio_of_blocks([[100]] * 60, times)
    apart = ratio_of_blocks([[100]] * 60, times, repeats=numbers)
    assert together is not None and apart is not None
    assert together.value == apart.value == pytest.approx(1.0)
    assert together.interval == pytest.approx((1.0, 1.0))
    assert apart.interval == pytest.approx((1.0, 2.0))
