"""A header's value as msgpack, and as JSON that says unambiguously what it is."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np

JSON_EXACT = 2**53 - 1
"""The largest integer that every reader of JSON reads exactly."""


@dataclass(frozen=True)
class Raw:
    """A value with bytes that no encoder would choose."""

    data: bytes
    value: Any


@dataclass(frozen=True)
class Entries:
    """A map as its entries in turn: with keys that no JSON object can hold, or that come twice."""

    entries: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Float32:
    """A float that is written in 32 bits."""

    value: float


def pack(value: Any) -> bytes:
    """msgpack of `value`: maps in their order, every length and integer in its shortest form."""
    match value:
        case Raw():
            return value.data
        case Float32():
            return b"\xca" + struct.pack(">f", value.value)
        case Entries() | dict():
            entries = value.entries if isinstance(value, Entries) else tuple(value.items())
            packer = msgpack.Packer()
            head: bytes = packer.pack_map_header(len(entries))
            return head + b"".join(pack(key) + pack(element) for key, element in entries)
        case list():
            head = msgpack.Packer().pack_array_header(len(value))
            return head + b"".join(map(pack, value))
        case _:
            data: bytes = msgpack.packb(value)
            return data


def describe(value: Any) -> Any:
    """`value` in the notation of `protocol/golden/README.md`: a JSON value."""
    match value:
        case Raw():
            return describe(value.value)
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= JSON_EXACT else {"$integer": str(value)}
        case float():
            return {"$float64": decimal(np.float64(value))}
        case Float32():
            return {"$float32": decimal(np.float32(value.value))}
        case bytes():
            return {"$bin": value.hex()}
        case msgpack.ExtType():
            return {"$ext": [value.code, value.data.hex()]}
        case list():
            return [describe(element) for element in value]
        case Entries():
            return {"$map": [[describe(key), describe(element)] for key, element in value.entries]}
        case dict():
            assert not any(key.startswith("$") or key.isdigit() for key in value), "use Entries"
            return {key: describe(element) for key, element in value.items()}
    raise TypeError(type(value))


def decimal(number: np.floating[Any]) -> str:
    """The shortest decimal that is read as this float, of its own width."""
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return str(number)


def describe_array(array: np.ndarray[Any, Any]) -> Any:
    """An array's elements as nested lists, or the only one of a scalar, in JSON."""
    if array.ndim:
        return [describe_array(part) for part in array]
    if array.dtype.kind == "f":
        return float(decimal(array[()])) if np.isfinite(array) else decimal(array[()])
    number = int(array)
    return number if abs(number) <= JSON_EXACT else str(number)
