"""The worker's codec and the coordinator's speak the same protocol and refuse the same things."""

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rosetta_worker
from rosetta import protocol
from rosetta.protocol import ProtocolError, frames, limits, messages, tape
from rosetta_worker import tape as worker_tape
from rosetta_worker import wire

ARRAYS = {
    "inputs": np.arange(12, dtype=np.uint8).reshape(2, 2, 3),
    "labels": np.array([3, -1], np.int32),
    "tokens": np.zeros((0, 5), np.int64),
    "scale": np.array(0.5, np.float32),
    "big": np.array([[1.5, np.nan], [np.inf, -0.0]], ">f8").T,
}
TIMES = {"wait_ns": 0, "copy_ns": 1}
SHAPES = [{"name": "w", "shape": [2, 3]}, {"name": "b", "shape": []}]
TASK = {"name": "mlp", "classes": 2, "scale": 0.1, "layers": [{"kind": "relu", "bias": True}]}

# The fields of one message of every type, in all their variants; `id` and arrays are added below.
HELLO = {
    "protocol": "1.0", "run": "r", "key": "k", "worker": "null", "pid": 1, "language": "python",
    "language_version": "3.6", "framework": "ñull", "framework_version": "1", "device": "cpu",
    "threads": 1, "tasks": ["mlp"], "dtypes": ["float32"], "planes": ["inline"],
}  # fmt: skip
FROM_WORKER = [
    ("HELLO", HELLO),
    ("HELLO", HELLO | {"host": "h", "versions": {"a": "1"}, "forms": {"gru": "classic"}}),
    ("READY", {"re": 1, "parameter_count": 6, "parameters": SHAPES, "threads": 2, "setup_ns": 3}),
    ("RESULT", {"re": 2, "step": 0, "loss": 0.25, "step_ns": 5} | TIMES),
    ("RESULT", {"re": 2, "step": 0, "loss": float("inf"), "step_ns": 5, "forward_ns": 1} | TIMES),
    ("PREDICTIONS", {"re": 3, "predict_ns": 7} | TIMES),
    ("VALUES", {"re": 2**63 - 1}),
    ("ENDED", {"re": 5}),
]
FROM_COORDINATOR = [
    ("WELCOME", {"re": 0, "protocol": "1.0", "credit": 2, "reconnect_ns": 10**10}),
    ("REFUSE", {"re": 0, "code": "bad_key", "reason": "no"}),
    ("SETUP", {"task": TASK, "batch_size": 64, "seed": 1, "dropout": False, "threads": 1}),
    ("BATCH", {"step": 3}),
    ("PREDICT", {}),
    ("PARAMETERS", {}),
    ("END", {}),
]
BOTH_WAYS = [
    ("BYE", {}),
    ("BYE", {"re": 8}),
    ("ERROR", {"code": "backend", "message": "out of memory", "fatal": True}),
    ("ERROR", {"re": 1, "code": "backend", "message": "", "fatal": False}),
]


def names(cases: list[tuple[str, Any]]) -> list[str]:
    return [kind for kind, _ in cases]


def arrays_of(kind: str) -> dict[str, Any]:
    return ARRAYS if "arrays" in messages.ALL[kind].__struct_fields__ else {}


def bytes_of(parts: list[Any]) -> list[bytes]:
    """Frames as they arrive."""
    return [bytes(memoryview(part)) for part in parts]


def assert_same_arrays(received: Any, sent: Any) -> None:
    assert list(received) == list(sent)
    for name, array in sent.items():
        arrived = received[name]
        assert (arrived.dtype.name, arrived.shape) == (array.dtype.name, array.shape)
        assert arrived.tobytes() == array.astype(arrived.dtype).tobytes()
        assert not arrived.flags.writeable


def test_the_examples_cover_every_message():
    assert set(names(FROM_WORKER + BOTH_WAYS)) == {*map(messages.type_of, messages.FROM_WORKER)}
    coordinators = {*map(messages.type_of, messages.FROM_COORDINATOR)}
    assert set(names(FROM_COORDINATOR + BOTH_WAYS)) == coordinators


