"""Values at the edges of msgpack and of the array types: what a receiver must take."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np

from golden.frame import Golden
from golden.messages import BATCH, INPUTS, LABELS, SETUP
from golden.notation import Entries, Float32, Raw

NAN = float("nan")
INFINITE = float("inf")

INTEGERS = {
    "fixint": [0, 1, 127],
    "negative-fixint": [-1, -32],
    "uint8": [128, 255],
    "uint16": [256, 2**16 - 1],
    "uint32": [2**16, 2**32 - 1],
    "uint64": [2**32, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1],
    "int8": [-33, -128],
    "int16": [-129, -(2**15)],
    "int32": [-(2**15) - 1, -(2**31)],
    "int64": [-(2**31) - 1, -(2**53) - 1, -(2**63)],
}
WIDTHS = {0xCC: "B", 0xCD: "H", 0xCE: "I", 0xCF: "Q", 0xD0: "b", 0xD1: "h", 0xD2: "i", 0xD3: "q"}
NAMES = {
    "B": "uint8",
    "H": "uint16",
    "I": "uint32",
    "Q": "uint64",
    "b": "int8",
    "h": "int16",
    "i": "int32",
    "q": "int64",
}
TEXTS = {
    "latin": "äöü ÿ",
    "greek": "σ(Wx + b) ⊙ z",
    "japanese": "日本語",
    "astral": "😀 𝒳 \U0010ffff",
    "combining": "e\u0301 is not é",
    "control": "\0\t\n\r\x1f\x7f",
    "separators": "\u2028\u2029\ufeff\ufffd",
    "quotes": "\"'\\/",
}
NUMBERS = {
    "uint8": [0, 1, 127, 128, 255],
    "int32": [0, -1, 1, 2**31 - 1, -(2**31)],
    "int64": [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)],
    "float32": [0.0, -0.0, 0.1, -1.5, 3.4028235e38, 1e-45, INFINITE, -INFINITE, NAN],
    "float64": [0.0, -0.0, 0.1, -1.5, 1.7976931348623157e308, 5e-324, INFINITE, -INFINITE, NAN],
}


def goldens() -> Iterator[Golden]:
    """Whatever may stand in a header, and every kind of array."""
    yield from _integers()
    yield from _scalars()
    yield from _containers()
    yield from _unknown()
    yield from _arrays()


def carried(name: str, description: str, value: Any, **more: Any) -> Golden:
    """`value` as an unknown key of a SETUP's task, where every receiver keeps it."""
    header = {**SETUP, "task": {"name": "mlp", "value": value}, "arrays": []}
    sentence = f"{description}, as `value` in SETUP's `task`"
    return Golden(name, sentence, "coordinator", header, **more)


def _integers() -> Iterator[Golden]:
    for name, numbers in INTEGERS.items():
        form = name if "fix" in name else f"{name}, the shortest for them"
        yield carried(f"integers-{name}", f"Integers as {form}", numbers)
    for tag, form in WIDTHS.items():
        five = Raw(bytes([tag]) + struct.pack(f">{form}", 5), 5)
        name = NAMES[form]
        header = {"type": "PARAMETERS", "id": five}
        yield Golden(
            f"id-five-as-{name}", f"The `id` 5 as {name}", "coordinator", header, reencodes=False
        )
        if form.islower():
            value = Raw(bytes([tag]) + struct.pack(f">{form}", -1), -1)
            said = f"The integer -1 as {name}"
            yield carried(f"minus-one-as-{name}", said, value, reencodes=False)
    header = {"type": "PARAMETERS", "id": 2**63 - 1}
    yield Golden("id-largest", "The largest `id`", "coordinator", header)


def _scalars() -> Iterator[Golden]:
    yield carried("nil-and-booleans", "nil and the booleans", [None, False, True])
    ordinary = [0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, 1.7976931348623157e308]
    yield carried("floats-64", "Floats in 64 bits", [*ordinary, INFINITE, -INFINITE, NAN])
    small = [0.0, -0.0, 1.0, 0.1, 3.4028235e38, 1e-45, INFINITE, -INFINITE, NAN]
    yield carried(
        "floats-32",
        "Floats in 32 bits, which a receiver may widen",
        [Float32(number) for number in small],
        reencodes=False,
    )
    yield carried("texts-unicode", "Texts and keys beyond ASCII", {**TEXTS, "clé 🔑": "x"})
    sizes = {"fixstr": [0, 1, 31], "str8": [32, 255], "str16": [256, 4096]}
    for name, lengths in sizes.items():
        texts = ["x" * length for length in lengths]
        yield carried(f"texts-{name}", f"Texts as {name}", texts)
    short = Raw(b"\xdb\0\0\0\x03abc", "abc")
    yield carried("text-short-as-str32", "A text of 3 bytes as str32", short, reencodes=False)
    for name, lengths in {"bin8": [0, 1, 255], "bin16": [256]}.items():
        values = [bytes(index % 256 for index in range(length)) for length in lengths]
        yield carried(f"binary-{name}", f"Binary values as {name}", values)
    for name, lengths in {"fixext": [1, 2, 4, 8, 16], "ext8": [0, 3, 17]}.items():
        extensions = [msgpack.ExtType(7, bytes(range(length))) for length in lengths]
        yield carried(f"extensions-{name}", f"Extensions as {name}", extensions)


