"""What is known of each data set on this machine: for `rosetta data`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rosetta.datasets import cache as parsed
from rosetta.datasets.files import Digests, Found, differences
from rosetta.datasets.loading import find
from rosetta.datasets.model import NAMES
from rosetta.datasets.published import DOWNLOADS, FILES


@dataclass(frozen=True)
class FileStatus:
    """One file. digest: "published", "differs" (with the reason in `detail`) or "unknown"."""

    name: str
    path: Path
    size_bytes: int
    digest: str
    detail: str = ""


@dataclass(frozen=True)
class Status:
    """One data set.

    place: "directory", "download", "missing" or "made" (synthetic)
    path: the file or folder that `load` would read; None if there is none
    cached: whether the parsed arrays of exactly these files are in the cache
    missing: the files that a download would fetch; empty unless place is "missing"
    """

    name: str
    place: str
    path: Path | None = None
    files: tuple[FileStatus, ...] = ()
    cached: bool = False
    missing: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def status(directories: Sequence[Path] = (), cache: Path | None = None) -> list[Status]:
    """The state of every data set, in the order of `NAMES`. Digests files that are new."""
    cache = parsed.default_cache() if cache is None else cache
    return [_status(name, directories, cache) for name in NAMES]


def _status(name: str, directories: Sequence[Path], cache: Path) -> Status:
    if name == "synthetic":
        return Status(name, "made")
    downloads = cache / "downloads"
    for place, folders in (("directory", directories), ("download", [downloads])):
        found = find(name, folders)
        if found:
            digests = Digests(cache / "digests")
            cached = parsed.is_cached(cache, name, digests.of_found(found))
            return Status(name, place, found.path, _files(found, digests), cached)
    missing = (file for file in DOWNLOADS[name] if not (downloads / file).is_file())
    return Status(name, "missing", missing=tuple(missing))


def _files(found: Found, digests: Digests) -> tuple[FileStatus, ...]:
    if found.tree:
        size = sum(path.stat().st_size for path in found.files.values())
        return (FileStatus(found.tree, found.path, size, "unknown"),)
    different = differences(found, digests)
    return tuple(
        FileStatus(
            name, path, path.stat().st_size, _state(name, different), different.get(name, "")
        )
        for name, path in found.files.items()
    )


def _state(name: str, different: dict[str, str]) -> str:
    if name in different:
        return "differs"
    return "published" if name in FILES else "unknown"