@pytest.mark.parametrize(
    ("kind", "fields"), FROM_WORKER + BOTH_WAYS, ids=names(FROM_WORKER + BOTH_WAYS)
)
def test_the_coordinator_reads_what_the_worker_says(kind, fields):
    header = {"type": kind, "id": 9} | fields
    parts = bytes_of(wire.encode(header, arrays_of(kind)))
    message, received = protocol.decode(parts, expected=messages.FROM_WORKER)
    assert messages.type_of(type(message)) == kind
    assert message.id == 9
    assert {name: msgspec.to_builtins(getattr(message, name)) for name in fields} == fields
    assert_same_arrays(received, arrays_of(kind))


@pytest.mark.parametrize(
    ("kind", "fields"), FROM_COORDINATOR + BOTH_WAYS, ids=names(FROM_COORDINATOR + BOTH_WAYS)
)
def test_the_worker_reads_what_the_coordinator_says(kind, fields):
    arrays = arrays_of(kind)
    described = {"arrays": frames.describe(arrays)} if arrays else {}
    message = messages.ALL[kind](id=9, **fields, **described)
    header, received = wire.decode(bytes_of(protocol.encode(message, arrays)))
    assert header == msgspec.to_builtins(message)
    assert header.items() >= ({"type": kind, "id": 9} | fields).items()
    assert_same_arrays(received, arrays)


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.sampled_from(messages.DTYPES).flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=3))
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_arrays_pass_both_ways(arrays):
    header = {"type": "VALUES", "id": 1, "re": 0}
    _, received = protocol.decode(bytes_of(wire.encode(header, arrays)), expected=[messages.Values])
    assert_same_arrays(received, arrays)
    batch = messages.Batch(id=1, step=0, arrays=frames.describe(arrays))
    assert_same_arrays(wire.decode(bytes_of(protocol.encode(batch, arrays)))[1], arrays)


def test_contiguous_arrays_are_neither_copied_when_sent_nor_when_received():
    array = np.arange(4, dtype=np.float32)
    parts = wire.encode({"type": "VALUES", "id": 1, "re": 0}, {"x": array})
    assert np.shares_memory(parts[1], array)
    assert np.shares_memory(wire.decode([parts[0], parts[1].data])[1]["x"], array)


def test_the_worker_keeps_unknown_types_and_keys_for_its_session_to_ignore():
    header = {"type": "SHUTDOWN", "id": 1, "mood": [1, {"a": None}]}
    assert wire.decode([msgpack.packb(header)]) == (header, {})


def test_both_sides_have_the_same_version_limits_dtypes_and_tape_format():
    assert rosetta_worker.PROTOCOL == protocol.VERSION
    assert tuple(wire.DTYPES) == messages.DTYPES
    bounds = {name: value for name, value in vars(wire).items() if name.startswith("MAX_")}
    assert bounds.items() <= vars(limits).items()
    assert {f"MAX_{name}" for name in ("HEADER_BYTES", "HEADER_DEPTH", "FRAMES")} <= set(bounds)
    assert {"MAX_FRAME_BYTES", "MAX_DIMENSIONS"} <= set(bounds)
    for name in ("MAGIC", "FROM_COORDINATOR", "FROM_WORKER"):
        assert getattr(worker_tape, name) == getattr(tape, name)


# --- refusals: the same from both decoders --------------------------------------------------------

ONE = {"name": "x", "dtype": "float32", "shape": [2]}
BATCH = {"type": "BATCH", "id": 7, "step": 0, "arrays": [ONE]}
DATA = bytes(8)


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth > 1 else []


def batch(**changes: Any) -> bytes:
    return msgpack.packb(BATCH | changes)


def described(**changes: Any) -> bytes:
    return batch(arrays=[ONE | changes])


