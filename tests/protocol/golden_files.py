"""The golden messages, read as `protocol/golden/README.md` says, with nothing of Rosetta's."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

GOLDEN = Path(__file__).parents[2] / "protocol" / "golden"
FOLDER = GOLDEN / "1.0" / "frames"
MAGIC = b"ROSETTA TAPE 1\n\0"


@dataclass(frozen=True)
class GoldenMessage:
    """One golden message: NAME.json, and NAME.bin or the frames that a rule makes."""

    name: str
    said: dict[str, Any]
    text: str
    """NAME.json as it is."""
    frames: list[bytes]

    @property
    def header(self) -> Any:
        """The header that it must decode to."""
        return value_of(self.said["header"])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that it must decode to, in order."""
        return {a["name"]: array_of(a) for a in self.said["arrays"]}

    @property
    def shared_memory(self) -> bytes | None:
        found = self.said.get("shared_memory")
        return None if found is None else bytes.fromhex(found)

    def __str__(self) -> str:
        return self.name


@cache
def messages() -> list[GoldenMessage]:
    """The golden messages that stand in files."""
    names = sorted(path.stem for path in FOLDER.glob("*.bin"))
    return [read(name) for name in names]


@cache
def rules() -> list[GoldenMessage]:
    """The golden messages that are made by a rule."""
    return [read(path.stem) for path in sorted(FOLDER.glob("rule-*.json"))]


def read(name: str) -> GoldenMessage:
    text = (FOLDER / f"{name}.json").read_text(encoding="ascii")
    said = json.loads(text)
    binary = FOLDER / f"{name}.bin"
    if binary.exists():
        return GoldenMessage(name, said, text, frames_of(binary.read_bytes()))
    return GoldenMessage(name, said, text, frames_by_rule(said["frames"]))


def frames_of(data: bytes) -> list[bytes]:
    """The frames of a tape with one message."""
    assert data[:16] == MAGIC and data[16:17] in (b"C", b"W")
    (count,), position, frames = struct.unpack("<I", data[17:21]), 21, []
    for _ in range(count):
        (length,) = struct.unpack("<Q", data[position : position + 8])
        frames.append(data[position + 8 : position + 8 + length])
        position += 8 + length
    assert position == len(data)
    return frames


def frames_by_rule(frames: list[Any]) -> list[bytes]:
    made = []
    for frame in frames:
        if isinstance(frame, dict):  # a frame that comes often
            (pieces,) = frame["repeat"]
            made += [written(pieces)] * frame["times"]
        else:
            made.append(written(frame))
    return made


def written(pieces: list[Any], turn: int = 0) -> bytes:
    """Pieces: hexadecimal bytes, the number of the turn in digits, or pieces to be repeated."""
    parts = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(bytes.fromhex(piece))
        elif "digits" in piece:
            parts.append(f"{turn:0{piece['digits']}}".encode())
        elif all(isinstance(each, str) for each in piece["repeat"]):
            parts.append(written(piece["repeat"]) * piece["times"])
        else:
            parts += [written(piece["repeat"], turn) for turn in range(piece["times"])]
    return b"".join(parts)


def value_of(said: Any) -> Any:
    """A value of a header: maps become dicts, floats of 32 bits floats."""
    if isinstance(said, list):
        return [value_of(each) for each in said]
    if not isinstance(said, dict):
        return said
    match next(iter(said), ""):
        case "$integer":
            return int(said["$integer"])
        case "$float64" | "$float32" as form:
            return float(np.dtype(form[1:]).type(said[form]))
        case "$bin":
            return bytes.fromhex(said["$bin"])
        case "$ext":
            code, data = said["$ext"]
            return msgpack.ExtType(code, bytes.fromhex(data))
        case "$map":
            return {value_of(key): value_of(element) for key, element in said["$map"]}
        case _:
            return {key: value_of(element) for key, element in said.items()}


def array_of(said: dict[str, Any]) -> NDArray[Any]:
    """An array, from nested lists whose numbers may be texts."""
    dtype = np.dtype(said["dtype"])
    if 0 in said["shape"]:
        return np.zeros(said["shape"], dtype)
    flat = np.array(list(flattened(said["values"])), dtype)
    return flat.reshape(said["shape"])


def flattened(values: Any) -> Any:
    if isinstance(values, list):
        for each in values:
            yield from flattened(each)
    else:
        yield int(values) if isinstance(values, str) and values.lstrip("-").isdigit() else values


def same(found: Any, wanted: Any) -> bool:
    """Equal in value, type and order of keys; NaN is NaN, and -0.0 isn't 0.0."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return same(list(found.items()), list(wanted.items()))
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, float):
        return struct.pack("<d", found) == struct.pack("<d", wanted)
    return bool(found == wanted)


def same_arrays(found: Any, wanted: dict[str, NDArray[Any]]) -> bool:
    """The same names in the same order, types, shapes, and bytes."""
    if list(found) != list(wanted):
        return False
    return all(
        (found[n].dtype.name, found[n].shape, found[n].tobytes())
        == (a.dtype.name, a.shape, a.tobytes())
        for n, a in wanted.items()
    )
