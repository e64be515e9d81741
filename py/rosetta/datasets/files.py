"""Finds the files of a data set in the user's directories, and knows their digests."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rosetta.datasets.model import DataError
from rosetta.datasets.published import FILES

DIRECTORY_VARIABLE = "ROSETTA_DATA"
Compute = Callable[[], str]


@dataclass(frozen=True)
class Found:
    """The files of a data set.

    layout: which of its forms this is ("tar", "folder", "npz", "tree", "idx")
    path: the file or folder to name to the user
    files: name → path of all that will be read, in the order that the reader expects
    tree: set when the files are too many to be listed one by one: the name of them all
    """

    layout: str
    path: Path
    files: Mapping[str, Path]
    tree: str = ""


def directories_from(option: Sequence[str] | None, environment: Mapping[str, str]) -> list[Path]:
    """The directories of already downloaded files: the option's, or else those in ROSETTA_DATA.

    ROSETTA_DATA may name several, separated like those in PATH. Raises `DataError` for one that
    isn't there: a typing mistake would otherwise become a download.
    """
    origin = "given" if option else f"named in {DIRECTORY_VARIABLE}"
    names = option or environment.get(DIRECTORY_VARIABLE, "").split(os.pathsep)
    paths = [Path(name).expanduser() for name in names if name]
    for path in paths:
        if not path.is_dir():
            raise DataError(
                f"the data directory {path}, {origin}, is no directory: correct the path"
            )
    return paths


def folders(directories: Iterable[Path]) -> list[Path]:
    """Where files are looked for: each directory itself, then its subdirectories by name."""
    found = []
    for directory in directories:
        found.append(directory)
        with suppress(OSError):  # unreadable: what is missing is reported by whoever looks for it
            found.extend(sorted(path for path in directory.iterdir() if path.is_dir()))
    return found


class Digests:
    """Digests of files, remembered by path, size and modification time.

    The memory lives in a folder of the cache (None: no memory), one small file per digested file,
    so that concurrent processes don't undo each other's entries.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def of(self, path: Path, algorithm: str = "sha256") -> str:
        """The hex digest of a file; raises `DataError` if it can't be read."""
        return self._remembered([path], algorithm, lambda: _digest(path, algorithm))

    def of_tree(self, root: Path, paths: Sequence[Path]) -> str:
        """One SHA-256 for many files: over the lines "digest  relative/path", sorted by path."""
        return self._remembered(paths, "sha256", lambda: _tree_digest(root, paths))

    def of_found(self, found: Found) -> dict[str, str]:
        """File name → SHA-256 of everything that will be read."""
        if found.tree:
            return {found.tree: self.of_tree(found.path, list(found.files.values()))}
        return {name: self.of(path) for name, path in found.files.items()}

    def _remembered(self, paths: Sequence[Path], algorithm: str, compute: Compute) -> str:
        try:
            state = _state(paths)
            entry = self._entry(paths, algorithm)
            known = _recall(entry, state) if entry else None
            if known:
                return known
            digest = compute()
        except OSError as error:
            where = error.filename or paths[0]
            raise DataError(f"{where} can't be read: {error.strerror}") from error
        if entry:
            _remember(entry, state, digest)
        return digest

    def _entry(self, paths: Sequence[Path], algorithm: str) -> Path | None:
        if self._folder is None:
            return None
        key = f"{algorithm} {len(paths)} {paths[0].absolute()}"
        return self._folder / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:24]}.json"


def _state(paths: Sequence[Path]) -> str:
    """What changes when one of the files does: names, sizes and times of modification."""
    lines = hashlib.sha256()
    for path in paths:
        status = path.stat()
        line = f"{path.absolute()} {status.st_size} {status.st_mtime_ns}\n"
        lines.update(os.fsencode(line))
    return lines.hexdigest()


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm)).hexdigest()


def _tree_digest(root: Path, paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        line = f"{_digest(path, 'sha256')}  {path.relative_to(root).as_posix()}\n"
        digest.update(os.fsencode(line))
    return digest.hexdigest()


def _recall(entry: Path, state: str) -> str | None:
    """The remembered digest, if the files are still in the state in which it was taken."""
    try:
        memory = json.loads(entry.read_text())
        return str(memory["digest"]) if memory["state"] == state else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _remember(entry: Path, state: str, digest: str) -> None:
    """Best effort: without a memory the file is digested again next time."""
    partial = entry.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps({"state": state, "digest": digest}))
        partial.replace(entry)


def differences(found: Found, digests: Digests) -> dict[str, str]:
    """File name → "<algorithm> expected …, found …" for each file that isn't the published one.

    Files of which no digest has been published (a text tree, a batch more) don't appear.
    """
    if found.tree:
        return {}
    found_out = {}
    for name, path in found.files.items():
        published = FILES.get(name)
        if not published:
            continue
        digest = digests.of(path, published.algorithm)
        if digest != published.digest:
            kind = published.algorithm
            found_out[name] = f"{kind} expected {published.digest}, found {digest}"
    return found_out
