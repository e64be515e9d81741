"""Making a Julia out of Debian's packages, where a machine has apt but no Julia."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from rosetta.environments import programs, state
from rosetta.environments.exclusive import Report, alone, spinner
from rosetta.environments.julia import find_julia
from rosetta.errors import one_line
from rosetta.workers import CHECKOUT

VERSION = "1.5.3"
"""Debian bullseye's: the last that Debian has."""

SCRIPT = CHECKOUT / "scripts" / "get-julia-from-debian"
_ANNOUNCEMENT = (
    f"making Julia {VERSION} from Debian's packages: about 65 MB to download, 370 MB on the disk"
)
_LACKING = 2
"""The script's exit status when this machine hasn't got what it needs."""

_failures: dict[Path, Failure] = {}
"""Where making it has failed in this process: the next worker isn't made to wait for it again."""


class Failure(Exception):  # noqa: N818
    """It can't be made. The message is a phrase that says why."""

    def __init__(self, why: str, *, lacking: bool = False) -> None:
        super().__init__(why)
        self.lacking = lacking
        """Whether it can't be made on this machine at all."""


def is_possible(version: str) -> bool:
    """Whether this machine seems able to make one that is a Julia `version` or later."""
    tools = all(map(shutil.which, ("apt-get", "dpkg")))
    return tools and find_julia.numbers(version) <= find_julia.numbers(VERSION)


def log() -> Path:
    """What apt said while it was made."""
    return state.home() / "julia.log"


def make(version: str, report: Report, console: Console | None) -> None:
    """Puts a Julia that is `version` or later into `find_julia.prefix`.

    A second process that wants it waits. Raises Failure, at once where it has failed before in this
    process, and OSError.
    """
    prefix = find_julia.prefix()
    if prefix in _failures:
        raise _failures[prefix]
    with _alone(report) as lock:
        find_julia.forget()
        if find_julia.search(version).julia:  # another process has made it meanwhile
            return
        report(_ANNOUNCEMENT)
        started = time.monotonic()
        try:
            with spinner(console, "unpacking Debian's Julia"):
                _run(prefix, lock)
        except Failure as failure:
            _failures[prefix] = failure
            raise
        finally:
            _remove_partial(prefix)
            find_julia.forget()
        report(f"Julia {VERSION} is ready after {time.monotonic() - started:.0f} s")


def remove() -> None:
    """Removes it, its depot and its log. Raises OSError."""
    prefix = find_julia.prefix()
    if not prefix.exists() and not log().exists():
        return
    with _alone(lambda line: None):
        _discard(prefix)
        _remove_partial(prefix)
        log().unlink(missing_ok=True)
    find_julia.forget()
    _failures.pop(prefix, None)


def _run(prefix: Path, lock: int) -> None:
    """One that lies there can't be used, or it would have been found."""
    _discard(prefix)
    _remove_partial(prefix)
    log().write_bytes(b"")
    ran = programs.logged([SCRIPT, prefix], log(), {}, lock)
    if not ran.succeeded:
        raise Failure(f"{_telling_line(ran.output)}; log: {log()}", lacking=ran.status == _LACKING)


def _telling_line(output: str) -> str:
    """The script's own last word, without its name."""
    if programs.is_out_of_space(output):
        return "no space left on the disk"
    said = [line for line in output.splitlines() if line.startswith(f"{SCRIPT.name}: ")]
    return one_line(said[-1].removeprefix(f"{SCRIPT.name}: ")) if said else "no reason was given"


def _discard(prefix: Path) -> None:
    """Its program goes first: what is left of a removal that was cut short is no Julia."""
    (prefix / "bin" / "julia").unlink(missing_ok=True)
    if prefix.exists():
        shutil.rmtree(prefix)


def _remove_partial(prefix: Path) -> None:
    """What the script leaves behind when it is killed. The caller holds the lock."""
    for folder in prefix.parent.glob(f"{prefix.name}.partial.*"):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _alone(report: Report) -> Iterator[int]:
    with alone(state.home() / "julia.lock", report, "Julia") as lock:
        yield lock
