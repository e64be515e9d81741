"""Bounded, streaming access to gzip, tar and zip files that somebody else has made.

Nothing is extracted to the disk, so neither paths nor links in an archive matter. What can be read
out of one file is bounded, so that a small file can't fill the memory. A gzip file is read to its
very end, where its checksum is. Every malformation comes as one of the exceptions in `DAMAGE`.
"""

from __future__ import annotations

import gzip
import lzma
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rosetta.datasets.model import DamagedError

MIB = 1 << 20

# What the standard library raises on bytes that are not what they should be.
DAMAGE: tuple[type[Exception], ...] = (
    ValueError,  # DamagedError, UnicodeError, most of the library
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    EOFError,
    OSError,  # gzip.BadGzipFile, tarfile's own
    MemoryError,
    RecursionError,
    NotImplementedError,
    RuntimeError,  # zipfile on an encrypted member
    SyntaxError,  # the header of a .npy file is a Python literal
    AssertionError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    tokenize.TokenError,
)


class _Bounded:
    """A reader that refuses to give more than `limit_bytes`."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, limit_bytes: int) -> None:
        self._stream = stream
        self._left = limit_bytes

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._left:
            size = self._left + 1
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise DamagedError("it unpacks to more than such a file can hold")
        return data


@contextmanager
def unzipped(path: Path, limit_bytes: int) -> Iterator[_Bounded]:
    """The content of a file, unpacked if it begins like a gzip file, up to `limit_bytes`."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not zipped:
            yield _Bounded(raw, limit_bytes)
            return
        with gzip.GzipFile(fileobj=raw) as stream:
            yield _Bounded(stream, limit_bytes)


def read_file(path: Path, limit_bytes: int) -> bytes:
    """The content of a plain file of a known greatest size."""
    size = path.stat().st_size
    if size > limit_bytes:
        raise DamagedError(f"{path.name} has {size:,} bytes")
    return path.read_bytes()


def tar_files(
    path: Path, wanted: Callable[[str], bool], *, member_bytes: int, total_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """Name and content of the regular files of a .tar.gz whose name is `wanted`, in its order.

    One member at a time is in memory. Raises what is in `DAMAGE`, also after the last member, when
    the checksum at the end of the gzip file is wrong.
    """
    with unzipped(path, total_bytes) as stream:
        # Mode "r|" never seeks: a member with a negative size can't lead it round in circles.
        with tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 16) as tar:  # type: ignore[call-overload]
            for member in tar:
                # tarfile remembers every member; of 100,000 reviews that would be 100 MB.
                tar.members = []
                if not member.isreg() or not wanted(member.name):
                    continue
                yield member.name, _member(tar, member, member_bytes)
        while stream.read(MIB):
            pass


def _member(tar: tarfile.TarFile, member: tarfile.TarInfo, limit_bytes: int) -> bytes:
    if not 0 <= member.size <= limit_bytes:
        raise DamagedError(f"{member.name[:80]!a} in it has {member.size:,} bytes")
    stream = tar.extractfile(member)
    data = stream.read() if stream else b""
    if len(data) != member.size:
        raise DamagedError(f"{member.name[:80]!a} in it is cut off")
    return data


def zip_member(archive: zipfile.ZipFile, name: str, limit_bytes: int) -> bytes:
    """The content of one member; its checksum has been compared."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise DamagedError(f"there is no {name} in it") from None
    if info.file_size > limit_bytes:
        raise DamagedError(f"{name} in it has {info.file_size:,} bytes")
    with archive.open(info) as stream:
        data = stream.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise DamagedError(f"{name} in it is cut off")
    return data
