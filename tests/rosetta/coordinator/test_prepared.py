"""Messages that are encoded once for all workers, for each data plane."""

from __future__ import annotations

import numpy as np
import pytest

from rosetta.coordinator import Lease, SharedMemory, prepare_batch, prepare_predict
from rosetta.protocol import decode
from rosetta.protocol.messages import Batch, Predict

INPUTS = np.arange(2 * 784, dtype=np.int64).astype(np.uint8).reshape(2, 784)
LABELS = np.array([3, 1], np.int32)


@pytest.fixture
def shared():
    memory = SharedMemory.where_possible()
    if memory is None:
        pytest.skip("this system has no shared memory of the kind that is needed")
    yield memory
    memory.close()


def test_inline_everything_is_in_the_frames():
    prepared = prepare_batch(7, 3, INPUTS, LABELS, 0.5)
    for plane in ("inline", "shm"):
        message, arrays = decode(prepared.frames_on(plane), expected=[Batch])
        assert (message.id, message.step, message.learning_rate) == (7, 3, 0.5)
        assert [*arrays] == ["inputs", "labels"]
        np.testing.assert_array_equal(arrays["inputs"], INPUTS)
        np.testing.assert_array_equal(arrays["labels"], LABELS)


def test_what_lies_in_shared_memory_is_told_of_and_still_there_for_others(shared):
    """Who isn't on that plane gets the same batch with its arrays."""
    with Lease(shared) as lease:
        inputs, labels = lease.share(INPUTS), lease.share(LABELS)
        prepared = prepare_batch(7, 3, inputs, labels, shared=shared)
        (header,) = prepared.frames_on("shm")
        assert len(header) < 300
        message, arrays = decode(prepared.frames_on("inline"), expected=[Batch])
        assert [array.offset_bytes for array in message.arrays] == [None, None]
        np.testing.assert_array_equal(arrays["inputs"], INPUTS)
        assert prepared.frames_on("inline") is prepared.frames_on("inline"), "encoded once"


def test_an_array_that_found_no_room_there_travels_beside_one_that_did(shared):
    with Lease(shared) as lease:
        prepared = prepare_batch(7, 3, lease.share(INPUTS), LABELS, shared=shared)
        _, labels = prepared.frames_on("shm")
        assert bytes(labels) == LABELS.tobytes()


def test_the_inputs_of_a_prediction(shared):
    with Lease(shared) as lease:
        prepared = prepare_predict(9, lease.share(INPUTS), shared=shared)
        assert len(prepared.frames_on("shm")) == 1
        message, arrays = decode(prepared.frames_on("inline"), expected=[Predict])
        assert message.id == 9
        np.testing.assert_array_equal(arrays["inputs"], INPUTS)
