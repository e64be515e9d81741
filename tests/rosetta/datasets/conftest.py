"""Makers of small files in the published formats, and the real small ones."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TASKS = Path(__file__).parents[3] / "protocol" / "tasks"


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads or writes the user's cache, or reaches a data host."""
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path / "default-cache"))
    monkeypatch.setenv("ROSETTA_DATA_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="session")
def tasks() -> dict[str, dict[str, Any]]:
    """Task name → content of its file."""
    return {name: _task(name) for name in ("mlp", "cnn", "gru", "resnet50")}


def _task(name: str) -> dict[str, Any]:
    return tomllib.loads((TASKS / f"{name}.toml").read_text())


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def given() -> Path:
    """The directory of real data."""
    directory = os.environ.get("ROSETTA_DATA")
    if not directory:
        pytest.skip("ROSETTA_DATA is not set")
    return Path(directory)


@pytest.fixture(scope="session")
def small(given: Path) -> Path:
    """The small real data sets."""
    return given / "small"


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What was reported: pass `said.append` as `report`."""
    yield []


def cifar_batch(pixels: np.ndarray, labels: list[int], protocol: int = 2) -> bytes:
    return pickle.dumps({b"data": pixels, b"labels": labels, b"filenames": []}, protocol)


def tarball(members: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def cifar_members(images: int = 6, batches: int = 2, **options: Any) -> dict[str, bytes]:
    """Batches whose pixels tell batch and image, in an order that isn't theirs."""
    members = {}
    for number in range(batches, 0, -1):
        pixels = np.full((images, 3072), number, np.uint8)
        pixels[:, 0] = np.arange(images)
        labels = [(number + image) % 10 for image in range(images)]
        members[f"cifar-10-batches-py/data_batch_{number}"] = cifar_batch(pixels, labels, **options)
    test = cifar_batch(np.full((3, 3072), 99, np.uint8), [0, 5, 9], **options)
    return {"cifar-10-batches-py/test_batch": test, **members}


@pytest.fixture(scope="session")
def make_cifar() -> Callable[..., bytes]:
    """The bytes of a small tarball in CIFAR-10's layout."""
    return lambda **options: tarball(cifar_members(**options))


@pytest.fixture(scope="session")
def make_members() -> Callable[..., dict[str, bytes]]:
    return cifar_members


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., bytes]:
    return cifar_batch


@pytest.fixture(scope="session")
def make_tar() -> Callable[..., bytes]:
    return tarball


def npy(header: bytes, data: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _objects(reviews: list[Any]) -> np.ndarray:
    array = np.empty(len(reviews), object)
    array[:] = reviews
    return array


def npz(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def imdb_members(train: list[Any], test: list[Any], protocol: int = 2) -> dict[str, bytes]:
    """The members of Keras's imdb.npz, with labels 1, 0, 1, …"""
    members = {}
    for part, reviews in (("train", train), ("test", test)):
        header = f"{{'descr': '|O', 'fortran_order': False, 'shape': ({len(reviews)},), }}\n"
        content = pickle.dumps(_objects(reviews), protocol)
        members[f"x_{part}.npy"] = npy(header.encode(), content)
        stream = io.BytesIO()
        np.save(stream, (np.arange(len(reviews)) + 1) % 2)
        members[f"y_{part}.npy"] = stream.getvalue()
    return members


@pytest.fixture(scope="session")
def make_imdb() -> Callable[..., bytes]:
    """The bytes of a small npz in the layout of Keras's imdb.npz."""
    return lambda train, test, **options: npz(imdb_members(train, test, **options))


@pytest.fixture(scope="session")
def make_imdb_with() -> Callable[..., bytes]:
    """A small imdb.npz of which some members are replaced; None leaves one out."""

    def make(**replaced: bytes | None) -> bytes:
        members: dict[str, Any] = imdb_members([[1, 2], [3]], [[4], [5, 6]])
        members |= {f"{name}.npy": content for name, content in replaced.items()}
        return npz({name: content for name, content in members.items() if content is not None})

    return make


@pytest.fixture(scope="session")
def make_npy() -> Callable[[bytes, bytes], bytes]:
    return npy


def idx(array: np.ndarray) -> bytes:
    header = struct.pack(f">{1 + array.ndim}I", 0x0800 + array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture(scope="session")
def make_idx() -> Callable[[np.ndarray], bytes]:
    return idx


@pytest.fixture
def mnist_folder(tmp_path: Path) -> Path:
    """A folder with a small MNIST: 20 + 10 digits, gzipped; pixel 0 tells the image."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, count in (("train", 20), ("t10k", 10)):
        images = np.zeros((count, 28, 28))
        images[:, 0, 0] = np.arange(count)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        labels = idx(np.arange(count) % 10)
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return folder
