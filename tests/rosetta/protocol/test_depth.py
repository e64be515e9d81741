"""Nesting depth found without decoding, against a recursive count over the decoded value."""

import struct
import time
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosetta.protocol.depth import depth_exceeds

# What may follow a head byte of a value without children: so many bytes, or a length of so many
# bytes with a content of that length (and, in an extension, one more byte for its type).
FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
SIZED = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
FIXED_EXTENSION = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
SIZED_EXTENSION = {0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}
# First byte of the short form, and head bytes of the long ones.
CONTAINERS = {"list": (0x90, {0xDC: ">H", 0xDD: ">I"}), "map": (0x80, {0xDE: ">H", 0xDF: ">I"})}


class Pairs(list):
    """A decoded map."""


def depth(value: Any) -> int:
    """Containers inside each other, counted as one would on paper; an empty one counts too."""
    if isinstance(value, Pairs):
        return 1 + max((depth(item) for pair in value for item in pair), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def decoded(data: bytes) -> Any:
    return msgpack.unpackb(data, raw=True, strict_map_key=False, object_pairs_hook=Pairs)


def one_byte() -> st.SearchStrategy[bytes]:
    heads = [*range(0x80), *range(0xE0, 0x100), 0xC0, 0xC2, 0xC3]
    return st.sampled_from(heads).map(lambda head: bytes([head]))


def fixed(table: dict[int, int], type_byte: bytes = b"") -> st.SearchStrategy[bytes]:
    return st.sampled_from(sorted(table)).flatmap(
        lambda head: st.binary(min_size=table[head], max_size=table[head]).map(
            lambda content: bytes([head]) + type_byte + content
        )
    )


def sized(table: dict[int, str], type_byte: bytes = b"") -> st.SearchStrategy[bytes]:
    return st.tuples(st.sampled_from(sorted(table)), st.binary(max_size=20)).map(
        lambda pair: (
            bytes([pair[0]]) + struct.pack(table[pair[0]], len(pair[1])) + type_byte + pair[1]
        )
    )


short_text = st.binary(max_size=31).map(lambda content: bytes([0xA0 + len(content)]) + content)
leaves = st.one_of(
    one_byte(),
    short_text,
    fixed(FIXED),
    sized(SIZED),
    fixed(FIXED_EXTENSION, b"\x05"),
    sized(SIZED_EXTENSION, b"\x05"),
)


@st.composite
def containers(draw: st.DrawFn, inside: st.SearchStrategy[bytes]) -> bytes:
    """A list or a map (whose keys may be containers too) in any of its widths."""
    kind = draw(st.sampled_from(["list", "map"]))
    items = draw(st.lists(st.tuples(inside, inside) if kind == "map" else inside, max_size=3))
    short, wide = CONTAINERS[kind]
    head = draw(st.sampled_from([None, *wide]))
    start = bytes([short + len(items)])
    if head is not None:
        start = bytes([head]) + struct.pack(wide[head], len(items))
    return start + b"".join(item if isinstance(item, bytes) else b"".join(item) for item in items)


packed = st.recursive(leaves, containers, max_leaves=25)


@given(packed)
def test_a_value_exceeds_every_limit_below_its_depth_and_no_other(data):
    actual = depth(decoded(data))
    for limit in range(actual + 3):
        assert depth_exceeds(data, limit) == (actual > limit)


@given(packed, st.integers(0, 3))
def test_a_value_that_is_cut_off_is_not_deeper_than_the_whole(data, limit):
    for end in range(len(data)):
        assert depth_exceeds(data, limit) or not depth_exceeds(data[:end], limit)


@given(st.binary(max_size=200), st.integers(0, 16))
def test_arbitrary_bytes_are_measured_without_an_error(data, limit):
    assert depth_exceeds(data, limit) in (True, False)


@given(packed)
def test_only_the_first_value_counts(data):
    assert not depth_exceeds(data + b"\x91" * 20, 20)


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(buffer):
    assert depth_exceeds(buffer(b"\x91\x91\x90"), 2)
    assert not depth_exceeds(buffer(b"\x91\x91\x90"), 3)


LISTS = {
    "nested": b"\x91" * 200_000,
    "nested, each claiming 2^32 elements": b"\xdd\xff\xff\xff\xff" * 40_000,
    "side by side": b"\xdd\x00\x03\x0d\x40" + b"\x90" * 200_000,
    "nested maps": b"\x81\x01" * 100_000,
}


@pytest.mark.parametrize("data", LISTS.values(), ids=LISTS)
def test_200_kilobytes_of_container_heads_take_no_time(data):
    started = time.perf_counter()
    assert depth_exceeds(data, 16) == (data != LISTS["side by side"])
    assert time.perf_counter() - started < 1
