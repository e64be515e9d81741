"""Messages to and from frames: what is sent arrives; whatever breaks the protocol is refused."""

import tracemalloc
from typing import Any

import hypothesis.extra.numpy as hnp
import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta.protocol import ProtocolError, UnknownMessageError, decode, encode
from rosetta.protocol.frames import describe
from rosetta.protocol.limits import MAX_DIMENSIONS, MAX_FRAME_BYTES, MAX_FRAMES, MAX_HEADER_BYTES
from rosetta.protocol.messages import DTYPES, FROM_WORKER, Ended, Result, Values

REPORTED = {"type": "RESULT", "id": 7, "re": 3, "step": 0, "loss": 0.5}
RESULT = REPORTED | {"wait_ns": 1, "copy_ns": 2, "step_ns": 3}
PAIR = {"name": "x", "dtype": "float32", "shape": [2]}
VALUES = {"type": "VALUES", "id": 7, "re": 3, "arrays": [PAIR]}
PAIR_BYTES = bytes(8)


def values(**changes: Any) -> bytes:
    """Header of a VALUES with one array of two floats, with some keys changed."""
    return msgpack.packb(VALUES | changes)


def described(**changes: Any) -> bytes:
    """The same, with a change in the array's description."""
    return values(arrays=[PAIR | changes])


def without(header: dict[str, Any], key: str) -> bytes:
    return msgpack.packb({k: v for k, v in header.items() if k != key})


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth > 1 else []


def refusal(*frames: Any) -> ProtocolError:
    """The error that these frames are answered with; a single line."""
    with pytest.raises(ProtocolError) as caught:
        decode(list(frames), expected=FROM_WORKER)
    assert "\n" not in caught.value.sentence
    return caught.value


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Every dtype and byte order, any shape, whole or a view that isn't contiguous."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES))).newbyteorder(draw(st.sampled_from("<>")))
    array = draw(
        hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4))
    )
    views = [lambda a: a, lambda a: a.T, lambda a: a[..., ::2], lambda a: a[::-1]]
    return draw(st.sampled_from(views if array.ndim else views[:1]))(array)


def sent(contents: dict[str, np.ndarray]) -> list[Any]:
    return encode(Values(id=7, re=3, arrays=describe(contents)), contents)


# --- what is sent arrives -------------------------------------------------------------------------


@given(st.dictionaries(st.text(max_size=12), arrays(), max_size=4))
def test_arrays_arrive_with_the_values_names_order_and_shapes_they_were_sent_with(contents):
    _, received = decode([bytes(frame) for frame in sent(contents)], expected=[Values])
    assert list(received) == list(contents)
    for name, array in contents.items():
        arrived = received[name]
        assert (arrived.dtype.name, arrived.shape) == (array.dtype.name, array.shape)
        assert arrived.dtype.str[0] in "<|"
        assert arrived.tobytes() == array.astype(arrived.dtype).tobytes()


def test_fields_arrive_as_they_were_sent():
    result = Result(id=9, re=4, step=2, loss=0.25, wait_ns=0, copy_ns=1, step_ns=2**63 - 1)
    assert decode(encode(result), expected=[Result]) == (result, {})


