"""One golden message: its two files."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from golden.notation import describe, describe_array, pack

MAGIC = b"ROSETTA TAPE 1\n\0"

Sender = Literal["coordinator", "worker"]
Outcome = Literal["taken", "ignored", "refused", "open"]


@dataclass(frozen=True)
class Golden:
    """A message, and what a receiver makes of it."""

    name: str
    description: str
    sender: Sender
    header: Any
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    outcome: Outcome = "taken"
    code: str | None = None
    """Of the refusal."""
    re: int | None = None
    reencodes: bool = True
    """Whoever keeps what it reads, in its order, and writes it in the shortest form, has these
    bytes again."""
    plain: bool = True
    """The fields are those of the specification's table, in its order, and no others."""
    frames: list[bytes] | None = None
    """All frames, where they aren't those of `header` and `arrays`."""
    probes: list[tuple[str, list[int]]] = field(default_factory=list)
    """Elements that tell whether axes were swapped: array and index."""
    shared_memory: bytes | None = None

    def all_frames(self) -> list[bytes]:
        """The message as it is sent."""
        if self.frames is not None:
            return self.frames
        return [pack(with_arrays(self.header, self.arrays)), *map(bytes_of, self.arrays.values())]

    def description_file(self) -> dict[str, Any]:
        """The content of NAME.json."""
        content: dict[str, Any] = {
            "description": self.description,
            "sender": self.sender,
            "outcome": self.outcome,
        }
        if self.outcome in ("refused", "open"):
            content |= {"code": self.code, "re": self.re}
        if self.outcome == "taken":
            content |= {"reencodes": self.reencodes, "plain": self.plain}
        if self.shared_memory is not None:
            content["shared_memory"] = self.shared_memory.hex()
        if self.header is not None and self.outcome != "refused":
            content["header"] = describe(with_arrays(self.header, self.arrays))
        if self.outcome == "taken":
            content["arrays"] = [
                {
                    "name": name,
                    "dtype": array.dtype.name,
                    "shape": list(array.shape),
                    "values": describe_array(array),
                }
                for name, array in self.arrays.items()
            ]
        if self.probes:
            content["probes"] = [
                {"array": name, "index": index, "value": describe_array(self.arrays[name][*index])}
                for name, index in self.probes
            ]
        return content

    def files(self) -> dict[str, bytes]:
        """File name → content."""
        return {
            f"frames/{self.name}.bin": tape_of(self.sender, self.all_frames()),
            f"frames/{self.name}.json": text(self.description_file()),
        }


def with_arrays(header: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """`header` with its field `arrays`, at its end or where it has one already."""
    if not arrays or not isinstance(header, dict):
        return header
    described = [
        {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]
    return {**header, "arrays": header.get("arrays") or described}


def bytes_of(array: NDArray[Any]) -> bytes:
    """C order, little-endian."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def tape_of(sender: Sender, frames: list[bytes]) -> bytes:
    """A tape with one message (SPEC section 8)."""
    head = struct.pack("<cI", b"C" if sender == "coordinator" else b"W", len(frames))
    return MAGIC + head + b"".join(struct.pack("<Q", len(f)) + f for f in frames)


def text(content: dict[str, Any]) -> bytes:
    """JSON with a line for each key, and for each entry of `header` and `arrays`."""
    lines = []
    for key, value in content.items():
        if key in ("header", "arrays", "probes", "frames") and value:
            lines.append(f' "{key}": {_opened(value)}')
        else:
            lines.append(f' "{key}": {_compact(value)}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _opened(value: Any) -> str:
    if isinstance(value, dict):
        inside = [f"  {_compact(k)}: {_compact(v)}" for k, v in value.items()]
        return "{\n" + ",\n".join(inside) + "\n }"
    return "[\n" + ",\n".join(f"  {_compact(each)}" for each in value) + "\n ]"


def _compact(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def files_of(goldens: Iterable[Golden]) -> dict[str, bytes]:
    """The files of several messages. Raises ValueError for a name that comes twice."""
    found: dict[str, bytes] = {}
    for golden in goldens:
        files = golden.files()
        if files.keys() & found.keys():
            raise ValueError(f"two golden messages are called {golden.name}")
        found |= files
    return found