WRONG_NUMBERS = (-1, True, 1.0, "1", None, 2**63, 2**64 - 1)
UNREADABLE = {
    "empty": b"",
    "not msgpack": b"\xc1",
    "cut off": batch()[:-1],
    "trailing byte": batch() + b"\x00",
    "a list": msgpack.packb([1]),
    "nil": msgpack.packb(None),
    "a key that isn't text": msgpack.packb({1: 2}),
    "a type that isn't UTF-8": b"\x82\xa4type\xa2\xff\xfe\xa2id\x07",
    "2^32 elements": batch()[:-1] + b"\xdd\xff\xff\xff\xff",
    "too large": batch(z="-" * limits.MAX_HEADER_BYTES),
    "no id": msgpack.packb({"type": "BATCH"}),
    "deep beyond any stack": b"\x91" * 200_000,
    **{f"id {number!r}": batch(id=number) for number in WRONG_NUMBERS},
}
WRONG = {
    "no type": msgpack.packb({"id": 7}),
    "a type that is a number": batch(type=5),
    "arrays that are a map": batch(arrays={"x": ONE}),
    "arrays that are nil": batch(arrays=None),
    "a description that is a text": batch(arrays=["x"]),
    "a name that is a number": described(name=5),
    "no dtype": batch(arrays=[{"name": "x", "shape": [2]}]),
    "no shape": batch(arrays=[{"name": "x", "dtype": "uint8"}]),
    "too many dimensions": described(shape=[1] * 8 + [2]),
    "a shape that is a number": described(shape=2),
    **{f"dtype {d!r}": described(dtype=d) for d in ("float16", "bool", "<f4", "object", 4, None)},
    **{f"length {n!r}": described(shape=[n]) for n in (-1, True, 2.0, "2", None, 2**31 + 1)},
}
MISMATCHED = {
    "a frame missing": [batch()],
    "a frame more": [batch(), DATA, DATA],
    "frames without descriptions": [msgpack.packb({"type": "END", "id": 7}), DATA],
    "a byte missing": [batch(), DATA[:-1]],
    "a byte more": [batch(), DATA + b"\x00"],
    "a name twice": [batch(arrays=[ONE, ONE]), DATA, DATA],
    "2^62 elements": [described(shape=[2**31, 2**31]), b""],
    "2^93 elements times 0": [described(shape=[2**31, 2**31, 2**31, 0]), b""],
}


def refused_in_python(parts: list[bytes]) -> tuple[str, int | None]:
    with pytest.raises(wire.WireError) as caught:
        wire.decode(parts)
    assert "\n" not in caught.value.sentence
    return caught.value.code, caught.value.re


def refused_in_julia(driver: Any, parts: list[bytes]) -> tuple[str, int | None]:
    (refusal,) = driver.ask("decode", cases=[parts])
    assert "\n" not in refusal["sentence"]
    return refusal["code"], refusal["re"]


@pytest.fixture(params=["python", "julia"])
def refusals(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """(code, re) of the worker's refusal of a message, and of the coordinator's."""
    driver = request.getfixturevalue("driver") if request.param == "julia" else None

    def refusals(parts: list[bytes]) -> list[tuple[str, int | None]]:
        worker = refused_in_julia(driver, parts) if driver else refused_in_python(parts)
        with pytest.raises(ProtocolError) as coordinator:
            protocol.decode(parts, expected=messages.FROM_COORDINATOR)
        return [worker, (coordinator.value.code, coordinator.value.re)]

    return refusals


@pytest.mark.parametrize("header", UNREADABLE.values(), ids=UNREADABLE)
def test_both_refuse_a_header_whose_id_can_not_be_read(refusals, header):
    assert refusals([header, DATA]) == [("bad_header", None)] * 2


@pytest.mark.parametrize("header", WRONG.values(), ids=WRONG)
def test_both_refuse_a_wrong_field_and_name_the_message(refusals, header):
    assert refusals([header, DATA]) == [("bad_header", 7)] * 2


@pytest.mark.parametrize("parts", MISMATCHED.values(), ids=MISMATCHED)
def test_both_refuse_frames_that_differ_from_what_the_header_says(refusals, parts):
    assert refusals(parts) == [("bad_frames", 7)] * 2


def test_both_refuse_too_many_frames_and_none(refusals):
    assert refusals([batch(), *[b""] * limits.MAX_FRAMES]) == [("bad_frames", None)] * 2
    assert refusals([]) == [("bad_frames", None)] * 2


@pytest.mark.parametrize("depth", [1, 14, 15, 16, 17])
def test_both_admit_the_same_depth(refusals, depth):
    header = msgpack.packb({"type": "END", "id": 7, "z": nested(depth)})
    if depth < limits.MAX_HEADER_DEPTH:  # the map is a level too
        assert wire.decode([header])[0]["id"] == 7
        assert protocol.decode([header], expected=[messages.End])[0].id == 7
    else:
        assert {code for code, _ in refusals([header])} == {"bad_header"}


@given(st.lists(st.binary(max_size=60), max_size=3))
def test_arbitrary_bytes_raise_nothing_but_wire_errors(parts):
    attempt(parts)


@given(st.data())
def test_damaged_messages_raise_nothing_but_wire_errors(data):
    header = bytearray(batch())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(header)))
        end = data.draw(st.integers(start, min(len(header), start + 4)))
        header[start:end] = data.draw(st.binary(max_size=4))
    attempt([bytes(header), data.draw(st.binary(max_size=16))])


