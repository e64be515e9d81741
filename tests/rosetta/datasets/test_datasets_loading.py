"""Finding files, the cache of parsed arrays, remembered digests, and what `status` tells."""

import json
import os
import time

import numpy as np
import pytest

from rosetta.datasets import (
    DataError,
    DataUnavailable,
    default_cache,
    directories_from,
    find,
    load,
    loading,
    status,
)
from rosetta.datasets.files import Digests
from rosetta.errors import UserError

TARBALL = "cifar-10-python.tar.gz"


@pytest.fixture
def folder(tmp_path, make_cifar):
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / TARBALL).write_bytes(make_cifar())
    return folder


@pytest.fixture
def read(folder, tasks, cache, said):
    def run(task="cnn", name="cifar10", **options):
        options = {"directories": [folder], "cache": cache, "report": said.append} | options
        return load(name, task=tasks[task], **options)

    return run


def test_an_unknown_name_is_answered_with_the_nearest(read):
    with pytest.raises(UserError, match="unknown data set 'cifar': did you mean cifar10"):
        read(name="cifar")
    with pytest.raises(UserError, match="there are cifar10, imdb, mnist, synthetic"):
        read(name="xyz")


def test_data_of_another_shape_than_the_tasks_are_refused(read):
    with pytest.raises(UserError, match=r"cifar10 .* doesn't fit the task 'mlp'.*: use mnist"):
        read(task="mlp")
    with pytest.raises(UserError, match=r"imdb .* doesn't fit the task 'cnn'"):
        read(task="cnn", name="imdb", directories=[], download=False)


# Directories


def test_a_directory_is_searched_itself_and_then_its_subdirectories(tmp_path, make_cifar):
    for name in ("b", "a", "a/deeper"):
        (tmp_path / name).mkdir()
    assert find("cifar10", [tmp_path]) is None
    for name in ("a/deeper", "b", "a", "."):
        (tmp_path / name / TARBALL).write_bytes(make_cifar())
        found = find("cifar10", [tmp_path])
        expected = None if name == "a/deeper" else tmp_path / name / TARBALL
        assert (found and found.path) == expected


def test_the_order_of_the_directories_counts(tmp_path, folder, make_cifar):
    other = tmp_path / "other"
    other.mkdir()
    (other / TARBALL).write_bytes(make_cifar())
    assert find("cifar10", [other, folder]).path.parent == other
    assert find("cifar10", [folder, other]).path.parent == folder
    assert find("synthetic", [folder]) is None


def test_missing_files_are_named_with_all_places(tmp_path, read):
    (tmp_path / "empty" / "sub").mkdir(parents=True)
    with pytest.raises(DataUnavailable) as caught:
        read(directories=[tmp_path / "empty"])
    message = str(caught.value)
    assert f"{TARBALL} missing" in message
    assert f"looked in {tmp_path / 'empty'}, {tmp_path / 'empty' / 'sub'}" in message


def test_nothing_is_downloaded_unless_allowed(read, cache):
    with pytest.raises(DataUnavailable, match="may not be downloaded"):
        read(directories=[], download=False)
    assert not cache.exists()


