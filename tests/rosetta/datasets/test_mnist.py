"""MNIST: the four IDX files, gzipped or not."""

import gzip
import shutil
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosetta.datasets import DataError, load, mnist
from rosetta.datasets.archives import DAMAGE

IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


@pytest.fixture
def read(mnist_folder, tasks, cache):
    return lambda: load(
        "mnist", task=tasks["mlp"], directories=[mnist_folder], cache=cache, report=str
    )


def test_the_images_are_flattened_row_by_row(read):
    dataset = read()
    assert dataset.train.inputs.shape == (20, 784)
    assert dataset.train.inputs.dtype == np.uint8
    assert dataset.train.inputs[:, 0].tolist() == list(range(20))
    assert dataset.test.labels.tolist() == list(range(10))
    assert dataset.test.labels.dtype == np.int32
    assert dataset.label == "mnist (20 images)"
    assert len(dataset.source.warnings) == len(dataset.source.sha256) == 4


def test_unpacked_files_are_read_too(read, mnist_folder):
    before = read()
    for path in mnist_folder.glob("*.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    after = read()
    np.testing.assert_array_equal(after.train.inputs, before.train.inputs)
    assert IMAGES in after.source.sha256


def test_a_missing_file_is_named_and_where_it_was_looked_for(read, mnist_folder):
    (mnist_folder / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(DataError) as caught:
        read()
    message = str(caught.value)
    assert "train-images-idx3-ubyte.gz missing" in message
    assert "train-labels" not in message
    assert str(mnist_folder) in message


def test_the_real_directory_lacks_the_training_images(given, tasks, cache):
    with pytest.raises(DataError) as caught:
        load("mnist", task=tasks["mlp"], directories=[given], cache=cache)
    message = str(caught.value)
    assert f"train-images-idx3-ubyte.gz missing in {given / 'mnist'} (looked in {given}," in message
    assert "t10k" not in message


def test_the_real_files_are_the_published_ones(given, read, mnist_folder):
    for path in (given / "mnist").glob("t10k-*.gz"):
        shutil.copyfile(path, mnist_folder / path.name)
    dataset = read()
    assert dataset.test.inputs.shape == (10_000, 784)
    assert dataset.test.labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert all("t10k" not in warning for warning in dataset.source.warnings)
    assert len(dataset.source.warnings) == 2


def header(magic, *shape):
    return struct.pack(f">{1 + len(shape)}I", magic, *shape)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (IMAGES, b"", "cut off"),
        (IMAGES, header(0x803, 10, 28), "cut off"),
        (IMAGES, header(0x801, 10, 28, 28) + bytes(7840), "begins with 0x00000801"),
        (IMAGES, header(0x1803, 10, 28, 28) + bytes(7840), "begins with 0x00001803"),
        (IMAGES, header(0x803, 10, 28, 28) + bytes(7839), "fewer bytes"),
        (IMAGES, header(0x803, 10, 28, 28) + bytes(7841), "more bytes"),
        (IMAGES, header(0x803, 2**32 - 1, 2**32 - 1, 2**32 - 1), "claims the shape"),
        (IMAGES, header(0x803, 10, 28, 29) + bytes(8120), "have the shape"),
        (IMAGES, header(0x803, 9, 28, 28) + bytes(7056), "9 images"),
        (LABELS, header(0x801, 10) + bytes([10] * 10), "is 10, not from 0 to 9"),
        (LABELS, header(0x803, 10) + bytes(10), "begins with"),
        (LABELS, header(0x801, 11) + bytes(10), "fewer bytes"),
    ],
)
def test_wrong_idx_files_are_named(read, mnist_folder, name, content, reason):
    (mnist_folder / f"{name}.gz").write_bytes(gzip.compress(content))
    with pytest.raises(DataError, match=reason) as caught:
        read()
    assert f"{name}.gz: sha256 expected" in str(caught.value)


def test_every_truncation_of_a_gzip_file_is_noticed(read, mnist_folder):
    path = mnist_folder / f"{LABELS}.gz"
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match="damaged"):
            read()


ANY_CASE = settings(
    max_examples=150, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ANY_CASE
@given(
    head=st.sampled_from([b"", header(0x801), header(0x803), header(0x803, 1, 2)]),
    content=st.binary(max_size=200),
    zipped=st.booleans(),
    axes=st.sampled_from([1, 3]),
)
def test_arbitrary_bytes_are_an_array_or_an_error(tmp_path, head, content, zipped, axes):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(head + content) if zipped else head + content)
    with suppress(*DAMAGE):
        assert mnist.idx(path, axes).ndim == axes


@ANY_CASE
@given(shape=st.lists(st.integers(0, 6), min_size=3, max_size=3), zipped=st.booleans())
def test_every_shape_comes_back(tmp_path, make_idx, shape, zipped):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(make_idx(array)) if zipped else make_idx(array))
    np.testing.assert_array_equal(mnist.idx(path, 3), array)