def _containers() -> Iterator[Golden]:
    yield carried("empty-containers", "An empty map, array, text, binary", [{}, [], "", b""])
    for count, name in ((15, "fixmap"), (16, "map16")):
        value = {f"k{index}": index for index in range(count)}
        yield carried(f"map-of-{count}", f"A map of {count} entries, {name}", value)
    for count, name in ((15, "fixarray"), (16, "array16")):
        value = list(range(count))
        yield carried(f"array-of-{count}", f"An array of {count} elements, {name}", value)
    long = {"array32": Raw(b"\xdd\0\0\0\x01\x05", [5]), "map32": Raw(b"\xdf\0\0\0\0", {})}
    yield carried(
        "short-as-long",
        "An array and a map that are shorter than their form",
        long,
        reencodes=False,
    )
    reverse = {f"k{index}": index for index in reversed(range(20))}
    yield carried("map-in-another-order", "A map whose keys aren't sorted", reverse)
    keys = Entries((("10", 1), ("9", 2), ("$integer", 3), ("", 4)))
    yield carried("keys-strange", "Keys like numbers, with a dollar sign, and empty", keys)
    mixed = Entries(((3, "three"), ("3", "text"), (None, 0), (b"\1", 1), (2**64 - 1, 2)))
    yield carried("keys-no-texts", "Keys that are no texts: unknown ones", mixed)
    deep: Any = []
    for _ in range(13):
        deep = [deep]
    yield carried("depth-largest", "As deep as is allowed: 16 containers in each other", deep)


def _unknown() -> Iterator[Golden]:
    values = {
        "later": None,
        "x_integer": 2**64 - 1,
        "x_binary": b"\0\xff",
        "x_extension": msgpack.ExtType(99, b"later"),
        "x_map": {"a": [1.5, {"b": True}], "type": "no message"},
    }
    yield Golden(
        "unknown-keys",
        "BATCH with keys of a later version",
        "coordinator",
        {**BATCH, **values},
        {**INPUTS, **LABELS},
        plain=False,
    )
    stamp = {"type": "END", "id": 5, "when": msgpack.ExtType(127, b"\0" * 4)}
    yield Golden(
        "unknown-key-extension",
        "END with an extension under an unknown key",
        "coordinator",
        stamp,
        plain=False,
    )
    backwards = {"arrays": None, "step": 0, "id": 2, "type": "BATCH"}
    described = [
        {"shape": list(a.shape), "unit": "none", "dtype": a.dtype.name, "name": n}
        for n, a in {**INPUTS, **LABELS}.items()
    ]
    yield Golden(
        "another-order",
        "BATCH whose keys are in another order, everywhere",
        "coordinator",
        {**backwards, "arrays": described},
        {**INPUTS, **LABELS},
        reencodes=False,
        plain=False,
    )
    later = {"type": "HEARTBEAT", "id": 3, "arrays": "of a later version"}
    yield Golden(
        "unknown-type",
        "A message of an unknown type, with frames: no answer",
        "coordinator",
        later,
        outcome="ignored",
        frames=[msgpack.packb(later), b"\1\2\3", b""],
    )


def _arrays() -> Iterator[Golden]:
    values = {"type": "VALUES", "id": 4, "re": 4}
    for dtype, numbers in NUMBERS.items():
        array = np.array(numbers, dtype)
        yield Golden(
            f"dtype-{dtype}", f"An array of {dtype}, at its edges", "worker", values, {"x": array}
        )
    shapes: dict[str, tuple[int, ...]] = {
        "scalar": (),
        "one": (1,),
        "empty": (0,),
        "rows-without-columns": (3, 0),
        "no-rows-of-three": (0, 3),
        "eight-axes": (1, 2, 1, 3, 1, 1, 2, 1),
    }
    for name, shape in shapes.items():
        count = int(np.prod(shape, dtype=int))
        array = np.arange(1, count + 1, dtype=np.int32).reshape(shape)
        said = f"An array of the shape {list(shape)}, in a frame of {array.nbytes} bytes"
        yield Golden(f"shape-{name}", said, "worker", values, {"x": array})
    longest = {**values, "arrays": [{"name": "x", "dtype": "uint8", "shape": [0, 2**31]}]}
    yield Golden(
        "shape-longest-axis",
        "An empty array with the longest axis there is",
        "worker",
        longest,
        {"x": np.zeros((0, 2**31), np.uint8)},
    )
    several = {
        "z": np.array([1], np.int64),
        "a": np.array([2.5], np.float64),
        "": np.array([3], np.uint8),
        "poids 😀": np.array([[4]], np.float32),
    }
    yield Golden(
        "arrays-in-order", "Arrays whose order isn't their names'", "worker", values, several
    )
    shared = bytes(range(256)) + bytes(range(64))
    described = [
        {"name": "inputs", "dtype": "uint8", "shape": [2, 3], "offset_bytes": 256},
        {"name": "labels", "dtype": "int32", "shape": [2]},
    ]
    lying = {"inputs": np.arange(6, dtype=np.uint8).reshape(2, 3), **LABELS}
    yield Golden(
        "shared-memory",
        "BATCH whose inputs lie in shared memory and whose labels don't",
        "coordinator",
        {**BATCH, "arrays": described},
        lying,
        reencodes=False,
        frames=[msgpack.packb({**BATCH, "arrays": described}), LABELS["labels"].tobytes()],
        shared_memory=shared,
    )