def test_directories_come_from_the_option_or_the_environment(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    environment = {"ROSETTA_DATA": f"{one}{os.pathsep}{two}{os.pathsep}"}
    assert directories_from(None, environment) == [one, two]
    assert directories_from([str(two)], environment) == [two]
    assert directories_from(None, {}) == []
    with pytest.raises(UserError, match=r"nowhere, named in ROSETTA_DATA, is no directory"):
        directories_from(None, {"ROSETTA_DATA": str(tmp_path / "nowhere")})
    with pytest.raises(UserError, match=r"nowhere, given, is no directory"):
        directories_from([str(tmp_path / "nowhere")], environment)


def test_an_unreadable_file_is_one_sentence(folder, read, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", str(folder / TARBALL))

    monkeypatch.setattr("rosetta.datasets.files._digest", refuse)
    with pytest.raises(DataError, match=rf"{TARBALL} can't be read: Permission denied"):
        read()


# The cache


@pytest.fixture
def readings(monkeypatch):
    """Counts how often the source is parsed."""
    calls = []
    original = loading._read
    monkeypatch.setattr(loading, "_read", lambda *args: calls.append(args) or original(*args))
    return calls


def test_the_second_time_comes_from_the_cache(read, readings, cache):
    first, second = read(), read()
    assert len(readings) == 1
    assert first.source == second.source
    for one, two in ((first.train, second.train), (first.test, second.test)):
        np.testing.assert_array_equal(one.inputs, two.inputs)
        np.testing.assert_array_equal(one.labels, two.labels)
        assert not one.inputs.flags.writeable
        assert not two.inputs.flags.writeable
    (entry,) = (cache / "parsed").iterdir()
    assert entry.name.startswith("cifar10-")
    assert len(entry.name) == len("cifar10-") + 16


def test_another_file_under_the_same_name_is_read_anew(read, readings, folder, make_cifar):
    before = read()
    (folder / TARBALL).write_bytes(make_cifar(images=7))
    after = read()
    assert len(readings) == 2
    assert (len(before.train), len(after.train)) == (12, 14)


def damage_byte(entry):
    path = entry / "train_inputs.npy"
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)


def damage_header(entry):
    path = entry / "test_labels.npy"
    path.write_bytes(b"x" * path.stat().st_size)


def swap_for_a_pickle(entry):
    path = entry / "test_labels.npy"
    array = np.array([{}], object)
    np.save(path, array, allow_pickle=True)
    meta = json.loads((entry / "meta.json").read_text())
    meta["arrays"]["test_labels"]["size_bytes"] = path.stat().st_size
    (entry / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize(
    "damage",
    [
        damage_byte,
        damage_header,
        swap_for_a_pickle,
        lambda entry: (entry / "test_inputs.npy").unlink(),
        lambda entry: (entry / "meta.json").unlink(),
        lambda entry: (entry / "meta.json").write_text("{"),
        lambda entry: (entry / "meta.json").write_text("[]"),
        lambda entry: (entry / "meta.json").write_text('{"arrays": {}}'),
        lambda entry: (entry / "train_labels.npy").write_bytes(b""),
    ],
)
def test_a_damaged_entry_is_made_again(read, readings, cache, said, damage):
    good = read()
    (entry,) = (cache / "parsed").iterdir()
    damage(entry)
    again = read()
    assert len(readings) == 2
    assert any("are damaged" in sentence for sentence in said)
    np.testing.assert_array_equal(again.train.inputs, good.train.inputs)
    np.testing.assert_array_equal(again.test.labels, good.test.labels)
    read()
    assert len(readings) == 2


def test_a_cache_that_cannot_be_written_costs_a_warning_only(read, tmp_path, said):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the cache should be")
    assert len(read(cache=blocked).train) == 12
    assert any("can't be written" in sentence for sentence in said)


def test_a_full_disk_leaves_nothing_behind(read, cache, said, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.save", full)
    assert len(read().train) == 12
    assert any("No space left on device" in sentence for sentence in said)
    assert not list((cache / "parsed").iterdir())


def test_the_cache_is_chosen_by_the_environment(tmp_path, read):
    assert default_cache({"ROSETTA_CACHE": str(tmp_path)}) == tmp_path / "data"
    assert default_cache({}).parts[-2:] == ("rosetta", "data")
    read(cache=None)
    assert list((tmp_path / "default-cache" / "data" / "parsed").iterdir())


# Digests


def test_a_digest_is_remembered_until_the_file_changes(tmp_path, monkeypatch):
    taken = []
    original = Digests.of.__globals__["_digest"]
    monkeypatch.setattr(
        "rosetta.datasets.files._digest", lambda *args: taken.append(args) or original(*args)
    )
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    digests = Digests(tmp_path / "memory")
    first = digests.of(path)
    assert first == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digests.of(path) == Digests(tmp_path / "memory").of(path) == first
    assert len(taken) == 1
    assert digests.of(path, "md5") == "900150983cd24fb0d6963f7d28e17f72"
    path.write_bytes(b"abd")
    os.utime(path, ns=(time.time_ns(), time.time_ns() + 1))
    assert digests.of(path) != first
    for entry in (tmp_path / "memory").iterdir():
        entry.write_text("[")
    assert len(digests.of(path)) == 64


# Status


def test_status_tells_what_is_where(read, folder, cache):
    states = {state.name: state for state in status([folder], cache)}
    assert list(states) == ["cifar10", "imdb", "mnist", "synthetic"]
    assert (states["synthetic"].place, states["mnist"].place) == ("made", "missing")
    assert states["imdb"].missing == ("imdb.npz",)
    assert len(states["mnist"].missing) == 4
    cifar10 = states["cifar10"]
    assert (cifar10.place, cifar10.path, cifar10.cached) == ("directory", folder / TARBALL, False)
    (file,) = cifar10.files
    assert (file.name, file.digest) == (TARBALL, "differs")
    assert file.detail.startswith("sha256 expected 6d958be")
    assert cifar10.size_bytes == (folder / TARBALL).stat().st_size
    read()
    assert status([folder], cache)[0].cached


def test_a_text_tree_without_reviews_is_no_text_tree(tmp_path):
    for part in ("train", "test"):
        for label in ("pos", "neg"):
            (tmp_path / "aclImdb" / part / label).mkdir(parents=True)
    assert find("imdb", [tmp_path]) is None
    os.mkfifo(tmp_path / "aclImdb" / "train" / "pos" / "1_9.txt")
    assert find("imdb", [tmp_path]) is None, "a pipe is no review, and reading it would never end"


def test_a_pipe_among_the_batches_is_left_out(tmp_path):
    batches = tmp_path / "cifar-10-batches-py"
    batches.mkdir()
    for name in ("test_batch", "data_batch_1"):
        (batches / name).write_bytes(b"")
    os.mkfifo(batches / "data_batch_2")
    found = find("cifar10", [tmp_path])
    assert found is not None
    assert list(found.files) == ["data_batch_1", "test_batch"]
