"""The closed unpickler: arrays and containers come out, nothing else runs."""

import os
import pickle
import pickletools
import struct
import subprocess
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rosetta.datasets import DataError, load
from rosetta.datasets.model import DamagedError
from rosetta.datasets.pickles import ArrayValue, loads

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.binary(), inner)
    ),
    max_leaves=30,
)


@given(value=PLAIN, protocol=st.integers(2, 5))
def test_plain_containers_come_back(value, protocol):
    assert loads(pickle.dumps(value, protocol)) == value


@given(numbers=st.lists(st.integers(-(1 << 40), 1 << 40)), protocol=st.integers(2, 5))
def test_lists_of_integers_come_back(numbers, protocol):
    assert loads(pickle.dumps(numbers, protocol)) == numbers


@pytest.mark.parametrize("dtype", ["u1", "<i4", ">i8", "<f4", "b1", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_come_back(dtype, order, protocol):
    array = np.array([[0, 1, 2], [3, 4, 5]], dtype, order=order)
    value = loads(pickle.dumps(array, protocol))
    assert isinstance(value, ArrayValue)
    np.testing.assert_array_equal(value.value, array)
    assert value.value.dtype == array.dtype


def test_names_of_numpy_1_and_2_are_known():
    content = pickle.dumps(np.arange(3), 2)
    new = b"numpy._core.multiarray"
    old = b"numpy.core.multiarray"
    for name in (new, old):
        renamed = content.replace(new, name)
        assert loads(renamed).value.tolist() == [0, 1, 2]


class Calls:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


HOSTILE = {
    "posix.system": Calls(os.system, "touch ran"),
    "builtins.eval": Calls(eval, "open('ran', 'w')"),
    "builtins.getattr": Calls(getattr, "", "format"),
    "subprocess.Popen": Calls(subprocess.Popen, ["touch", "ran"]),
    "numpy.load": Calls(np.load, "ran"),
    "numpy.fromfile": None,
    "numpy.memmap": None,
    "numpy.ndarray.tofile": None,
}


def _global(name: str) -> bytes:
    module, _, attribute = (
        name.partition(".") if name.startswith("numpy.") else name.rpartition(".")
    )
    return f"c{module}\n{attribute}\n".encode()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_global_is_refused_by_name(name, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = HOSTILE[name]
    content = pickle.dumps(call, protocol) if call else _global(name) + b"U\x03ran\x85R."
    if protocol < 3:  # Python 2's names
        name = name.replace("builtins", "__builtin__").replace("subprocess", "commands")
    with pytest.raises(DamagedError, match="refused, nothing ran") as caught:
        loads(content)
    assert name in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_a_hostile_file_is_an_error_for_the_user_and_nothing_runs(
    tmp_path, monkeypatch, make_members, make_tar, make_imdb_with, make_npy, tasks, cache
):
    monkeypatch.chdir(tmp_path)
    evil = pickle.dumps({b"data": Calls(os.system, "touch ran")}, 2)
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n"
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(
        make_tar(make_members() | {"cifar-10-batches-py/data_batch_1": evil})
    )
    (tmp_path / "imdb.npz").write_bytes(make_imdb_with(x_test=make_npy(header, evil)))
    for name, task in (("cifar10", "cnn"), ("imdb", "gru")):
        with pytest.raises(DataError, match=r"posix\.system"):
            load(name, task=tasks[task], directories=[tmp_path], cache=cache, report=str)
    assert not (tmp_path / "ran").exists()


RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
NDARRAY = b"cnumpy\nndarray\n"
DTYPE = b"cnumpy\ndtype\n"


def _array(shape: bytes, dtype: bytes, data: bytes) -> bytes:
    head = RECONSTRUCT + NDARRAY + b"K\x00\x85U\x01b\x87R"
    return head + b"(K\x01" + shape + dtype + b"\x89" + data + b"tb."


def _dtype(code: bytes, order: bytes = b"|", rest: bytes = b"NNN") -> bytes:
    made = DTYPE + b"U" + bytes([len(code)]) + code + b"K\x00K\x01\x87R"
    return made + b"(K\x03U\x01" + order + rest + b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"


def test_the_handmade_array_is_right():
    assert loads(_array(b"K\x02\x85", _dtype(b"u1"), b"U\x02ab")).value.tolist() == [97, 98]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (RECONSTRUCT + DTYPE + b"K\x00\x85U\x01b\x87R.", "plain numpy.ndarray"),
        (RECONSTRUCT + b"U\x01xK\x00\x85U\x01b\x87R.", "plain numpy.ndarray"),
        (NDARRAY + b"K\x05\x85R.", "isn't to be called"),
        (b"U\x01xK\x05\x85R.", "isn't to be called"),
        (DTYPE + b"U\x05O8,O8\x85R.", "the dtype"),
        (DTYPE + b"U\x03V16\x85R.", "the dtype"),
        (DTYPE + b"U\x06object\x85R.", "the dtype"),
        (DTYPE + b"]\x85R.", "a list where a string"),
        (NDARRAY + b"}b.", "a state for a Global"),
        (b"]}b.", "a state for a list"),
        (_array(b"K\x03\x85", _dtype(b"u1"), b"U\x02ab"), "2 bytes"),
        (_array(b"J\xff\xff\xff\xff\x85", _dtype(b"u1"), b"U\x02ab"), "wrong shape"),
        (_array(b"J\xff\xff\xff\x7f\x85", _dtype(b"u1"), b"U\x02ab"), "2 bytes"),
        (_array(b"\x88\x85", _dtype(b"u1"), b"U\x01a"), "wrong shape"),
        (_array(b"K\x02\x85", _dtype(b"u1", b"x"), b"U\x02ab"), "byte order"),
        (_array(b"K\x02\x85", _dtype(b"u1", rest=b"N})"), b"U\x02ab"), "with fields"),
        (_array(b"K\x01\x85", _dtype(b"O8"), b"U\x08abcdefgh"), "object array"),
        (_array(b"K\x02\x85", _dtype(b"O8"), b"](K\x01e"), "object array"),
        (_array(b"K\x02\x85", b"N", b"U\x02ab"), "wrong shape or dtype"),
        (b"}]K\x01s.", "keys"),
        (b"}(K\x01u.", "keys"),
        (b"}))\x85K\x01s.", "keys"),
        (b"K\x01K\x02a.", "without the list"),
        (b"K\x01(K\x02K\x03u.", "without the dict"),
        (b"e.", "without the mark"),
        (b".", "takes more than"),
        (b"(a.", "takes more than"),
        (b"](0.", "takes more than"),
        (b"q\x00.", "takes more than"),
        (b"h\x07.", "refers to"),
        (b"ios\nsystem\n.", "INST"),
        (b"(cos\nsystem\no.", r"os\.system"),
        (b"P1\n.", "PERSID"),
        (b"\x82\x01.", "EXT1"),
        (b"\x81.", "NEWOBJ"),
        (b"\x97.", "NEXT_BUFFER"),
        (b"\xff.", "instruction"),
        (b"T\xff\xff\xff\xff.", "negative length"),
        (b"B\xff\xff\xff\x7fab.", "cut off"),
        (b"\x8e" + b"\xff" * 8 + b"ab.", "cut off"),
        (b"cos\n" + b"x" * 5000, "cut off"),
        (b"K", "cut off"),
        (b"M\x01", "cut off"),
        (b"J\x01\x02\x03", "cut off"),
        (b"", "cut off"),
    ],
)
def test_what_is_no_array_is_refused(content, reason):
    with pytest.raises(DamagedError, match=reason):
        loads(content)


def test_a_huge_memo_index_costs_nothing():
    # Python's own C unpickler would allocate 64 GB here.
    assert loads(b"K\x07r" + struct.pack("<I", 0xFFFFFFFF) + b".") == 7


def test_a_deeply_nested_pickle_is_no_crash():
    deep = loads(b"]" * 50_001 + b"a" * 50_000 + b".")
    assert isinstance(deep, list)


@pytest.mark.timeout(30)
def test_the_number_of_instructions_is_bounded(monkeypatch):
    monkeypatch.setattr("rosetta.datasets.pickles.MAX_OPCODES", 1000)
    with pytest.raises(DamagedError, match="1,000 instructions"):
        loads(b"N0" * 600 + b"N.")


OPCODES = b"".join(code.code.encode("latin-1") for code in pickletools.opcodes)
PIECES = st.sampled_from(
    [bytes([code]) for code in OPCODES]
    + [RECONSTRUCT, NDARRAY, DTYPE, b"U\x02u1", b"K\x01", b"M\x01\x02", b"U\x01b", b"\x85R", b"tb"]
)


@settings(max_examples=300, deadline=1000)
@given(content=st.binary(max_size=300) | st.lists(PIECES, max_size=60).map(b"".join))
@example(content=b"\x80\x02.")
def test_arbitrary_bytes_are_a_value_or_an_error(content):
    with suppress(ValueError):  # DamagedError, or the UnicodeDecodeError of a broken string
        loads(content)
