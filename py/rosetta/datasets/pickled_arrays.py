"""What the closed unpickler makes of NumPy's arrays: descriptions, checked before use.

A pickled array is a call of `_reconstruct` (an empty array), followed by a state: shape, dtype and
content. Here the call gives an `ArrayValue`, and its state is read as data; NumPy's own
`__setstate__`, which trusts what it gets, is never called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from rosetta.datasets.model import DamagedError

_MAX_DIMENSIONS = 8
_PLAIN_DTYPE = re.compile(r"[iu][1248]|f[248]|b1|O8?")


@dataclass(frozen=True)
class Global:
    module: str
    name: str


_RECONSTRUCT = Global("numpy.core.multiarray", "_reconstruct")
_RECONSTRUCT_2 = Global("numpy._core.multiarray", "_reconstruct")  # NumPy 2 writes this
_NDARRAY = Global("numpy", "ndarray")
_DTYPE = Global("numpy", "dtype")
_ENCODE = Global("_codecs", "encode")  # how Python 3 writes bytes in protocol 2
_EMPTY = Global("__builtin__", "bytes")  # and the empty ones
ALLOWED = frozenset({_RECONSTRUCT, _RECONSTRUCT_2, _NDARRAY, _DTYPE, _ENCODE, _EMPTY})


class DtypeValue:
    """A dtype under construction: its code ("u1"), and the byte order that BUILD brings."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = "|"

    def build(self, state: Any) -> None:
        """State as NumPy writes it: version, order, no subarray, no names, no fields, …"""
        if not isinstance(state, tuple) or len(state) < 5 or state[2:5] != (None, None, None):
            raise DamagedError("a dtype with fields")
        self.order = _text(state[1])
        if self.order not in ("|", "<", ">", "="):
            raise DamagedError(f"the byte order {self.order[:20]!r}")

    def resolve(self) -> np.dtype[Any]:
        return np.dtype("O" if self.code[0] == "O" else self.order + self.code)


class ArrayValue:
    """An array in a pickle. `value` is an ndarray or, for objects, a list; None until built."""

    def __init__(self) -> None:
        self.value: np.ndarray[Any, Any] | list[Any] | None = None

    def build(self, state: Any) -> None:
        """State as NumPy writes it: version, shape, dtype, Fortran order, content."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise DamagedError("an array without shape and content")
        _, shape, dtype, fortran, content = state
        if not isinstance(dtype, DtypeValue) or not _is_shape(shape):
            raise DamagedError("an array with a wrong shape or dtype")
        resolved = dtype.resolve()
        if resolved.hasobject:
            self.value = _objects(shape, content)
            return
        data = _bytes(content)
        if len(data) != prod(shape) * resolved.itemsize:
            raise DamagedError(f"an array of shape {shape} with {len(data):,} bytes")
        order = "F" if fortran is True else "C"
        self.value = np.frombuffer(data, resolved).reshape(shape, order=order)  # type: ignore[call-overload]


def _is_shape(shape: Any) -> bool:
    return (
        isinstance(shape, tuple)
        and len(shape) <= _MAX_DIMENSIONS
        and all(type(size) is int and 0 <= size < 1 << 40 for size in shape)
    )


def _objects(shape: tuple[int, ...], content: Any) -> list[Any]:
    if len(shape) != 1 or not isinstance(content, list) or len(content) != shape[0]:
        raise DamagedError(f"an object array of shape {shape} that isn't one list of that length")
    return content


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return value
    raise DamagedError(f"a {type(value).__name__} where a string belongs")


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("latin-1")
    raise DamagedError(f"a {type(value).__name__} where bytes belong")


def describe(function: Any, arguments: tuple[Any, ...]) -> Any:
    """What a call of one of the allowed globals stands for; nothing is called."""
    if function in (_RECONSTRUCT, _RECONSTRUCT_2):
        if len(arguments) != 3 or arguments[0] != _NDARRAY:
            raise DamagedError("an array that isn't a plain numpy.ndarray")
        return ArrayValue()
    if function == _DTYPE and arguments:
        code = _text(arguments[0])
        if not _PLAIN_DTYPE.fullmatch(code):
            raise DamagedError(f"the dtype {code[:40]!a}")
        return DtypeValue(code)
    if function == _ENCODE and len(arguments) == 2 and _text(arguments[1]) == "latin1":
        return _text(arguments[0]).encode("latin-1")
    if function == _EMPTY and arguments == ():
        return b""
    raise DamagedError("a call of something that isn't to be called")
