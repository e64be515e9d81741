"""CIFAR-10: the original tarball, and everything that can be wrong with it."""

import gzip
import io
import pickle
import shutil
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosetta.datasets import DataError, cifar10, load
from rosetta.datasets.archives import DAMAGE
from rosetta.datasets.files import Found

TARBALL = "cifar-10-python.tar.gz"


@pytest.fixture
def read(tmp_path, tasks, cache):
    """Loads CIFAR-10 from a tarball with the given bytes."""

    def run(content: bytes):
        folder = tmp_path / "given"
        folder.mkdir(exist_ok=True)
        (folder / TARBALL).write_bytes(content)
        return load("cifar10", task=tasks["cnn"], directories=[folder], cache=cache, report=str)

    return run


def test_batches_are_joined_in_the_order_of_their_numbers(read, make_cifar):
    dataset = read(make_cifar(images=4, batches=12))
    assert dataset.train.inputs.shape == (48, 3, 32, 32)
    assert dataset.train.inputs.dtype == np.uint8
    assert dataset.train.inputs[:, 1, 0, 0].tolist() == [k for k in range(1, 13) for _ in range(4)]
    assert dataset.train.inputs[:, 0, 0, 0].tolist() == [0, 1, 2, 3] * 12
    assert dataset.train.labels.dtype == np.int32
    assert dataset.test.labels.tolist() == [0, 5, 9]
    assert dataset.classes == 10


def test_the_label_tells_that_it_is_not_the_published_size(read, make_cifar):
    dataset = read(make_cifar(images=1000))
    assert (dataset.name, dataset.label) == ("cifar10", "cifar10 (2,000 images)")


def test_another_digest_is_accepted_with_a_warning(read, make_cifar):
    source = read(make_cifar()).source
    assert source.kind == "directory"
    assert source.path.endswith(TARBALL)
    (warning,) = source.warnings
    assert warning.startswith(f"{TARBALL} differs from the published file (sha256 expected 6d958be")
    assert source.sha256[TARBALL] in warning


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_copies_pickled_again_by_python_3_are_read(read, make_cifar, protocol):
    if protocol == 5:  # NumPy pickles a buffer there, with one more global
        with pytest.raises(DataError, match="_frombuffer"):
            read(make_cifar(protocol=protocol))
        return
    assert len(read(make_cifar(protocol=protocol)).train) == 12


def test_the_unpacked_folder_gives_the_same(read, make_cifar, make_members, tmp_path, tasks, cache):
    folder = tmp_path / "unpacked" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name, content in make_members().items():
        (folder / Path(name).name).write_bytes(content)
    tar = read(make_cifar())
    for directory in (folder, folder.parent):
        unpacked = load("cifar10", task=tasks["cnn"], directories=[directory], cache=cache)
        np.testing.assert_array_equal(unpacked.train.inputs, tar.train.inputs)
        assert set(unpacked.source.sha256) == {"data_batch_1", "data_batch_2", "test_batch"}
        assert "md5 expected c99cafc" in unpacked.source.warnings[0]


def test_the_real_file(small, tasks, cache):
    dataset = load("cifar10", task=tasks["cnn"], directories=[small], cache=cache)
    assert dataset.label == "cifar10 (2,000 images)"
    assert np.bincount(dataset.train.labels).tolist() == [200] * 10
    assert np.bincount(dataset.test.labels).tolist() == [50] * 10
    with tarfile.open(small / TARBALL) as tar:  # compared with Python's own unpickler
        member = tar.extractfile("cifar-10-batches-py/data_batch_3")
        batch = pickle.load(member, encoding="bytes")
    images = dataset.train.inputs[800:1200]
    np.testing.assert_array_equal(images.reshape(400, 3072), batch[b"data"])
    assert dataset.train.labels[800:1200].tolist() == batch[b"labels"]


def peak_of_loading(folder: Path, cache: Path) -> int:
    """The most memory, in bytes, that a process which loads CIFAR-10 from `folder` has held."""
    program = (
        "import re, sys, tomllib, pathlib; from rosetta.datasets import load;"
        "task = tomllib.loads(pathlib.Path(sys.argv[2]).read_text());"
        "load('cifar10', task=task, directories=[pathlib.Path(sys.argv[1])],"
        " cache=pathlib.Path(sys.argv[3]), report=str);"
        # not ru_maxrss, which a child inherits from the process that forked it
        "status = pathlib.Path('/proc/self/status').read_text();"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1])"
    )
    task = Path(__file__).parents[3] / "protocol" / "tasks" / "cnn.toml"
    command = [sys.executable, "-c", program, str(folder), str(task), str(cache)]
    return 1024 * int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_loading_takes_little_memory(small, cache):
    # 7.7 MB of pixels; Python, NumPy and requests are the rest
    assert peak_of_loading(small, cache) < 120e6


