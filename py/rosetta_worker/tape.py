"""Tapes: the messages of a session in a file (protocol/SPEC.md, section 8).

A tape stands in for the coordinator, so that a worker can be written, timed and debugged without
sockets.
"""

import os
import struct
from typing import Any, List, Optional

from rosetta_worker import wire

MAGIC = b"ROSETTA TAPE 1\n\0"
FROM_COORDINATOR = b"C"
FROM_WORKER = b"W"

_COUNT = struct.Struct("<cI")
_LENGTH = struct.Struct("<Q")


class TapeError(Exception):
    """A file that isn't a tape, or ends in the middle of a message; one sentence."""


class Tape:
    """Gives out the coordinator's messages one by one, and shows the answers."""

    live = False
    """A tape may come from a machine with another number of threads."""

    def __init__(self, path: str, show: Any, record: Optional[str] = None) -> None:
        self.reconnect_ns = 0
        self._path = path
        self._show = show
        try:
            self._file = open(path, "rb")
            self._size = os.path.getsize(path)
            if record and os.path.exists(record) and os.path.samefile(path, record):
                raise TapeError("%s can't be played and recorded at once" % path)
            self._record = open(record, "wb") if record else None
        except OSError as error:
            raise TapeError("tape: %s" % error)
        if self._file.read(len(MAGIC)) != MAGIC:
            raise TapeError("%s is not a tape: it doesn't begin with %r" % (path, MAGIC))
        if self._record:
            self._record.write(MAGIC)

    def receive(self) -> Optional[List[Any]]:
        """Frames of the coordinator's next message; None at the end of the tape."""
        while True:
            head = self._file.read(_COUNT.size)
            if not head:
                return None
            sender, count = _COUNT.unpack(self._whole(head, _COUNT.size))
            if count > wire.MAX_FRAMES or sender not in (FROM_COORDINATOR, FROM_WORKER):
                raise TapeError("%s is damaged at byte %d" % (self._path, self._file.tell()))
            frames = [self._frame() for _ in range(count)]
            if sender == FROM_COORDINATOR:
                self._keep(FROM_COORDINATOR, frames)
                return frames

    def send(self, header: wire.Header, arrays: wire.Arrays) -> None:
        """Show an answer, and record it where that was asked for."""
        self._keep(FROM_WORKER, wire.encode(header, arrays))
        self._show(header)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._record:
            self._record.close()

    def _frame(self) -> bytes:
        (length,) = _LENGTH.unpack(self._whole(self._file.read(_LENGTH.size), _LENGTH.size))
        if length > self._size:
            raise TapeError("%s is damaged: a frame of %d bytes" % (self._path, length))
        return self._whole(self._file.read(length), length)

    def _whole(self, data: bytes, length: int) -> bytes:
        if len(data) != length:
            raise TapeError("%s ends in the middle of a message" % self._path)
        return data

    def _keep(self, sender: bytes, frames: List[Any]) -> None:
        if not self._record:
            return
        self._record.write(_COUNT.pack(sender, len(frames)))
        for frame in frames:
            data = memoryview(frame)
            self._record.write(_LENGTH.pack(data.nbytes))
            self._record.write(data.cast("B") if data.nbytes else b"")
