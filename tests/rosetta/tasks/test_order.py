"""The order of the batches: the same for every worker, another in every epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta.errors import UserError
from rosetta.tasks import Order

SIZES = st.tuples(st.integers(1, 60), st.integers(1, 300)).map(lambda p: (p[0], p[0] + p[1]))


def epoch_of(order: Order, epoch: int) -> np.ndarray:
    steps = range(epoch * order.steps_per_epoch, (epoch + 1) * order.steps_per_epoch)
    return np.concatenate([order.rows(step) for step in steps])


@given(sizes=SIZES, seed=st.integers(0, 2**31 - 1), epoch=st.integers(0, 5))
def test_an_epoch_takes_no_sample_twice_and_leaves_out_only_the_remainder(
    sizes: tuple[int, int], seed: int, epoch: int
) -> None:
    batch_size, samples = sizes
    order = Order(samples, batch_size, seed)
    rows = epoch_of(order, epoch)
    assert len(rows) == len(set(rows.tolist())) == samples - samples % batch_size
    assert rows.min() >= 0
    assert rows.max() < samples


def test_without_a_remainder_an_epoch_is_a_permutation() -> None:
    assert sorted(epoch_of(Order(640, 64, 1), 0)) == list(range(640))


@given(st.lists(st.integers(0, 40), max_size=30))
def test_every_worker_sees_the_same_whatever_it_asked_before(steps: list[int]) -> None:
    straight = Order(100, 10, 7)
    expected = [straight.rows(step).tolist() for step in range(41)]
    jumping = Order(100, 10, 7)
    assert [jumping.rows(step).tolist() for step in steps] == [expected[step] for step in steps]


def test_each_epoch_has_an_order_of_its_own() -> None:
    order = Order(640, 64, 1)
    epochs = [epoch_of(order, epoch).tolist() for epoch in range(4)]
    assert all(epochs[i] != epochs[j] for i in range(4) for j in range(i))


def test_each_seed_has_an_order_of_its_own() -> None:
    """And epoch 1 of one seed isn't epoch 0 of the next."""
    orders = [epoch_of(Order(640, 64, seed), epoch).tolist() for seed in (1, 2) for epoch in (0, 1)]
    assert all(orders[i] != orders[j] for i in range(4) for j in range(i))


def test_the_order_is_shuffled() -> None:
    """A set sorted by label must give batches of all labels."""
    labels = np.repeat(np.arange(10), 100)
    first = labels[Order(1000, 64, 1).rows(0)]
    assert len(set(first.tolist())) == 10


def test_every_step_has_a_full_batch() -> None:
    order = Order(1000, 64, 1)
    assert order.steps_per_epoch == 15
    assert {len(order.rows(step)) for step in range(40)} == {64}


def test_a_batch_may_be_the_whole_set_but_not_more() -> None:
    assert Order(10, 10, 1).steps_per_epoch == 1
    with pytest.raises(
        UserError, match=r"batch size 11 .* \(10 samples\): choose one of at most 10"
    ):
        Order(10, 11, 1)
