"""Messages to and from multipart frames: frame 0 is the header, frame i + 1 holds `arrays[i]`."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rosetta.protocol import messages
from rosetta.protocol.depth import depth_exceeds
from rosetta.protocol.limits import MAX_FRAME_BYTES, MAX_FRAMES, MAX_HEADER_BYTES, MAX_HEADER_DEPTH
from rosetta.protocol.messages import Array, Id, Message, ProtocolError, UnknownMessageError, Word

Arrays = Mapping[str, NDArray[Any]]
Buffer = bytes | memoryview
Frames = list[Buffer]

_DTYPES = {name: np.dtype(name).newbyteorder("<") for name in messages.DTYPES}
_NAMES: dict[np.dtype[Any], Any] = {np.dtype(name): name for name in messages.DTYPES}
"""NumPy takes microseconds to spell a dtype's name."""
_encoder = msgspec.msgpack.Encoder()
_decoders = {name: msgspec.msgpack.Decoder(kind) for name, kind in messages.ALL.items()}


class _Envelope(msgspec.Struct):
    """What is read of a header before its type is known."""

    id: messages.Id
    type: Any = None


_envelope = msgspec.msgpack.Decoder(_Envelope)


class Greeting(msgspec.Struct, frozen=True):
    """The fields of HELLO that stay as they are in every version (SPEC section 13)."""

    type: Literal["HELLO"]
    id: Id
    protocol: Word
    run: Word
    key: Word
    worker: Word


_greeting = msgspec.msgpack.Decoder(Greeting)


def read_greeting(frames: Sequence[Buffer]) -> Greeting | None:
    """Who greets, in whatever version; None when these frames aren't a HELLO."""
    try:
        greeting: Greeting = _read(_greeting, _check_header(frames[0]), None)
    except (ProtocolError, IndexError):
        return None
    return greeting


def describe(arrays: Arrays) -> list[Array]:
    """The `arrays` field of a header. Raises `ProtocolError` for a dtype not in the list."""
    return [
        Array(name=name, dtype=_dtype_name(name, array), shape=list(array.shape))
        for name, array in arrays.items()
    ]


def encode(message: Message, arrays: Arrays | None = None) -> Frames:
    """Frames of a message: a header, then one frame an array, without copying contiguous ones.

    The message's own `arrays` field must be `describe(arrays)`.
    """
    header = _encoder.encode(message)
    if len(header) > MAX_HEADER_BYTES:
        raise ProtocolError("bad_header", f"header of {len(header)} bytes: too large to be sent")
    return [header, *(_bytes_of(array) for array in (arrays or {}).values())]


def decode(
    frames: Sequence[Buffer], *, expected: Container[type[Message]]
) -> tuple[Message, Arrays]:
    """Message and its arrays (read-only views of the frames, no copy).

    Raises `UnknownMessageError` for a type that isn't in `expected`, `ProtocolError` for anything
    that breaks the protocol; both carry the `id` of the offending message when it could be read.
    """
    if not 1 <= len(frames) <= MAX_FRAMES:
        raise ProtocolError("bad_frames", f"{len(frames)} frames: a message has 1 to {MAX_FRAMES}")
    header = _check_header(frames[0])
    envelope = _read(_envelope, header, None)
    if not isinstance(envelope.type, str):
        raise ProtocolError("bad_header", "header lacks `type` (text)", envelope.id)
    kind = messages.ALL.get(envelope.type)
    if kind is None or kind not in expected:
        shown = envelope.type[:64]
        raise UnknownMessageError("unknown_type", f"unknown message {shown!r}", envelope.id)
    message = _read(_decoders[envelope.type], header, envelope.id)
    descriptions: list[Array] = getattr(message, "arrays", [])
    if len(frames) - 1 != len(descriptions):
        raise ProtocolError(
            "bad_frames",
            f"{envelope.type} describes {len(descriptions)} arrays and has {len(frames) - 1}",
            envelope.id,
        )
    arrays = {
        description.name: _array_of(description, frame, envelope.id)
        for description, frame in zip(descriptions, frames[1:], strict=True)
    }
    if len(arrays) != len(descriptions):
        raise ProtocolError("bad_frames", f"{envelope.type} names an array twice", envelope.id)
    return message, arrays


def _read(decoder: Any, header: Buffer, re: int | None) -> Any:
    try:
        return decoder.decode(header)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ProtocolError("bad_header", f"header: {error}", re) from error


def _check_header(frame: Buffer) -> Buffer:
    size = memoryview(frame).nbytes
    if size > MAX_HEADER_BYTES:
        raise ProtocolError("bad_header", f"header of {size} bytes: at most {MAX_HEADER_BYTES}")
    if depth_exceeds(frame, MAX_HEADER_DEPTH):
        raise ProtocolError("bad_header", f"header is nested deeper than {MAX_HEADER_DEPTH}")
    return frame


def _dtype_name(name: str, array: NDArray[Any]) -> Any:
    found = _NAMES.get(array.dtype) or array.dtype.name
    if found not in _DTYPES:
        raise ProtocolError("bad_dtype", f"array {name!r} has dtype {array.dtype}")
    return found


def _bytes_of(array: NDArray[Any]) -> memoryview:
    if array.nbytes > MAX_FRAME_BYTES:
        raise ProtocolError("bad_frames", f"array of {array.nbytes} bytes: too large")
    name = _NAMES.get(array.dtype) or array.dtype.name  # the latter for a big-endian array
    contiguous = np.ascontiguousarray(array, _DTYPES[name])
    return contiguous.reshape(-1).data.cast("B") if contiguous.size else memoryview(b"")


def _array_of(description: Array, frame: Buffer, re: int) -> NDArray[Any]:
    if description.offset_bytes is not None:
        raise ProtocolError("bad_header", f"array {description.name!r} is in no frame", re)
    dtype = _DTYPES[description.dtype]
    expected = math.prod(description.shape) * dtype.itemsize
    size = memoryview(frame).nbytes
    if size != expected:
        raise ProtocolError(
            "bad_frames",
            f"array {description.name!r} ({description.dtype} {description.shape}) takes "
            f"{expected} bytes, its frame has {size}",
            re,
        )
    try:
        array = np.frombuffer(frame, dtype).reshape(description.shape)
    except ValueError as error:  # [2**31, 2**31, 2**31, 0] is empty, and yet too big for NumPy
        raise ProtocolError("bad_frames", f"array {description.name!r}: {error}", re) from error
    array.flags.writeable = False
    return array
