"""Private folders that are gone when they are no longer needed, however their process ends.

One that its process couldn't remove, since it was killed, is removed by the next process that wants
one: whoever uses a folder holds a lock on a file in it, and a lock goes with its process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

_PREFIX = "rosetta-tmp-"  # short: the path of a socket may have 107 bytes
_LOCK = ".in-use"


class ScratchFolder:
    """A folder, mode 0700, for this process and those it starts; empty but for its lock."""

    def __init__(self) -> None:
        """Raises OSError where none can be made."""
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # Under its name only once it is locked: without a lock it would be nobody's.
        made = self.path / f"{_LOCK}.new"
        self._lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        made.rename(self.path / _LOCK)

    def remove(self) -> None:
        """Remove it and all that is in it."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Nobody holds its lock; without a lock it is somebody's who is just making it."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(lock)
