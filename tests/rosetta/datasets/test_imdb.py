"""IMDB: Keras's numbering from its npz and from the texts, and damaged files."""

import io
import json
import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosetta.datasets import DataError, imdb, imdb_text, load
from rosetta.datasets.archives import DAMAGE
from rosetta.datasets.files import Found


def task_of(vocabulary, length):
    form = {"dtype": "int32", "shape": [length], "vocabulary": vocabulary}
    return {"name": "gru", "data": "imdb", "classes": 2, "input": form}


TASK = task_of(10, 5)


@pytest.fixture
def read(tmp_path, cache):
    """Loads IMDB from a file with the given bytes."""

    def run(content, task=TASK, name="imdb.npz"):
        (tmp_path / name).write_bytes(content)
        return load("imdb", task=task, directories=[tmp_path], cache=cache, report=str)

    return run


def keras(reviews, vocabulary, length):
    """What Keras documents: load_data(num_words=…), then pad_sequences(maxlen=…)."""
    shifted = [[1] + [word + 3 for word in review] for review in reviews]
    known = [[word if word < vocabulary else 2 for word in review] for review in shifted]
    return [[0] * (length - len(review)) + review[-length:] for review in known]


@given(
    reviews=st.lists(st.lists(st.integers(1, 60)), min_size=1, max_size=8),
    vocabulary=st.integers(4, 50),
    length=st.integers(1, 12),
)
def test_the_numbers_are_those_of_keras(reviews, vocabulary, length):
    tokens = imdb.encode(reviews, vocabulary, length)
    assert tokens.dtype == np.int32
    assert tokens.tolist() == keras(reviews, vocabulary, length)


def test_padding_start_and_unknown_words(read, make_imdb):
    dataset = read(make_imdb([[1, 2], [5, 6, 7, 8, 9, 1], [3, 3, 3, 3]], [[6]]))
    assert dataset.train.inputs.tolist() == [[0, 0, 1, 4, 5], [9, 2, 2, 2, 4], [1, 6, 6, 6, 6]]
    assert dataset.train.labels.tolist() == [1, 0, 1]
    assert dataset.test.inputs.tolist() == [[0, 0, 0, 1, 9]]
    assert dataset.label == "imdb (3 reviews)"


def test_another_vocabulary_or_length_is_another_cache_entry(read, make_imdb, cache):
    content = make_imdb([[1, 2, 7]], [[6]])
    assert read(content, task_of(10, 4)).train.inputs.tolist() == [[1, 4, 5, 2]]
    assert read(content, task_of(11, 4)).train.inputs.tolist() == [[1, 4, 5, 10]]
    assert read(content, task_of(11, 2)).train.inputs.tolist() == [[5, 10]]
    assert len(list((cache / "parsed").iterdir())) == 3


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_files_written_by_any_numpy_are_read(read, make_imdb, protocol):
    assert read(make_imdb([[1, 300, 70_000]], [[-0]], protocol=protocol)).train.inputs[0, -1] == 2


def test_the_real_file_equals_keras(small, tasks, cache):
    dataset = load("imdb", task=tasks["gru"], directories=[small], cache=cache)
    assert dataset.label == "imdb (2,000 reviews)"
    assert dataset.train.inputs.shape == (2000, 150)
    with np.load(small / "imdb.npz", allow_pickle=True) as reference:  # a file that is trusted
        expected = keras(reference["x_train"], 30_000, 150)
        labels = reference["y_train"]
    np.testing.assert_array_equal(dataset.train.inputs, expected)
    np.testing.assert_array_equal(dataset.train.labels, labels)


def test_the_whole_file(given, tasks, cache):
    dataset = load("imdb", task=tasks["gru"], directories=[given], cache=cache)
    assert (dataset.label, dataset.test.inputs.shape) == ("imdb", (25_000, 150))
    assert np.bincount(dataset.train.labels).tolist() == [12_500, 12_500]
    assert dataset.train.inputs.max() == 29_999
    words = json.loads((given / "imdb_word_index.json").read_text())
    assert words["the"] == 1
    assert (dataset.train.inputs == 1 + 3).sum() > 100_000  # "the" in 3.7 million words


