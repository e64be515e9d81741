"""Fetches the published files into the cache: with progress, resumable, checked by digest.

pooch checks the digest and puts the file in its place; the transfer itself is done here, since
pooch's own downloaders can't go on where a broken transfer stopped.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pooch
import requests
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from rosetta.datasets.model import DataError, DataUnavailable, Report
from rosetta.datasets.published import FILES, MIRROR_VARIABLE, Published

TIMEOUT_S = (10.0, 60.0)  # to connect, and between two pieces of the answer
_CHUNK_BYTES = 1 << 18
_INSTEAD = "or give the directory of a copy (ROSETTA_DATA), or use synthetic data"


def fetch(name: str, folder: Path, report: Report) -> Path:
    """Downloads the published file `name` into `folder`; returns its path there.

    A file whose digest is wrong isn't kept, and the next location is tried, as after one that
    doesn't answer. Raises `DataUnavailable` when no location gives a file, and `DataError` when
    those that do give a wrong one, or when the file can't be stored.
    """
    published = FILES[name]
    pooch.get_logger().setLevel(logging.WARNING)  # `report` says it in one line
    failures: list[_FailedError] = []
    for url in published.urls(name):
        if failures:
            report(f"{failures[-1]}: trying the next location")
        report(f"downloading {url}{_size(published)}")
        try:
            return _retrieve(url, name, published, folder)
        except _FailedError as failure:
            failures.append(failure)
    wrong = [failure for failure in failures if isinstance(failure, _WrongFileError)]
    if wrong:
        raise DataError(f"{wrong[-1]}: it wasn't kept; try again, {_INSTEAD}")
    reasons = "; ".join(map(str, failures))
    raise DataUnavailable(f"{name} can't be downloaded: {reasons}: try again, {_INSTEAD}")


def _size(published: Published) -> str:
    return f" ({published.size_bytes / 1e6:,.1f} MB)" if published.size_bytes else ""


class _FailedError(Exception):
    """A location that doesn't give the published file; another one may."""


class _UnreachableError(_FailedError):
    """It gives none."""


class _WrongFileError(_FailedError):
    """It gives another file."""


class _BrokeOffError(requests.RequestException):
    """A transfer that ended before the file did."""


def _retrieve(url: str, name: str, published: Published, folder: Path) -> Path:
    """One location: its file, or `_FailedError`, or `DataError` when no other would help."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / f"{name}.part") as part:
            downloader = _Downloader(part, published)
            known_hash = f"{published.algorithm}:{published.digest}"
            try:
                path = pooch.retrieve(url, known_hash, name, folder, downloader=downloader)
            except ValueError:
                if not downloader.resumed:
                    raise
                # The first part may have been another file's: once more, from the start.
                path = pooch.retrieve(url, known_hash, name, folder, downloader=downloader)
            return Path(path)
    except requests.RequestException as error:
        raise _UnreachableError(f"{urlsplit(url).netloc} {_reason(error)}") from error
    except ValueError as error:
        raise _WrongFileError(_wrong(url, published, downloader.digest)) from error
    except OSError as error:
        raise DataError(_unstored(error, name, folder, published)) from error


def _wrong(url: str, published: Published, found: str) -> str:
    return (
        f"{url} isn't the published file ({published.algorithm} expected {published.digest},"
        f" found {found})"
    )


def _unstored(error: OSError, name: str, folder: Path, published: Published) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space for {name}{_size(published)} in {folder}: make room, or set ROSETTA_CACHE"
    return f"{name} can't be stored in {folder}: {error.strerror or error}: set ROSETTA_CACHE"


def _reason(error: requests.RequestException) -> str:
    """A few words for what requests says in several lines."""
    if error.response is not None:
        return f"answers {error.response.status_code} {error.response.reason}".rstrip()
    if isinstance(error, requests.Timeout):
        return "doesn't answer in time"
    if isinstance(error, _BrokeOffError):
        return "broke off (what came is kept, and the next try goes on from there)"
    if isinstance(error, requests.exceptions.SSLError):
        return "has no valid certificate"
    if isinstance(error, requests.ConnectionError):
        cause = re.search(r"\[Errno -?\d+\] ([^'\"()]+)", str(error))
        return f"can't be reached ({cause[1].strip()})" if cause else "can't be reached"
    return f"can't be used ({type(error).__name__}; see {MIRROR_VARIABLE})"


@contextmanager
def _locked(part: Path) -> Iterator[Path]:
    """Keeps a second process from writing into the same partial file."""
    with part.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                f"another process is downloading {part.stem} to {part.parent}: wait for it"
            ) from None
        yield part


class _Downloader:
    """pooch's interface to a transfer. The bytes are collected in `part`, which survives a failure.

    resumed: whether the last transfer went on from an earlier one's bytes
    digest: of the last complete transfer, by the published file's algorithm
    """

    def __init__(self, part: Path, published: Published) -> None:
        self.part = part
        self.resumed = False
        self.digest = ""
        self._algorithm = published.algorithm
        self._limit_bytes = 2 * published.size_bytes if published.size_bytes else 1 << 30

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        self.resumed = self.part.exists() and self.part.stat().st_size > 0
        with self._answer(url) as response:
            self._receive(response)
        with self.part.open("rb") as stream:
            self.digest = hashlib.file_digest(stream, self._algorithm).hexdigest()
        self.part.replace(output_file)

    def _answer(self, url: str) -> requests.Response:
        """The response with what is missing, or with everything; raises `requests` exceptions."""
        have = self.part.stat().st_size if self.resumed else 0
        response = _get(url, have)
        if have and not _continues(response, have):
            # A server that can't go on sends everything (200), or nothing (416).
            self.part.unlink()
            self.resumed = False
            if response.status_code != requests.codes.ok:
                response.close()
                response = _get(url, 0)
        response.raise_for_status()
        return response

    def _receive(self, response: requests.Response) -> None:
        have = self.part.stat().st_size if self.resumed else 0
        length = int(response.headers.get("Content-Length") or 0)
        _check_space(self.part.parent, length)
        with self.part.open("ab" if self.resumed else "wb") as stream, _progress() as progress:
            row = progress.add_task(self.part.stem, total=have + length or None, completed=have)
            for chunk in _chunks(response):
                stream.write(chunk)
                progress.advance(row, len(chunk))
                if stream.tell() > self._limit_bytes:
                    break  # not the published file: the digest says so, once it is complete
        if length and self.part.stat().st_size < have + length <= self._limit_bytes:
            raise _BrokeOffError("the transfer ended early")


def _get(url: str, have: int) -> requests.Response:
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    return requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S)


def _continues(response: requests.Response, have: int) -> bool:
    """Whether the answer begins at the byte that was asked for."""
    answered = response.headers.get("Content-Range", "")
    return response.status_code == 206 and answered.startswith(f"bytes {have}-")


def _chunks(response: requests.Response) -> Iterator[bytes]:
    """The body; every way in which it can end too early becomes one exception."""
    try:
        yield from response.iter_content(_CHUNK_BYTES)
    except requests.RequestException as error:
        raise _BrokeOffError(str(error)) from error


def _check_space(folder: Path, needed_bytes: int) -> None:
    if shutil.disk_usage(folder).free < needed_bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _progress() -> Progress:
    """A bar on the terminal's standard error, and nothing where there is no terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
