"""Synthetic data: deterministic, of every task's shape, and learnable but not wholly."""

import time

import numpy as np
import pytest

from rosetta.datasets import DataError, images, load


def make(task, seed=1):
    return load("synthetic", task=task, seed=seed)


@pytest.mark.parametrize("name", ["mlp", "cnn", "gru"])
def test_shape_and_dtype_are_the_tasks(tasks, name):
    task = tasks[name]
    dataset = make(task)
    for split, count in ((dataset.train, 10_000), (dataset.test, 2_000)):
        assert split.inputs.shape == (count, *task["input"]["shape"])
        assert split.inputs.dtype == task["input"]["dtype"]
        assert split.labels.dtype == np.int32
        assert set(split.labels) == set(range(task["classes"]))
    assert (dataset.label, dataset.source.kind, dataset.source.path) == ("synthetic",) * 2 + (None,)


def test_large_images_are_fewer_and_need_no_labels(tasks):
    dataset = make(tasks["resnet50"])
    assert dataset.train.inputs.shape == (111, 3, 224, 224)
    assert len(dataset.test) == 22
    assert not dataset.train.labels.any()


def test_images_that_come_as_floats_are_normalised(tasks):
    inputs = make(tasks["resnet50"]).train.inputs
    assert inputs.dtype == np.float32
    for channel, (mean, deviation) in enumerate(zip(images.MEAN, images.DEVIATION, strict=True)):
        pixels = (inputs[:, channel].astype(np.float64) * deviation + mean) * 255
        np.testing.assert_allclose(pixels, pixels.round(), atol=1e-4)
        assert 0 <= pixels.round().min() < pixels.round().max() <= 255


# The bytes must never change by themselves: a change here makes old results incomparable.
DIGESTS = {
    "mlp": "e3ee1642cc6e14e3b2d4f0c83c7dbd7c98d2ef422ff455a4c5ba1be2436056ca",
    "cnn": "c54d6a33830a2b9b69788ce2a327fb37f56a0e21add3f33b2ac7bbb04762fd46",
    "gru": "cf4e4d842d0207ceef60f1095f2d91858514b7b7376bf38b6d3d1b28bcca16c6",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_a_seed_always_gives_the_same_bytes(tasks, name):
    assert make(tasks[name]).source.sha256["train.inputs"] == DIGESTS[name]
    assert make(tasks[name], seed=2).source.sha256["train.inputs"] != DIGESTS[name]


def test_reviews_look_like_reviews(tasks):
    reviews = make(tasks["gru"]).train.inputs
    padding = (reviews == 0).sum(axis=1)
    assert reviews.min() == 0
    assert reviews.max() < 30_000
    assert 0.3 < (padding > 0).mean() < 0.7
    for row, zeros in zip(reviews[:200], padding, strict=False):
        assert not row[:zeros].any()  # all in front
        assert row[zeros] == 1 or zeros == 0
    assert 0.001 < (reviews == 2).mean() < 0.01


def accuracy_of_means(dataset, encode):
    """Of a nearest-mean classifier, on the test part."""
    train, test = encode(dataset.train.inputs), encode(dataset.test.inputs)
    labels = dataset.train.labels
    means = np.stack([train[labels == k].mean(axis=0) for k in range(dataset.classes)])
    distances = (means**2).sum(axis=1) - 2 * test @ means.T
    return (distances.argmin(axis=1) == dataset.test.labels).mean()


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_pixels_can_be_learned_but_not_wholly(tasks, name):
    accuracy = accuracy_of_means(
        make(tasks[name]), lambda pixels: pixels.reshape(len(pixels), -1).astype(np.float32)
    )
    assert 0.85 < accuracy < 0.98


def test_tokens_can_be_learned_but_not_wholly(tasks):
    def counts(reviews):
        table = np.zeros((len(reviews), 100), np.float32)
        for row, review in zip(table, reviews, strict=True):
            np.add.at(row, review[review < 100], 1)
        return table[:, 3:]

    assert 0.85 < accuracy_of_means(make(tasks["gru"]), counts) < 0.98


def test_it_is_made_in_a_moment(tasks):
    start = time.perf_counter()
    make(tasks["cnn"])
    assert time.perf_counter() - start < 2


def test_other_inputs_are_refused(tasks):
    task = tasks["gru"] | {"input": {"dtype": "float32", "shape": [3]}}
    with pytest.raises(DataError, match="uint8 pixels, int32 tokens, or"):
        make(task)
    with pytest.raises(DataError, match="vocabulary of 5 words"):
        make(tasks["gru"] | {"input": {"dtype": "int32", "shape": [3], "vocabulary": 5}})