@pytest.mark.parametrize(
    ("replaced", "reason"),
    [
        ({"x_train": None}, "no x_train.npy"),
        ({"y_test": None}, "no y_test.npy"),
        ({"x_train": b""}, "EOF|magic|expected"),
        ({"y_train": b"\x93NUMPY\x01\x00\xff\xff{"}, "EOF"),
    ],
)
def test_missing_or_empty_members_are_named(read, make_imdb_with, replaced, reason):
    with pytest.raises(DataError, match=reason):
        read(make_imdb_with(**replaced))


def labels(values):
    stream = io.BytesIO()
    np.save(stream, np.array(values))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([0, 2], "neither 0 nor 1"),
        ([0, -1], "neither 0 nor 1"),
        ([0.0, 1.0], "vector of integers"),
        ([[0, 1]], "vector of integers"),
        ([0], "2 reviews and 1 labels"),
    ],
)
def test_wrong_labels_are_named(read, make_imdb_with, values, reason):
    with pytest.raises(DataError, match=reason):
        read(make_imdb_with(y_train=labels(values)))


@pytest.mark.parametrize(
    "value", [[[1], ["2"]], [[1], [2.5]], [[1], None], [[1], [True]], [[-9], []]]
)
def test_reviews_that_are_no_lists_of_ranks_are_refused(read, make_imdb, value):
    with pytest.raises(DataError, match="word rank"):
        read(make_imdb(value, [[1]]))


def test_an_array_of_other_length_than_the_header_says(read, make_imdb_with, make_npy):
    array = np.empty(1, object)
    array[0] = [1]
    for shape in (b"(2,)", b"(1, 1)", b"()"):
        header = b"{'descr': '|O', 'fortran_order': False, 'shape': " + shape + b", }\n"
        with pytest.raises(DataError, match="x_train"):
            read(make_imdb_with(x_train=make_npy(header, pickle.dumps(array, 2))))


def test_a_member_that_claims_to_be_huge_is_refused(read, make_imdb_with, monkeypatch):
    monkeypatch.setattr(imdb, "_MEMBER_BYTES", 100)
    with pytest.raises(DataError, match="bytes"):
        read(make_imdb_with())


def test_truncations_and_changed_bytes_are_errors(read, make_imdb):
    content = make_imdb([[1, 2]] * 30, [[3]] * 30)
    for size in range(0, len(content), 41):
        with pytest.raises(DataError, match="expected 69664113be"):
            read(content[:size])
    start = content.index(b"x_train.npy") + 11
    for position in range(start, start + 150, 7):
        changed = bytearray(content)
        changed[position] ^= 0xFF
        with pytest.raises(DataError, match=r"imdb\.npz is damaged"):
            read(bytes(changed))