def attempt(parts: list[bytes]) -> None:
    try:
        wire.decode(parts)
    except wire.WireError as error:
        assert error.re is None or 0 <= error.re < 2**63


# --- shared memory --------------------------------------------------------------------------------

SHARED = bytearray(np.arange(32, dtype=np.float32).tobytes())


def elsewhere(**changes: Any) -> bytes:
    """A BATCH whose `inputs` lie in shared memory, and whose `labels` are a frame."""
    inputs = {"name": "inputs", "dtype": "float32", "shape": [2, 3], "offset_bytes": 64, **changes}
    return batch(arrays=[inputs, {"name": "labels", "dtype": "int32", "shape": [2]}])


def test_the_worker_reads_what_lies_in_shared_memory_without_a_copy():
    shared = bytearray(SHARED)
    _, arrays = wire.decode([elsewhere(), bytes(8)], shared=shared)
    assert arrays["inputs"].tolist() == [[16.0, 17.0, 18.0], [19.0, 20.0, 21.0]]
    assert arrays["labels"].tolist() == [0, 0]
    shared[64:68] = np.float32(99).tobytes()
    assert arrays["inputs"][0, 0] == 99
    assert not arrays["inputs"].flags.writeable


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"offset_bytes": -1}, "bad_header"),
        ({"offset_bytes": 1.5}, "bad_header"),
        ({"offset_bytes": "0"}, "bad_header"),
        ({"offset_bytes": True}, "bad_header"),
        ({"offset_bytes": 108}, "bad_header"),
        ({"offset_bytes": 2**63 - 64}, "bad_frames"),
        ({"offset_bytes": 128}, "bad_frames"),
        ({"shape": [2**31, 2**31]}, "bad_frames"),
    ],
)
def test_what_does_not_lie_in_shared_memory_is_refused(changes, code):
    with pytest.raises(wire.WireError) as caught:
        wire.decode([elsewhere(**changes), bytes(8)], shared=SHARED)
    assert caught.value.code == code


def test_without_shared_memory_and_with_a_frame_too_many_it_is_refused():
    for parts, shared in (([elsewhere(), bytes(8)], None), ([elsewhere(), b"", b""], SHARED)):
        with pytest.raises(wire.WireError, match=r"this session has none|and has 2"):
            wire.decode(parts, shared=shared)


def test_the_coordinator_takes_no_offsets_from_workers():
    array = {"name": "logits", "dtype": "float32", "shape": [1], "offset_bytes": 0}
    header = {"type": "PREDICTIONS", "id": 1, "re": 1, "arrays": [array]}
    times = {"wait_ns": 0, "copy_ns": 0, "predict_ns": 0}
    parts = [msgpack.packb({**header, **times}), bytes(4)]
    with pytest.raises(ProtocolError, match="'logits' is in no frame"):
        protocol.decode(parts, expected=messages.FROM_WORKER)
