"""The figures of every part, from canned nanoseconds."""

from __future__ import annotations

import numpy as np
import pytest

from rosetta.harness import ceiling, memory, overhead, round_trip
from rosetta.harness.extent import Series
from rosetta.harness.memory import MemoryUnknownError

MS = 1_000_000


def test_overhead_is_the_plain_time_over_the_time_seen_from_outside():
    times = {"driven": [100 * MS] * 6, "plain": [90 * MS] * 6}
    found = overhead.result(times, [95 * MS] * 6, 0.0, Series(6, 10), batch_size=64)
    assert found.ratio == pytest.approx(0.9)
    assert found.interval == pytest.approx([0.9, 0.9])
    assert found.own_clock_ratio == pytest.approx(90 / 95)
    assert found.driven_samples_per_s == pytest.approx(6400)
    assert found.plain_samples_per_s == pytest.approx(640 / 0.09)
    assert (found.blocks, found.steps_per_block) == (6, 10)


def test_losses_are_compared_while_rounding_cannot_matter_yet():
    ours = [1.0, 2.0, 4.0] + [1.0] * 7 + [9.0]
    theirs = [1.0, 2.0, 4.4] + [1.0] * 7 + [1.0]
    assert overhead.loss_difference(ours, theirs) == pytest.approx(0.4 / 4.4)
    assert overhead.loss_difference(ours, ours) == 0
    assert overhead.loss_difference([], theirs) == np.inf


def test_ceiling_counts_copies_and_compares_each_plane_with_each_peer():
    times = {
        "inline_tcp": [40 * MS] * 5,
        "inline_ipc": [20 * MS] * 5,
        "shm": [10 * MS] * 5,
        "pyzmq_ipc": [30 * MS] * 5,
        "pyzmq_ipc_answered": [40 * MS] * 5,
        "memcpy": [2 * MS] * 5,
    }
    found = ceiling.result(times, count=50)
    assert set(found) == {"inline_tcp", "inline_ipc", "shm"}
    assert found["shm"].batches_per_s == pytest.approx(5_000)
    assert {plane: leaf.copies for plane, leaf in found.items()} == pytest.approx(
        {"inline_tcp": 20, "inline_ipc": 10, "shm": 5}
    )
    assert {n: p.answered for n, p in found["shm"].peers.items()} == {
        "pyzmq_ipc": False,
        "pyzmq_ipc_answered": True,
    }
    peer = found["shm"].peers["pyzmq_ipc"]
    assert (peer.ratio, peer.batches_per_s) == pytest.approx((3, 50 / 0.03))
    assert found["inline_tcp"].peers["pyzmq_ipc"].ratio == pytest.approx(0.75)


def test_the_batches_have_the_sizes_that_are_reported():
    sizes = [ceiling.batches_of(size)[1][0][0].nbytes for size in ceiling.SIZES]
    assert sizes == [38_400, 196_608, 786_432]


def test_the_batches_are_valid_and_differ():
    for size in ceiling.SIZES:
        task, batches = ceiling.batches_of(size)
        assert task.training.batch_size == size.samples
        for inputs, labels in batches:
            assert inputs.shape == (size.samples, *task.input.shape)
            assert labels.shape == (size.samples,) and labels.max() < task.classes
        assert not (batches[0][0] == batches[1][0]).all()


def test_round_trip_is_our_time_over_the_raw_one():
    found = round_trip.result([30 * MS] * 6, [20 * MS] * 6, trips=100)
    assert found.ratio == pytest.approx(1.5)
    assert (found.round_trip_ns, found.raw_ns) == (300_000, 200_000)


@pytest.mark.parametrize(
    ("samples", "growth"),
    [
        ([(0, 10), (40, 90), (50, 100), (500, 130), (999, 120)], 30),  # the beginning is not growth
        ([(50, 100), (999, 90)], 0),  # given back
        ([(50, 100), (999, 101), (1000, 500)], 1),  # the summary is no step
    ],
)
def test_memory_growth_is_the_largest_one_while_steps_are_done(samples, growth):
    assert memory.growth(samples, 1000) == growth


@pytest.mark.parametrize("samples", [[], [(0, 1), (500, 2)], [(1000, 5), (1000, 6)]])
def test_a_run_that_was_over_too_soon_has_no_growth(samples):
    with pytest.raises(MemoryUnknownError, match="too few steps"):
        memory.growth(samples, 1000)