ANY_CASE = settings(
    max_examples=60, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ANY_CASE
@given(
    content=st.binary(max_size=500),
    header=st.binary(max_size=80)
    | st.text("{}()[]'descrO|,: 0123456789-*", max_size=80).map(str.encode),
)
def test_arbitrary_members_are_only_ever_an_error(
    tmp_path, make_imdb_with, make_npy, content, header
):
    path = tmp_path / "imdb.npz"
    for member in (content, make_npy(header, content)):
        path.write_bytes(make_imdb_with(x_train=member, y_train=member))
        with suppress(*DAMAGE):
            imdb.read(Found("npz", path, {"imdb.npz": path}), TASK)


@ANY_CASE
@given(content=st.binary(max_size=500), cut=st.integers(0, 400), position=st.integers(0, 10_000))
def test_arbitrary_zips_are_only_ever_an_error(tmp_path, make_imdb, content, cut, position):
    path = tmp_path / "imdb.npz"
    good = bytearray(make_imdb([[1]], [[2]]))
    good[position % len(good)] ^= 0x41
    for data in (content, bytes(good), bytes(good)[cut:]):
        path.write_bytes(data)
        with suppress(*DAMAGE):
            imdb.read(Found("npz", path, {"imdb.npz": path}), TASK)


# The texts


def test_words_are_split_as_keras_does():
    text = "I'm NOT-so sure...<br /><br />It's (really) *good*; don't\tmiss\nit — ever!"
    expected = "i'm not so sure it's really good don't miss it — ever"
    assert imdb_text.words(text) == expected.split()


TEXTS = {
    "aclImdb/README": b"not a review",
    "aclImdb/train/unsup/0_0.txt": b"unsup unsup unsup unsup unsup",
    "aclImdb/train/neg/1_2.txt": b"bad bad film",
    "aclImdb/train/pos/2_9.txt": b"a good film, a good one",
    "aclImdb/train/pos/10_9.txt": b"film",
    "aclImdb/test/neg/0_1.txt": b"worse film",
    "aclImdb/test/pos/0_9.txt": b"good",
}


def test_the_text_tree_is_ranked_by_the_training_reviews(read, make_tar):
    # film 3; a, bad, good 2; one 1: ties in alphabetical order. "worse" is in no training review.
    dataset = read(make_tar(TEXTS), task_of(100, 7), "aclImdb_v1.tar.gz")
    film, a, bad, good, one = range(4, 9)
    assert dataset.train.inputs.tolist() == [
        [0, 0, 0, 0, 0, 1, film],
        [1, a, good, film, a, good, one],
        [0, 0, 0, 1, bad, bad, film],
    ]
    assert dataset.train.labels.tolist() == [1, 1, 0]
    assert dataset.test.inputs.tolist() == [[0] * 5 + [1, good], [0] * 4 + [1, 2, film]]
    assert dataset.label == "imdb (text tree, 3 reviews)"


def test_the_unpacked_tree_gives_the_same(read, make_tar, tmp_path, cache):
    tar = read(make_tar(TEXTS), task_of(100, 7), "aclImdb_v1.tar.gz")
    root = tmp_path / "unpacked"
    for name, content in TEXTS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for directory in (root, root / "aclImdb"):
        tree = load("imdb", task=task_of(100, 7), directories=[directory], cache=cache)
        np.testing.assert_array_equal(tree.train.inputs, tar.train.inputs)
        assert list(tree.source.sha256) == ["aclImdb/"]
        assert tree.label == tar.label
    (root / "aclImdb/train/neg/1_2.txt").write_bytes(b"good")
    again = load("imdb", task=task_of(100, 7), directories=[root], cache=cache)
    assert again.source.sha256 != tree.source.sha256


def test_a_tree_with_one_kind_of_review_is_refused(read, make_tar):
    texts = {name: content for name, content in TEXTS.items() if "test/neg" not in name}
    with pytest.raises(DataError, match="no test reviews of both kinds"):
        read(make_tar(texts), task_of(100, 7), "aclImdb_v1.tar.gz")


def test_a_truncated_text_tarball_is_refused(read, make_tar):
    content = make_tar(TEXTS)
    for size in range(0, len(content), 29):
        with pytest.raises(DataError, match="expected c40f74a18d3b61f9"):
            read(content[:size], task_of(100, 7), "aclImdb_v1.tar.gz")


def test_the_real_texts(small, tmp_path, tasks, cache):
    (tmp_path / "aclImdb_v1.tar.gz").symlink_to(small / "aclImdb_v1.tar.gz")
    dataset = load("imdb", task=tasks["gru"], directories=[tmp_path], cache=cache)
    assert dataset.train.inputs.shape == (2000, 150)
    assert dataset.test.inputs.shape == (500, 150)
    assert np.bincount(dataset.train.labels).tolist() == [1000, 1000]
    assert dataset.train.inputs.max() < 30_000