def test_a_contiguous_array_is_sent_and_received_without_a_copy():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    frames = sent({"x": array})
    _, received = decode(frames, expected=[Values])
    assert np.shares_memory(received["x"], array)


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_received_arrays_are_read_only_views_of_their_frame(buffer):
    frame = buffer(PAIR_BYTES)
    _, received = decode([values(), frame], expected=[Values])
    assert np.shares_memory(received["x"], np.frombuffer(frame, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        received["x"][0] = 1


def test_keys_that_this_version_does_not_know_are_ignored():
    header = VALUES | {"mood": {"good": [True]}, "arrays": [PAIR | {"layout": "row"}]}
    message, received = decode([msgpack.packb(header), PAIR_BYTES], expected=[Values])
    assert message.id == 7 and list(received) == ["x"]


@pytest.mark.parametrize("kind", ["BATCH", "SHUTDOWN", "", "A" * 100_000])
def test_a_type_that_is_not_expected_is_unknown_whatever_else_is_in_it(kind):
    header = msgpack.packb({"type": kind, "id": 7, "arrays": 5})
    with pytest.raises(UnknownMessageError) as caught:
        decode([header, b"?"], expected=FROM_WORKER)
    assert (caught.value.code, caught.value.re) == ("unknown_type", 7)
    assert len(caught.value.sentence) < 100


def test_what_lies_exactly_at_a_limit_is_accepted():
    ended = {"type": "ENDED", "id": 2**63 - 1, "re": 0}
    filler = MAX_HEADER_BYTES - len(msgpack.packb(ended | {"z": ""})) - 4
    full = msgpack.packb(ended | {"z": "-" * filler})
    assert len(full) == MAX_HEADER_BYTES
    for header in (full, msgpack.packb(ended | {"z": nested(15)})):
        assert decode([header], expected=[Ended])[0].id == 2**63 - 1
    flat = described(shape=[1] * (MAX_DIMENSIONS - 1) + [2])
    assert decode([flat, PAIR_BYTES], expected=[Values])[1]["x"].ndim == MAX_DIMENSIONS
    many = [{"name": str(i), "dtype": "uint8", "shape": [0]} for i in range(MAX_FRAMES - 1)]
    frames = [values(arrays=many), *[b""] * (MAX_FRAMES - 1)]
    assert len(decode(frames, expected=[Values])[1]) == MAX_FRAMES - 1


# --- refusals -------------------------------------------------------------------------------------

WRONG_NUMBERS = [-1, True, False, 1.0, "1", None, [1], 2**63, 2**64 - 1]

NOT_A_HEADER = {
    "empty": b"",
    "a byte that msgpack never uses": b"\xc1",
    "cut off": values()[:-1],
    "followed by something": values() + b"\x00",
    "a list": msgpack.packb([1]),
    "a number": msgpack.packb(1),
    "a text": msgpack.packb("HELLO"),
    "nil": msgpack.packb(None),
    "a map with a key that isn't text": msgpack.packb({1: 2}),
    "not UTF-8": b"\x82\xa4type\xa2\xff\xfe\xa2id\x07",
    "without an id": without(VALUES, "id"),
    "too large": values(z="-" * MAX_HEADER_BYTES),
    "too deep": values(z=nested(16)),
}

WRONG_FIELDS = {
    "no type": without(VALUES, "type"),
    "a type that is a number": values(type=5),
    "no re": without(VALUES, "re"),
    "no arrays": without(VALUES, "arrays"),
    "arrays that are a map": values(arrays={"x": PAIR}),
    "more arrays than frames can be": values(arrays=[PAIR] * MAX_FRAMES),
    "a description that is a text": values(arrays=["x"]),
    "a shape that is a number": described(shape=2),
    "too many dimensions": described(shape=[1] * 8 + [2]),
    "an array without a name": values(arrays=[{"dtype": "float32", "shape": [2]}]),
    "a name that is a number": described(name=1),
    "a name that is too long": described(name="x" * 257),
    "a loss that is a text": msgpack.packb(RESULT | {"loss": "0.5"}),
    "no loss": without(RESULT, "loss"),
    "an ERROR with too long a sentence": msgpack.packb(
        {"type": "ERROR", "id": 7, "code": "backend", "message": "x" * 4097, "fatal": False}
    ),
}


@pytest.mark.parametrize("header", NOT_A_HEADER.values(), ids=NOT_A_HEADER)
def test_a_header_whose_id_can_not_be_read_is_refused_and_no_message_named(header):
    error = refusal(header, PAIR_BYTES)
    assert (error.code, error.re) == ("bad_header", None)


@pytest.mark.parametrize("number", WRONG_NUMBERS, ids=repr)
def test_an_id_is_an_integer_from_0_below_2_to_the_63rd(number):
    error = refusal(values(id=number), PAIR_BYTES)
    assert (error.code, error.re) == ("bad_header", None)
    unknown = refusal(msgpack.packb({"type": "SHUTDOWN", "id": number}))
    assert (unknown.code, unknown.re) == ("bad_header", None)


@pytest.mark.parametrize("header", WRONG_FIELDS.values(), ids=WRONG_FIELDS)
def test_a_wrong_field_is_refused_and_the_message_named(header):
    error = refusal(header, PAIR_BYTES)
    assert (error.code, error.re) == ("bad_header", 7)


@pytest.mark.parametrize("number", WRONG_NUMBERS, ids=repr)
@pytest.mark.parametrize("key", ["re", "wait_ns"])
def test_numbers_and_times_are_integers_within_the_same_bounds(key, number):
    error = refusal(msgpack.packb(RESULT | {key: number}))
    assert (error.code, error.re) == ("bad_header", 7)


@pytest.mark.parametrize("length", [-1, True, 2.0, "2", None, [2], MAX_FRAME_BYTES + 1], ids=repr)
def test_an_axis_has_a_length_that_a_frame_can_hold(length):
    error = refusal(described(shape=[length]), PAIR_BYTES)
    assert (error.code, error.re) == ("bad_header", 7)


@pytest.mark.parametrize(
    "dtype", ["float16", "complex64", "bool", "object", "O", "<f4", ">f4", "f4", "", 4, None, {}]
)
def test_dtypes_are_a_closed_list(dtype):
    error = refusal(described(dtype=dtype), PAIR_BYTES)
    assert (error.code, error.re) == ("bad_header", 7)


@pytest.mark.parametrize(
    ("frames", "re"),
    [
        ([], None),
        ([values(), *[b""] * MAX_FRAMES], None),
        ([values()], 7),
        ([values(), PAIR_BYTES, b""], 7),
        ([msgpack.packb(RESULT), b""], 7),
        ([values(), bytes(7)], 7),
        ([values(), bytes(9)], 7),
        ([values(), b""], 7),
        ([values(arrays=[PAIR, PAIR]), PAIR_BYTES, PAIR_BYTES], 7),
        ([described(shape=[2**31, 2**31]), b""], 7),
        ([described(shape=[2**31] * 8), b""], 7),
        ([described(shape=[2**31, 2**31, 2**31, 0]), b""], 7),
    ],
    ids=[
        "none", "too many", "one missing", "one more", "one where there are none", "short", "long",
        "empty", "a name twice", "2^62 elements", "2^248 elements", "2^93 elements times 0",
    ],
)  # fmt: skip
def test_frames_that_differ_from_what_the_header_says_are_refused(frames, re):
    error = refusal(*frames)
    assert (error.code, error.re) == ("bad_frames", re)


FULL = b"\xdd\xff\xff\xff\xff"  # head of a list of 2^32 - 1 elements


@pytest.mark.parametrize(
    "frames",
    [
        [b"\x84" + without(VALUES, "arrays")[1:] + b"\xa6arrays" + FULL],
        [b"\x84" + without(VALUES, "arrays")[1:] + b"\xa7unknown" + FULL],
        [described(shape=0)[:-1] + FULL],
        [described(shape=[2**31, 2]), PAIR_BYTES],
        [b"\x84" + without(VALUES, "arrays")[1:] + b"\xa1z\xdb\xff\xff\xff\xff"],
    ],
    ids=["list of arrays", "unknown key", "shape", "array", "text"],
)
def test_nothing_is_allocated_for_what_a_header_merely_claims(frames):
    tracemalloc.start()
    try:
        refusal(*frames)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@given(st.lists(st.binary(max_size=80), max_size=3))
def test_arbitrary_bytes_raise_nothing_but_protocol_errors(frames):
    attempt(frames)


@given(st.data())
def test_damaged_messages_raise_nothing_but_protocol_errors(data):
    header = bytearray(data.draw(st.sampled_from([values(), msgpack.packb(RESULT)])))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(header)))
        end = data.draw(st.integers(start, min(len(header), start + 4)))
        header[start:end] = data.draw(st.binary(max_size=4))
    attempt([bytes(header), data.draw(st.binary(max_size=16))])


def attempt(frames: list[bytes]) -> None:
    try:
        decode(frames, expected=FROM_WORKER)
    except ProtocolError as error:
        assert error.re is None or 0 <= error.re < 2**63


# --- sending --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "complex64", "bool", "uint32", "object", "U3"])
def test_an_array_of_another_dtype_is_not_sent(dtype):
    with pytest.raises(ProtocolError) as caught:
        sent({"x": np.zeros(2, dtype)})
    assert caught.value.code == "bad_dtype"


def test_what_every_receiver_would_refuse_is_not_sent():
    with pytest.raises(ProtocolError, match="header"):
        sent({f"{i:0>256}": np.zeros(1) for i in range(1000)})
    with pytest.raises(ProtocolError, match="too large"):
        sent({"x": np.broadcast_to(np.uint8(0), MAX_FRAME_BYTES + 1)})
