"""Tapes: the messages of a session in a file (SPEC section 8)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from rosetta.errors import UserError
from rosetta.protocol.frames import Frames
from rosetta.protocol.limits import MAX_FRAMES

MAGIC = b"ROSETTA TAPE 1\n\0"
FROM_COORDINATOR = b"C"
FROM_WORKER = b"W"

_HEAD = struct.Struct("<cI")
_LENGTH = struct.Struct("<Q")


class TapeWriter:
    """Writes messages one after the other; the file appears under its name when it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        if path.exists() and not path.is_file():
            raise UserError(f"can't write the tape {path}: it is there and isn't a file")
        try:
            self._file = self._part.open("wb")
            self._file.write(MAGIC)
        except OSError as error:
            raise UserError(f"can't write the tape {path}: {error}") from error

    def __enter__(self) -> TapeWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        failure: OSError | None = None
        try:
            self._file.close()
            if error is None:
                self._part.replace(self._path)
        except OSError as caught:
            failure = caught
        self._part.unlink(missing_ok=True)
        if failure:
            raise UserError(f"can't write the tape {self._path}: {failure}") from failure

    def write(self, sender: bytes, frames: Frames) -> None:
        """Append one message of `sender`."""
        try:
            self._file.write(_HEAD.pack(sender, len(frames)))
            for frame in frames:
                self._file.write(_LENGTH.pack(memoryview(frame).nbytes))
                self._file.write(frame)
        except OSError as error:
            raise UserError(f"can't write the tape {self._path}: {error}") from error


def read_tape(path: Path) -> Iterator[tuple[bytes, list[bytes]]]:
    """Sender and frames of each message. Raises `UserError` for a file that isn't a whole tape."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise UserError(f"{path} is not a tape: it doesn't begin with {MAGIC!r}")
            while head := file.read(_HEAD.size):
                if len(head) < _HEAD.size:
                    raise UserError(f"tape {path} ends in the middle of a message")
                sender, count = _HEAD.unpack(head)
                if sender not in (FROM_COORDINATOR, FROM_WORKER) or count > MAX_FRAMES:
                    raise UserError(f"tape {path} is damaged before byte {file.tell()}")
                frames = []
                for _ in range(count):
                    length = file.read(_LENGTH.size)
                    wanted = _LENGTH.unpack(length)[0] if len(length) == _LENGTH.size else size + 1
                    frame = file.read(wanted) if wanted <= size else b""
                    if len(frame) != wanted:
                        raise UserError(f"tape {path} ends in the middle of a message")
                    frames.append(frame)
                yield sender, frames
    except OSError as error:
        raise UserError(f"can't read the tape {path}: {error}") from error
