"""Frames as a coordinator wouldn't write them: maps as they come, right ones or wrong ones."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from rosetta.protocol.limits import MAX_HEADER_BYTES

Header = dict[str, Any]

STRANGE: Header = {
    "x_nil": None,
    "x_binary": b"\x00\xff",
    "x_extension": msgpack.ExtType(42, b"??"),
    "x_nested": {"list": [1, -2.5, "three", {"four": [True, None]}], "type": "BATCH", 7: -1},
    "x_largest": 2**64 - 1,
    "x_smallest": -(2**63),
    "x_ünïcode": "語",
}
"""Keys of a later version: values of every kind that msgpack has."""


def pack(header: Mapping[Any, Any]) -> bytes:
    """A header as msgpack."""
    return bytes(msgpack.packb(header, use_bin_type=True, strict_types=False))


def described(arrays: Mapping[str, NDArray[Any]]) -> list[Header]:
    """The `arrays` of a header."""
    return [
        {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]


def bytes_of(arrays: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """A frame for each array."""
    return [
        np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        for array in arrays.values()
    ]


def padded(header: Header, size_bytes: int = MAX_HEADER_BYTES) -> bytes:
    """The header with an unknown key that makes it `size_bytes` long."""
    rest = size_bytes - len(pack({**header, "x_padding": "x" * 2**16}))  # the same width of length
    return pack({**header, "x_padding": "x" * (2**16 + rest)})


def nested(depth: int) -> Any:
    """Lists in each other, `depth` of them."""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def widest(value: Any) -> bytes:
    """`value` with every length and integer in its widest form, and the keys of maps reversed."""
    if value is None or isinstance(value, bool):
        return bytes(msgpack.packb(value))
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        data = value.encode()
        return struct.pack(">BI", 0xDB, len(data)) + data
    if isinstance(value, list):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(widest, value))
    pairs = b"".join(widest(k) + widest(v) for k, v in reversed(list(value.items())))
    return struct.pack(">BI", 0xDF, len(value)) + pairs


def with_short_rate(header: Header) -> bytes:
    """The header with its `learning_rate` of 0.5 as a float of 32 bits."""
    return pack(header).replace(struct.pack(">Bd", 0xCB, 0.5), struct.pack(">Bf", 0xCA, 0.5))
