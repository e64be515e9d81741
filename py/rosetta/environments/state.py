"""Where a worker's environment lies, and whether one that uv makes is ready.

An environment is ready when its marker file says so. The marker is written last and atomically,
and is removed first, so an environment whose making was cut short never looks ready.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rosetta.workers import CHECKOUT, PY_FOLDER, UvEnvironment, Worker

_MARKER = "rosetta.json"
_PTH = "rosetta_checkout.pth"


@dataclass(frozen=True)
class EnvironmentStatus:
    """What is known of a worker's environment without making anything."""

    worker: str
    path: Path
    ready: bool
    reason: str | None
    """Why it is not ready, in a few words; None when it is."""
    interpreter: Path | None
    """The Python or Julia that runs the worker, once there is one that can be used."""
    framework_version: str | None


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``rosetta.json``."""

    worker: str
    """The environment's name: the worker's, or of the folder whose workers share it."""
    python: str
    lock_sha256: str
    made: str
    """When, in ISO 8601, UTC."""


@dataclass(frozen=True)
class Place:
    """The files of one worker's environment."""

    path: Path
    log: Path
    """What was said while the environment was made."""
    lock: Path
    """Held (flock) by whoever makes or removes the environment."""

    @property
    def marker(self) -> Path:
        return self.path / _MARKER

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    def site_packages(self, version: str) -> Path:
        return self.path / "lib" / f"python{version}" / "site-packages"


def home() -> Path:
    """Where Rosetta keeps what it makes: ``ROSETTA_HOME``, or ``.rosetta`` in the checkout."""
    chosen = os.environ.get("ROSETTA_HOME")
    return Path(chosen).expanduser().absolute() if chosen else CHECKOUT / ".rosetta"


def place(worker: Worker) -> Place:
    folder = home() / "environments"
    return Place(
        path=folder / worker.environment_name,
        log=folder / f"{worker.environment_name}.log",
        lock=folder / f"{worker.environment_name}.lock",
    )


def status(worker: Worker) -> EnvironmentStatus:
    """Whether the environment of `worker` can be used. Reads a few files, starts no process."""
    where = place(worker)
    reason = _why_not_ready(worker, where)
    ready = reason is None
    return EnvironmentStatus(
        worker=worker.name,
        path=where.path,
        ready=ready,
        reason=reason,
        interpreter=where.python if ready else None,
        framework_version=_framework_version(worker, where) if ready else None,
    )


def lock_digest(worker: Worker) -> str:
    """SHA-256, in hex, of all that says what is in the environment: its locks, its compile step.

    Raises OSError when one of the files cannot be read.
    """
    declared = worker.uv
    digest = hashlib.sha256((worker.folder / declared.lock).read_bytes())
    if declared.build_lock:
        digest.update(b"\0build\0" + (worker.folder / declared.build_lock).read_bytes())
        digest.update("\0".join(declared.no_build_isolation).encode())
    for word in declared.compile:
        digest.update(b"\0compile\0" + word.encode())
        file = Path(word.format(folder=worker.folder, environment="", python=""))
        if word.startswith("{folder}") and file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()


def variables(worker: Worker) -> dict[str, str]:
    """What `worker` declares of its process's variables; none where uv makes no environment."""
    declared = worker.environment
    if not isinstance(declared, UvEnvironment):
        return {}
    path = place(worker).path
    return {
        name: declared.filled(text, worker.folder, path)
        for name, text in declared.variables.items()
    }


def missing_program(worker: Worker) -> str | None:
    """Which program the worker needs and isn't on the PATH, and what to do; None: all are there."""
    for name in worker.uv.needs:
        if shutil.which(name) is None:
            return f"needs {name}, which is not on the PATH: {worker.uv.install}"
    return None


def mark_ready(worker: Worker, digest: str) -> None:
    """Writes the marker: from now on the environment is ready."""
    marker = Marker(
        worker=worker.environment_name,
        python=worker.uv.python,
        lock_sha256=digest,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_marker(place(worker), marker)


def write_marker(where: Place, marker: msgspec.Struct) -> None:
    """Whoever looks sees the whole marker or none. Raises OSError."""
    temporary = where.marker.with_suffix(".tmp")
    with temporary.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(marker)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(where.marker)


def link_checkout(worker: Worker) -> None:
    """Lets ``python -m rosetta_worker FOLDER`` be typed by hand in the environment.

    Checked whenever the environment is used, since the checkout may have been moved.
    """
    file = place(worker).site_packages(worker.uv.python) / _PTH
    line = f"{PY_FOLDER}\n"
    if not file.exists() or file.read_text(encoding="utf-8") != line:
        file.write_text(line, encoding="utf-8")


def discard(where: Place) -> None:
    """Removes the environment; the marker goes first. The caller holds the lock.

    Raises OSError.
    """
    where.marker.unlink(missing_ok=True)
    if where.path.is_symlink():
        where.path.unlink()
    elif where.path.exists():
        shutil.rmtree(where.path)


def size(worker: Worker) -> int:
    """Bytes that the environment takes on the disk, hard-linked files counted in full."""
    return bytes_under(place(worker).path)


def bytes_under(folder: Path) -> int:
    return sum(entry.lstat().st_size for entry in folder.rglob("*"))


def _why_not_ready(worker: Worker, where: Place) -> str | None:
    missing = missing_program(worker)
    if missing:
        return missing
    try:
        digest = lock_digest(worker)
    except OSError as error:
        lock = Path(error.filename or worker.uv.lock).name
        return f"{lock} of the worker cannot be read: {error.strerror}"
    try:
        marker = msgspec.json.decode(where.marker.read_bytes(), type=Marker)
    except (OSError, msgspec.MsgspecError):
        return "its making was cut short" if where.path.exists() else "not made yet"
    return _first_difference(worker, where, marker, digest)


def _first_difference(worker: Worker, where: Place, marker: Marker, digest: str) -> str | None:
    wanted = worker.uv.python
    if marker.worker != worker.environment_name:
        return f"it is the environment of {marker.worker}"
    if marker.python != wanted:
        return f"made for Python {marker.python}, now {wanted}"
    if marker.lock_sha256 != digest:
        return "its lock has changed"
    if not where.python.exists():
        return "the Python that it was made with is gone"
    return None


def _framework_version(worker: Worker, where: Place) -> str | None:
    """The version in the name of ``torch-2.13.0+cpu.dist-info``."""
    wanted = worker.uv.framework
    if wanted is None:
        return None
    site = where.site_packages(worker.uv.python)
    for info in site.glob("*.dist-info"):
        name, _, version = info.stem.rpartition("-")
        if _normalised(name) == _normalised(wanted):
            return version
    return None


def _normalised(name: str) -> str:
    """PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()
