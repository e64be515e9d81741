"""Loads a data set by name: finds or downloads its files, reads them, keeps the result."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rosetta.datasets import cache as parsed
from rosetta.datasets import cifar10, imdb, mnist, synthetic
from rosetta.datasets.archives import DAMAGE
from rosetta.datasets.download import fetch
from rosetta.datasets.files import Digests, Found, differences, folders
from rosetta.datasets.model import (
    KINDS,
    NAMES,
    DataError,
    Dataset,
    DataUnavailable,
    Report,
    Source,
    Split,
)
from rosetta.datasets.published import DOWNLOADS, FILES
from rosetta.errors import unknown


class _Reader(Protocol):
    """What the module of a data set offers."""

    def locate(self, folder: Path) -> Found | None: ...
    def missing(self, folder: Path) -> list[str]: ...
    def read(self, found: Found, task: Mapping[str, Any]) -> tuple[Split, Split]: ...


_READERS: dict[str, _Reader] = {"cifar10": cifar10, "imdb": imdb, "mnist": mnist}


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def load(
    name: str,
    *,
    task: Mapping[str, Any],
    directories: Sequence[Path] = (),
    cache: Path | None = None,
    download: bool = True,
    seed: int = 1,
    report: Report = _say,
) -> Dataset:
    """The data set `name` in the form that `task` (the content of a task file) takes.

    directories: where the user has the files; if any is given, nothing is downloaded
    cache: folder of downloads and parsed arrays; `default_cache()` if None
    download: whether files that are nowhere may be fetched
    seed: of synthetic data
    report: gets progress and what is wrong with the cache, a sentence a call; what is remarkable
        about the data themselves is in `Dataset.source.warnings`

    Raises `DataUnavailable` for files that are missing or unreachable, and `DataError` for an
    unknown name, damaged files and data of another shape than the task's; both are `UserError`s.
    """
    check_name(name)
    if name == "synthetic":
        return synthetic.make(task, seed)
    _check_fits(name, task)
    cache = parsed.default_cache() if cache is None else cache
    place = _place(name, directories, cache, download, report)
    digests = Digests(cache / "digests")
    sha256 = digests.of_found(place.found)
    entry = parsed.entry(cache, name, parsed.key(sha256, _parameters(name, task)))
    splits = parsed.load(entry, report)
    if splits is None:
        report(f"reading {name} from {place.found.path}")
        splits = _read(name, place.found, task, digests)
        parsed.store(entry, splits, sha256, report)
    path = str(place.found.path.absolute())
    source = Source(place.kind, path, sha256, _warnings(differences(place.found, digests)))
    return Dataset(name, *splits, KINDS[name].classes, source)


def check_name(name: str) -> None:
    """Raises `DataError` with the nearest names for a data set that there isn't."""
    if name not in NAMES:
        raise DataError(unknown("data set", name, NAMES))


def find(name: str, directories: Sequence[Path]) -> Found | None:
    """The files of the data set in the directories or their immediate subdirectories, or None."""
    check_name(name)
    if name == "synthetic":
        return None
    return next(filter(None, map(_READERS[name].locate, folders(directories))), None)


@dataclass(frozen=True)
class _Place:
    kind: str
    found: Found


def _place(
    name: str, directories: Sequence[Path], cache: Path, download: bool, report: Report
) -> _Place:
    """Where the files are, after a download if need be."""
    found = find(name, directories)
    if found:
        return _Place("directory", found)
    downloads = cache / "downloads"
    if _is_downloaded(name, downloads, cache):
        found = find(name, [downloads])
    elif directories:
        raise DataUnavailable(_not_there(name, directories))
    elif not download:
        raise DataUnavailable(
            f"{name} isn't in {downloads} and may not be downloaded: allow it, or give the"
            " directory of a copy (ROSETTA_DATA), or use synthetic data"
        )
    else:
        for file in DOWNLOADS[name]:
            if not _is_published(downloads / file, cache):
                fetch(file, downloads, report)
        found = find(name, [downloads])
    assert found is not None  # the files that were fetched are those that are looked for
    return _Place("download", found)


def _is_downloaded(name: str, downloads: Path, cache: Path) -> bool:
    return all(_is_published(downloads / file, cache) for file in DOWNLOADS[name])


def _is_published(path: Path, cache: Path) -> bool:
    """Whether a downloaded file is there and still is what was downloaded."""
    published = FILES[path.name]
    with suppress(DataError):
        digest = Digests(cache / "digests").of(path, published.algorithm)
        return digest == published.digest
    return False


def _not_there(name: str, directories: Sequence[Path]) -> str:
    """What is missing, and where it was looked for.

    If one folder has a part of the files, those that it lacks are named, else all.
    """
    reader = _READERS[name]
    looked = folders(directories)
    best = min(looked, key=lambda folder: len(reader.missing(folder)))
    lacking = reader.missing(best)
    partial = len(lacking) < len(reader.missing(Path("/nonexistent")))
    where = f" in {best}" if partial else ""
    return (
        f"{name}: {', '.join(lacking)} missing{where} (looked in {', '.join(map(str, looked))}):"
        " add what is missing, or name no directory (ROSETTA_DATA) to have it downloaded"
    )


def _parameters(name: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """What the arrays depend on besides the files."""
    if name != "imdb":
        return {}
    vocabulary, length = imdb.parameters(task)
    return {"vocabulary": vocabulary, "length": length}


def _read(
    name: str, found: Found, task: Mapping[str, Any], digests: Digests
) -> tuple[Split, Split]:
    """Reads the files; whatever is wrong with their bytes becomes a sentence with their digests."""
    try:
        return _READERS[name].read(found, task)
    except DAMAGE as error:
        raise DataError(_damaged(found, error, digests)) from error


def _damaged(found: Found, error: Exception, digests: Digests) -> str:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    wrong = "; ".join(f"{name}: {what}" for name, what in differences(found, digests).items())
    wrong = wrong or f"sha256 {', '.join(digests.of_found(found).values())}"
    return (
        f"{found.path} is damaged or another file: {reason} ({wrong}): replace it by a fresh copy"
    )


def _warnings(different: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"{name} differs from the published file ({what})" for name, what in different.items()
    )


def _check_fits(name: str, task: Mapping[str, Any]) -> None:
    """Raises `DataError` if the task takes another input than the data set has."""
    kind, wanted = KINDS[name], task["input"]
    shape = tuple(wanted["shape"])
    same_shape = shape == kind.shape or (kind.shape is None and "vocabulary" in wanted)
    if same_shape and wanted["dtype"] == kind.dtype and task.get("classes") == kind.classes:
        return
    have = f"{kind.dtype} {kind.shape or 'tokens'}, {kind.classes} classes"
    takes = f"{wanted['dtype']} {shape}, {task.get('classes')} classes"
    raise DataError(
        f"{name} ({have}) doesn't fit the task {task.get('name')!r} ({takes}):"
        f" use {task.get('data', 'its own data')} or synthetic"
    )
