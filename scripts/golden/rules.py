"""Messages at the largest sizes, written as rules: `repeat` says what to write how often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from golden.frame import text
from golden.notation import pack

MAX_HEADER_BYTES = 262144
MAX_FRAMES = 4096
MAX_ANSWER_BYTES = 67108864

Piece = str | dict[str, Any]


def files() -> dict[str, bytes]:
    """File name → content, one a rule."""
    return {f"frames/rule-{name}.json": text(content) for name, content in _rules()}


def repeat(times: int, *pieces: Piece) -> Piece:
    """The pieces, written `times` times."""
    return {"repeat": list(pieces), "times": times}


def _rules() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, size, outcome in (
        ("header-largest", MAX_HEADER_BYTES, "taken"),
        ("header-too-large", MAX_HEADER_BYTES + 1, "refused"),
    ):
        head = b"\x83" + pack("type") + pack("END") + pack("id") + pack(5) + pack("x")
        left = size - len(head) - 5
        header = [(head + b"\xc6" + left.to_bytes(4, "big")).hex(), repeat(left, "00")]
        said = f"END with a header of {size} bytes, nearly all of them under an unknown key"
        yield name, _rule(said, outcome, [header], "bad_header", "END", plain=False)
    for name, arrays, outcome in (
        ("frames-most", MAX_FRAMES - 1, "taken"),
        ("frames-too-many", MAX_FRAMES, "refused"),
    ):
        head = b"\x84" + pack("type") + pack("VALUES") + pack("id") + pack(5) + pack("re") + b"\5"
        head += pack("arrays") + b"\xdc" + arrays.to_bytes(2, "big")
        before, after = pack({"name": "0000", "dtype": "uint8", "shape": [1]}).split(b"0000")
        header = [head.hex(), repeat(arrays, before.hex(), {"digits": 4}, after.hex())]
        frames = [header, repeat(arrays, ["07"])]
        said = f"VALUES of {arrays} arrays of one byte, and so {arrays + 1} frames"
        yield name, _rule(said, outcome, frames, "bad_frames", "VALUES", arrays=arrays)
    yield from _long_values()
    rows = MAX_ANSWER_BYTES // 4 // 1024
    described = [{"name": "logits", "dtype": "float32", "shape": [rows, 1024]}]
    header = {"type": "PREDICTIONS", "id": 5, "re": 5, "arrays": described}
    head = pack({**header, "wait_ns": 1, "copy_ns": 1, "predict_ns": 1})
    frames = [[head.hex()], [repeat(MAX_ANSWER_BYTES, "00")]]
    said = f"PREDICTIONS in the largest frame that a worker sends, {MAX_ANSWER_BYTES} bytes"
    yield "answer-largest", _rule(said, "taken", frames, None, "PREDICTIONS", arrays=1)


def _long_values() -> Iterator[tuple[str, dict[str, Any]]]:
    """Values of every msgpack form with a length that takes kilobytes."""
    for name, form, tag, count, piece in (
        ("text-str16", "str16", "da", 65535, ["78"]),
        ("text-str32", "str32", "db", 65536, ["78"]),
        ("binary-bin16", "bin16", "c5", 65535, ["00"]),
        ("binary-bin32", "bin32", "c6", 65536, ["00"]),
        ("array-array16", "array16", "dc", 65535, ["2a"]),
        ("array-array32", "array32", "dd", 65536, ["2a"]),
        ("map-map16", "map16", "de", 20000, ["a5", {"digits": 5}, "c3"]),
        ("extension-ext16", "ext16", "c8", 65535, ["00"]),
        ("extension-ext32", "ext32", "c9", 65536, ["00"]),
    ):
        width = 4 if form.endswith("32") else 2
        length = count.to_bytes(width, "big").hex() + ("07" if form.startswith("ext") else "")
        head = b"\x83" + pack("type") + pack("END") + pack("id") + pack(5) + pack("x")
        header = [head.hex() + tag + length, repeat(count, *piece)]
        said = f"END with {form} of {count} bytes or entries under an unknown key"
        yield name, _rule(said, "taken", [header], None, "END", plain=False)
    characters = 4096
    message = "db" if characters * 4 > 65535 else "da"
    head = b"\x85" + pack("type") + pack("ERROR") + pack("id") + pack(5) + pack("code")
    head += pack("backend") + pack("message") + bytes.fromhex(message)
    head += (4 * characters).to_bytes(2, "big")
    tail = pack("fatal") + pack(False)
    header = [head.hex(), repeat(characters, "f09f9880"), tail.hex()]
    said = f"ERROR with the longest sentence: {characters} characters, each of four bytes"
    yield "sentence-longest", _rule(said, "taken", [header], None, "ERROR")


def _rule(
    description: str,
    outcome: str,
    frames: list[Any],
    code: str | None,
    kind: str,
    *,
    arrays: int = 0,
    plain: bool = True,
) -> dict[str, Any]:
    content: dict[str, Any] = {"description": description, "outcome": outcome}
    if outcome == "refused":
        content |= {"code": code, "re": None}
    else:
        content |= {"reencodes": True, "plain": plain, "type": kind, "id": 5, "array_count": arrays}
    return {**content, "frames": frames}
