"""Tapes: the messages of a session in a file (protocol/SPEC.md, section 8).

A tape stands in for the coordinator, so that a worker can be written, timed and debugged without
sockets. Where it holds the answers of a worker too, those of this one are compared with them.
"""

import os
import struct
from typing import Any, Dict, List, Optional, Tuple

from rosetta_worker import wire
from rosetta_worker.recorded import Recorded

MAGIC = b"ROSETTA TAPE 1\n\0"
FROM_COORDINATOR = b"C"
FROM_WORKER = b"W"

_COUNT = struct.Struct("<cI")
_LENGTH = struct.Struct("<Q")


class TapeError(Exception):
    """A file that isn't a tape, or ends in the middle of a message; one sentence."""


class Tape:
    """Gives out the coordinator's messages one by one, shows the answers, and compares them."""

    live = False
    """A tape may come from a machine with another number of threads."""

    def __init__(self, path: str, show: Any, record: Optional[str] = None) -> None:
        self.reconnect_ns = 0
        self.recorded = Recorded()
        self.refused = 0
        """Questions that were answered with ERROR, and have no other answer on the tape."""
        self._path = path
        self._show = show
        self._record: Any = None
        try:
            self._file = open(path, "rb")
            self._size = os.path.getsize(path)
        except OSError as error:
            raise TapeError("tape: %s" % error)
        try:
            self._hello, self._answers = self._find_answers()
            self._begin_record(record)
        except TapeError:
            self.close()
            raise

    def receive(self) -> Optional[List[Any]]:
        """Frames of the coordinator's next message; None at the end of the tape."""
        while True:
            head = self._file.read(_COUNT.size)
            if not head:
                return None
            sender, count = self._read_head(head)
            frames = [self._frame() for _ in range(count)]
            if sender == FROM_COORDINATOR:
                self._keep(FROM_COORDINATOR, frames)
                self._notice(frames)
                return frames

    def receive_at_once(self) -> None:
        """Nothing: a tape's next message is there when the last one was answered, not before."""

    def send(self, header: wire.Header, arrays: wire.Arrays) -> None:
        """Show an answer, record it where that was asked for, compare it where there is another."""
        self._keep(FROM_WORKER, wire.encode(header, arrays))
        self._show(header)
        if header["type"] == "HELLO" and self._hello:
            self.recorded.greeted(self._hello, header)
        elif header.get("re") in self._answers:
            self._compare(header, arrays, self._answers[header["re"]])
        elif header["type"] == "ERROR":
            self.refused += 1
        self.recorded.answered(header)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._record:
            self._record.close()

    # --- the recorded answers ---------------------------------------------------------------------

    def _find_answers(self) -> Tuple[wire.Header, Dict[int, int]]:
        """The worker's HELLO, and where its answers lie by the `id` of what they answer.

        Leaves the file at the first message. Raises `TapeError` for one that isn't whole.
        """
        hello: wire.Header = {}
        answers: Dict[int, int] = {}
        if self._file.read(len(MAGIC)) != MAGIC:
            raise TapeError("%s is not a tape: it doesn't begin with %r" % (self._path, MAGIC))
        first = where = self._file.tell()
        head = self._file.read(_COUNT.size)
        while head:
            sender, count = self._read_head(head)
            for position in range(count):
                if position == 0 and sender == FROM_WORKER:
                    header = _header_of(self._frame())
                    if header.get("type") == "HELLO":
                        hello = hello or header
                    elif wire.is_number(header.get("re")):
                        answers.setdefault(header["re"], where)
                else:
                    self._skip_frame()
            where = self._file.tell()
            head = self._file.read(_COUNT.size)
        self._file.seek(first)
        return hello, answers

    def _compare(self, header: wire.Header, arrays: wire.Arrays, where: int) -> None:
        """Compare an answer with the one that lies there."""
        here = self._file.tell()
        self._file.seek(where)
        _, count = self._read_head(self._file.read(_COUNT.size))
        frames = [self._frame() for _ in range(count)]
        self._file.seek(here)
        try:
            self.recorded.compare(header, arrays, *wire.decode(frames))
        except (wire.WireError, KeyError, TypeError, ValueError, AttributeError) as error:
            # The tape's fault, and not that of the worker that has just answered well.
            self.recorded.unreadable("the one at byte %d can't be read: %s" % (where, error))

    def _notice(self, frames: List[Any]) -> None:
        """Remember what a SETUP begins from, if its answer will be compared."""
        header = _header_of(frames[0]) if frames and self._answers else {}
        if header.get("type") == "SETUP" and isinstance(header.get("task"), dict):
            try:
                self.recorded.asked(*wire.decode(frames))
            except wire.WireError:
                pass  # the session answers it with an ERROR

    # --- the file ---------------------------------------------------------------------------------

    def _begin_record(self, path: Optional[str]) -> None:
        if not path:
            return
        try:
            if os.path.exists(path) and os.path.samefile(self._path, path):
                raise TapeError("%s can't be played and recorded at once" % path)
            self._record = open(path, "wb")
        except OSError as error:
            raise TapeError("tape: %s" % error)
        self._record.write(MAGIC)

    def _read_head(self, head: bytes) -> Tuple[bytes, int]:
        """Sender and number of frames of a message."""
        sender, count = _COUNT.unpack(self._whole(head, _COUNT.size))
        if count > wire.MAX_FRAMES or sender not in (FROM_COORDINATOR, FROM_WORKER):
            raise TapeError("%s is damaged at byte %d" % (self._path, self._file.tell()))
        return sender, count

    def _frame(self) -> bytes:
        length = self._length()
        return self._whole(self._file.read(length), length)

    def _skip_frame(self) -> None:
        self._file.seek(self._length(), os.SEEK_CUR)
        if self._file.tell() > self._size:
            raise TapeError("%s ends in the middle of a message" % self._path)

    def _length(self) -> int:
        """The length that stands in front of a frame, checked against the file's."""
        length: int
        (length,) = _LENGTH.unpack(self._whole(self._file.read(_LENGTH.size), _LENGTH.size))
        if length > self._size:
            raise TapeError("%s is damaged: a frame of %d bytes" % (self._path, length))
        return length

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


def _header_of(frame: Any) -> wire.Header:
    """A header; empty when it can't be read."""
    try:
        return wire.decode_header(frame)
    except wire.WireError:
        return {}
