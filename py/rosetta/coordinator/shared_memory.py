"""The `shm` plane: batches lie in memory that the workers of this machine map (SPEC section 5)."""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import os
import sys
from collections import defaultdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

ALIGNMENT_BYTES = 64
SIZE_BYTES = 2**30
"""What may be used; memory is taken for what is used."""

_F_SEAL_FUTURE_WRITE = 0x10  # Linux 5.1; in Python's fcntl from 3.13 on


class SharedMemory:
    """One anonymous file in memory, written by this process only.

    It has no name, so there is nothing to clean up whoever is killed: workers open it by way of
    this process's open files, and it is gone with the last process that has it mapped.
    """

    def __init__(self, size_bytes: int = SIZE_BYTES) -> None:
        """Raises OSError where the system can't do it (or doesn't allow it)."""
        self.size_bytes = size_bytes
        self._file = os.memfd_create("rosetta", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._file, size_bytes)
            self._map = mmap.mmap(self._file, size_bytes)
            self._seal()
        except OSError:
            os.close(self._file)
            raise
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._address = _address_of(self._bytes)
        self._used_bytes = 0
        self._free: dict[int, list[int]] = defaultdict(list)

    @classmethod
    def where_possible(cls) -> SharedMemory | None:
        """Shared memory, on systems that have what it takes."""
        if sys.platform != "linux":
            return None
        try:
            return cls()
        except OSError:
            return None

    @property
    def path(self) -> str:
        """Where a process of the same user on this machine can open it."""
        return f"/proc/{os.getpid()}/fd/{self._file}"

    def offset_of(self, array: NDArray[Any]) -> int | None:
        """Where a C-contiguous array lies in it, in bytes; None for one that doesn't."""
        offset_bytes = _address_of(array) - self._address
        inside = 0 <= offset_bytes <= self.size_bytes - array.nbytes
        usable = array.flags.c_contiguous and not offset_bytes % ALIGNMENT_BYTES
        return offset_bytes if inside and usable else None

    def close(self) -> None:
        """Give up the file; the memory goes with the last array and the last worker."""
        os.close(self._file)

    def take(self, size_bytes: int) -> int | None:
        """The offset of a free slot; None when there is no room, or no memory."""
        if self._free[size_bytes]:
            return self._free[size_bytes].pop()
        if self._used_bytes + size_bytes > self.size_bytes:
            return None
        try:  # or else a page that can't be had would kill the process at the first write
            os.posix_fallocate(self._file, self._used_bytes, size_bytes)
        except OSError:
            return None
        offset_bytes, self._used_bytes = self._used_bytes, self._used_bytes + size_bytes
        return offset_bytes

    def give_back(self, offset_bytes: int, size_bytes: int) -> None:
        """The slot may be taken anew."""
        self._free[size_bytes].append(offset_bytes)

    def view(self, offset_bytes: int, size_bytes: int) -> NDArray[np.uint8]:
        """The bytes of a slot."""
        return self._bytes[offset_bytes : offset_bytes + size_bytes]

    def _seal(self) -> None:
        """Nobody else can change a batch, or cut the file short, from now on."""
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, seals)
        with contextlib.suppress(OSError):  # an older kernel: workers map it read-only all the same
            fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, _F_SEAL_FUTURE_WRITE)


def _address_of(array: NDArray[Any]) -> int:
    """Where it lies in memory."""
    address: int = array.__array_interface__["data"][0]
    return address


class Lease:
    """Slots that are given back together, at the end of its `with`.

    By then every worker must have answered the messages that tell of them. Without shared memory,
    and where there is no room left in it, arrays are ordinary ones and travel inline.
    """

    def __init__(self, memory: SharedMemory | None) -> None:
        self._memory = memory
        self._slots: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for offset_bytes, size_bytes in self._slots:
            assert self._memory
            self._memory.give_back(offset_bytes, size_bytes)

    def share(self, values: NDArray[Any]) -> NDArray[Any]:
        """A copy of `values` in shared memory; `values` themselves where there is none."""
        array = self._shared(values.shape, values.dtype)
        if array is None:
            return values
        array[...] = values
        return array

    def gather(self, values: NDArray[Any], rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """`values[rows]`: the one copy of a batch, whatever the number of workers."""
        shape = (len(rows), *values.shape[1:])
        array = self._shared(shape, values.dtype)
        if array is None:
            array = np.empty(shape, values.dtype)
        # Any other mode would gather into a buffer first, and copy.
        return np.take(values, rows, axis=0, out=array, mode="clip")

    def _shared(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
        wanted = math.prod(shape) * dtype.itemsize
        size_bytes = -(-max(1, wanted) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        offset_bytes = self._memory.take(size_bytes) if self._memory else None
        if self._memory is None or offset_bytes is None:
            return None
        self._slots.append((offset_bytes, size_bytes))
        return self._memory.view(offset_bytes, wanted).view(dtype).reshape(shape)
