"""Messages that a receiver must refuse, each with its error code."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np

from golden.frame import Golden, bytes_of
from golden.messages import BATCH, INPUTS, LABELS, PARAMETERS
from golden.notation import Entries, Raw, pack

END: dict[str, Any] = {"type": "END", "id": 5}
VALUES: dict[str, Any] = {"type": "VALUES", "id": 5, "re": 5}


def goldens() -> Iterator[Golden]:
    """Bad headers, bad descriptions of arrays, bad frames, and what the specification leaves."""
    yield from _bytes()
    yield from _fields()
    yield from _descriptions()
    yield from _frames()
    yield from _left_open()


def refused(
    name: str, description: str, *frames: bytes, code: str = "bad_header", re: int | None = None
) -> Golden:
    """A message that is these frames."""
    return Golden(
        f"refused-{name}",
        description,
        "coordinator",
        None,
        frames=list(frames),
        outcome="refused",
        code=code,
        re=re,
    )


def _bytes() -> Iterator[Golden]:
    whole = pack(END)
    yield refused("nothing", "A header of no bytes", b"")
    yield refused("c1", "A header that begins with a byte that msgpack never uses", b"\xc1")
    yield refused("truncated", "A header that ends in the middle of a text", whole[:-3])
    yield refused(
        "truncated-map", "A map that claims an entry more than there is", b"\x83" + whole[1:]
    )
    yield refused("behind", "A header with another value behind it", whole + b"\xc0")
    for name, tag in {
        "text": 0xDB,
        "binary": 0xC6,
        "array": 0xDD,
        "map": 0xDF,
        "ext": 0xC9,
    }.items():
        claim = bytes([tag]) + struct.pack(">I", 2**32 - 1)
        data = b"\x83" + whole[1:] + pack("later") + claim + b"\0" * 8
        yield refused(
            f"claim-{name}", f"A {name} that claims to have 4294967295 bytes or elements", data
        )
    invalid = b"\x82" + pack("type") + b"\xa3EN\xff" + pack("id") + b"\x05"
    yield refused("utf8", "A type that isn't UTF-8", invalid)
    surrogate = b"\x82" + pack("type") + b"\xa3\xed\xa0\x80" + pack("id") + b"\x05"
    yield refused("surrogate", "A type that is half of a surrogate pair", surrogate)
    container = b"\x83" + whole[1:] + b"\x91\x01\x01"
    yield refused("key-array", "A key that is an array", container)
    for name, value in {"array": ["END", 5], "text": "END", "nil": None, "integer": 5}.items():
        yield refused(f"header-{name}", f"A header that is no map: {name}", pack(value))


def _fields() -> Iterator[Golden]:
    yield refused("empty-map", "A header without anything", pack({}))
    yield refused("no-type", "A header without `type`", pack({"id": 5}), re=5)
    yield refused("no-id", "A header without `id`", pack({"type": "END"}))
    types: dict[str, Any] = {"nil": None, "integer": 5, "binary": b"END", "array": ["END"]}
    for name, value in types.items():
        header = pack({"type": value, "id": 5})
        yield refused(f"type-{name}", f"A `type` that is no text: {name}", header, re=5)
    ids: dict[str, Any] = {
        "nil": None,
        "negative": -1,
        "too-large": 2**63,
        "float": 5.0,
        "boolean": True,
        "text": "5",
    }
    for name, value in ids.items():
        header = pack({"type": "END", "id": value})
        yield refused(f"id-{name}", f"An `id` that is no number of a message: {name}", header)
    deep: Any = []
    for _ in range(15):
        deep = [deep]
    yield refused(
        "too-deep", "A header with 17 containers in each other", pack({**END, "x": deep}), re=5
    )
    bottomless = b"\x83" + pack(END)[1:] + pack("x") + b"\x91" * 1000 + b"\xc0"
    yield refused("far-too-deep", "A header with 1001 containers in each other", bottomless, re=5)


def _descriptions() -> Iterator[Golden]:
    right = {"name": "x", "dtype": "uint8", "shape": [2]}
    wrong: dict[str, dict[str, Any]] = {
        "dtype-float16": {**right, "dtype": "float16", "shape": [1]},
        "dtype-spelling": {**right, "dtype": "<u1"},
        "dtype-nil": {**right, "dtype": None},
        "dtype-missing": {"name": "x", "shape": [2]},
        "name-missing": {"dtype": "uint8", "shape": [2]},
        "name-integer": {**right, "name": 1},
        "shape-missing": {"name": "x", "dtype": "uint8"},
        "shape-integer": {**right, "shape": 2},
        "shape-negative": {**right, "shape": [-1, -2]},
        "shape-float": {**right, "shape": [2.0]},
        "shape-boolean": {**right, "shape": [True, 2]},
        "shape-too-long-axis": {**right, "shape": [0, 2**31 + 1]},
        "shape-nine-axes": {**right, "shape": [2] + [1] * 8},
    }
    for name, described in wrong.items():
        header = pack({**VALUES, "arrays": [described]})
        said = f"A description of an array that can't be: {name.replace('-', ' ')}"
        yield refused(name, said, header, b"" if name == "shape-too-long-axis" else b"\1\2", re=5)
    for name, value in {"nil": None, "map": right, "of-texts": ["x"]}.items():
        header = pack({**VALUES, "arrays": value})
        frames = [b"\1\2"] if name == "of-texts" else []
        said = f"`arrays` that is no list of maps: {name}"
        yield refused(f"arrays-{name}", said, header, *frames, re=5)


def _frames() -> Iterator[Golden]:
    head, *frames = Golden("", "", "coordinator", BATCH, {**INPUTS, **LABELS}).all_frames()
    cases = {
        "frame-missing": ("A frame less than arrays", [frames[0]]),
        "frames-missing": ("No frame at all for two arrays", []),
        "frame-too-many": ("A frame more than arrays", [*frames, b""]),
        "frame-short": ("A frame that lacks a byte", [frames[0][:-1], frames[1]]),
        "frame-long": ("A frame with a byte too many", [frames[0], frames[1] + b"\0"]),
        "frame-empty": ("An empty frame for an array that isn't", [b"", frames[1]]),
        "frames-swapped": ("Two frames of other lengths that are swapped", frames[::-1]),
    }
    for name, (said, given) in cases.items():
        yield refused(name, said, head, *given, code="bad_frames", re=2)
    yield refused(
        "frame-without-arrays",
        "A frame behind a message that has no `arrays`",
        pack(END),
        b"\0",
        code="bad_frames",
        re=5,
    )
    scalar = {**VALUES, "arrays": [{"name": "x", "dtype": "float32", "shape": []}]}
    yield refused(
        "scalar-empty",
        "A scalar in an empty frame: it has one element",
        pack(scalar),
        b"",
        code="bad_frames",
        re=5,
    )
    twice = [{"name": "x", "dtype": "uint8", "shape": [1]}] * 2
    yield refused(
        "array-twice",
        "Two arrays of one name",
        pack({**VALUES, "arrays": twice}),
        b"\1",
        b"\2",
        code="bad_frames",
        re=5,
    )
    huge = {"name": "x", "dtype": "float64", "shape": [2**31, 2**31]}
    yield refused(
        "frame-huge",
        "An array that would have 2^65 bytes, in a frame of eight",
        pack({**VALUES, "arrays": [huge]}),
        b"\0" * 8,
        code="bad_frames",
        re=5,
    )
    overflowing = {"name": "x", "dtype": "uint8", "shape": [2**31, 2**31, 2**31, 2**31]}
    yield refused(
        "frame-overflow",
        "A shape whose product is 0 in 64 bits, with an empty frame",
        pack({**VALUES, "arrays": [overflowing]}),
        b"",
        code="bad_frames",
        re=5,
    )


def _left_open() -> Iterator[Golden]:
    for name, data in {"short": b"\xc7\x03\xff123", "late": b"\xd7\xff" + b"\xff" * 8}.items():
        said = f"An unknown key with an extension of the type -1 that is no timestamp: {name}"
        yield Golden(
            f"open-timestamp-{name}",
            said,
            "coordinator",
            None,
            frames=[pack({**END, "x": Raw(data, None)})],
            outcome="open",
            code="bad_header",
        )
    doubled = Entries((("type", "END"), ("id", 5), ("x", 1), ("x", 2)))
    yield Golden(
        "open-key-twice",
        "An unknown key that comes twice: either value, or a refusal",
        "coordinator",
        doubled,
        outcome="open",
        code="bad_header",
        re=5,
    )
    entries = (("type", "END"), ("id", 5), (5, "no text"), (None, None))
    yield Golden(
        "open-keys-no-texts",
        "Keys of a header that are no texts: skipped, or refused",
        "coordinator",
        Entries(entries),
        outcome="open",
        code="bad_header",
        re=5,
    )
    large = [{"name": "x", "dtype": "float64", "shape": [2**31, 2**31, 2**31, 0]}]
    yield Golden(
        "open-empty-huge",
        "An empty array whose other axes multiply to 2^96 bytes: it may be refused",
        "worker",
        {**VALUES, "arrays": large},
        outcome="open",
        code="bad_frames",
        re=5,
        frames=[msgpack.packb({**VALUES, "arrays": large}), b""],
    )
    several = {"a": PARAMETERS["fc1.bias"], "b": np.zeros(1, np.uint8)}
    described = [
        {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in several.items()
    ]
    entries = (
        ("type", "VALUES"),
        ("id", 5),
        ("re", 5),
        ("arrays", described),
        ("arrays", described),
    )
    yield Golden(
        "open-arrays-twice",
        "`arrays` that comes twice, twice the same",
        "worker",
        Entries(entries),
        outcome="open",
        code="bad_header",
        re=5,
        frames=[pack(Entries(entries)), *map(bytes_of, several.values())],
    )