@pytest.fixture
def full_size(tmp_path, make_batch):
    """A folder with a tarball of the published size, of random pixels, and not compressed."""
    random = np.random.default_rng(0)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    path = tmp_path / TARBALL
    with tarfile.open(path, "w:gz", compresslevel=0) as tar:
        for name in names:
            pixels = np.frombuffer(random.bytes(10_000 * 3072), np.uint8).reshape(10_000, 3072)
            labels = random.integers(0, 10, 10_000).tolist()
            content = make_batch(pixels, labels, protocol=3)
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    yield tmp_path
    path.unlink()


def test_loading_all_of_it_takes_little_memory(full_size, cache):
    peak = peak_of_loading(full_size, cache)
    shutil.rmtree(cache)  # pytest would keep its 184 MB
    assert 184e6 < peak < 400e6  # 184 MB of pixels are there at the end


def test_every_truncation_is_an_error_that_names_file_and_digests(read, make_cifar):
    content = make_cifar()
    for size in [0, 1, 2, 9, 10, 11, 100, *range(200, len(content) - 1, 97), len(content) - 1]:
        with pytest.raises(DataError) as caught:
            read(content[:size])
        assert TARBALL in str(caught.value)
        assert "expected 6d958be074577803" in str(caught.value)
        assert "found " in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_changed_byte_is_noticed(read, make_cifar):
    content = bytearray(make_cifar())
    for position in range(20, len(content), 53):
        content[position] ^= 0x10
        with pytest.raises(DataError, match="damaged"):
            read(bytes(content))
        content[position] ^= 0x10


def test_a_tampered_checksum_is_noticed_though_all_members_are_whole(read, make_cifar):
    content = bytearray(make_cifar())
    content[-6] ^= 1
    with pytest.raises(DataError, match="CRC"):
        read(bytes(content))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m, b: m.pop("cifar-10-batches-py/test_batch"), "no test_batch"),
        (lambda m, b: m.pop("cifar-10-batches-py/data_batch_1"), "only data_batch_2"),
        (lambda m, b: m.update(test_batch=b(np.zeros((1, 3071), np.uint8), [0])), "3071 values"),
        (lambda m, b: m.update(test_batch=b(np.zeros((1, 3072), np.uint8), [10])), "from 0 to 9"),
        (lambda m, b: m.update(test_batch=b(np.zeros((1, 3072), np.uint8), [True])), "from 0 to 9"),
        (lambda m, b: m.update(test_batch=b(np.zeros((2, 3072), np.uint8), [1])), "other labels"),
        (lambda m, b: m.update(test_batch=b(np.zeros((1, 3072)), [1])), "table of bytes"),
        (lambda m, b: m.update(test_batch=b(np.zeros((0, 3072), np.uint8), [], 3)), "other labels"),
        (lambda m, b: m.update(test_batch=pickle.dumps([1, 2], 2)), "no dictionary"),
        (lambda m, b: m.update(test_batch=pickle.dumps({}, 2)), "table of bytes"),
    ],
)
def test_wrong_contents_are_named(read, make_members, make_tar, make_batch, change, reason):
    members = make_members()
    change(members, make_batch)
    with pytest.raises(DataError, match=reason):
        read(make_tar(members))


def test_an_oversized_member_is_refused_unread(read, make_members, make_tar, monkeypatch):
    monkeypatch.setattr(cifar10, "_MEMBER_BYTES", 10_000)
    with pytest.raises(DataError, match="bytes"):
        read(make_tar(make_members()))


def test_a_file_that_unpacks_to_too_much_is_refused(read, make_members, make_tar, monkeypatch):
    monkeypatch.setattr(cifar10, "_TOTAL_BYTES", 50_000)
    bomb = {"zeros": bytes(1_000_000)} | make_members()
    with pytest.raises(DataError, match="more than such a file can hold"):
        read(make_tar(bomb))


def test_links_and_paths_in_the_archive_do_nothing(read, make_members, tmp_path):
    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        link = tarfile.TarInfo("data_batch_1")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        for name, content in make_members().items():
            info = tarfile.TarInfo("../../" + name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    assert len(read(path.read_bytes()).train) == 12
    assert not list(tmp_path.glob("**/data_batch_1"))


def _read_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with suppress(*DAMAGE):
        cifar10.read(Found("tar", path, {TARBALL: path}), {})


ANY_CASE = settings(
    max_examples=60, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ANY_CASE
@given(content=st.binary(max_size=2000), zipped=st.booleans())
def test_arbitrary_bytes_are_only_ever_an_error(tmp_path, content, zipped):
    _read_bytes(tmp_path / TARBALL, gzip.compress(content) if zipped else content)


@ANY_CASE
@given(data=st.data())
def test_a_mutated_archive_is_a_result_or_an_error(tmp_path, make_members, make_tar, data):
    tar = bytearray(make_tar(make_members(images=1), mode="w"))
    for _ in range(data.draw(st.integers(1, 4))):
        block = 512 * data.draw(st.integers(0, len(tar) // 512 - 1))
        tar[block + data.draw(st.integers(0, 511))] = data.draw(st.integers(0, 255))
    _read_bytes(tmp_path / TARBALL, gzip.compress(bytes(tar), 1))
