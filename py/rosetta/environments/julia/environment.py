"""The environment of a worker in Julia: a Julia, the worker's packages, and both compiled.

Julia compiles a package when it is first loaded, for seconds or minutes. That is done here, once,
so that it isn't taken for a worker that hangs. A marker file says what has been compiled.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from rosetta.environments import programs, state
from rosetta.environments.errors import EnvironmentUnavailable, NotInstalled
from rosetta.environments.exclusive import Report, alone, disk_errors, spinner
from rosetta.environments.julia import debian_julia, find_julia, julia_packages
from rosetta.environments.julia.find_julia import Julia
from rosetta.environments.julia.julia_packages import Package
from rosetta.environments.state import EnvironmentStatus
from rosetta.workers import Worker

_RUNTIME = "RosettaWorker"
_COMPILE_LIMIT_S = 1800.0
_COMPILE = "push!(LOAD_PATH, ARGS[1]); foreach(n -> Base.require(Main, Symbol(n)), ARGS[2:end])"
_ADVICE = "put julia on the PATH or set JULIA, see https://julialang.org/downloads"


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``rosetta.json``."""

    worker: str
    julia: str
    """Its version."""
    sha256: str
    """Of all that was compiled, and of what compiled it."""
    made: str
    """When, in ISO 8601, UTC."""


def ensure(
    worker: Worker, report: Report, console: Console | None, *, install_packages: bool
) -> EnvironmentStatus:
    """The environment of `worker`; a Julia is made where there is none and that is possible.

    Packages that are missing are installed only if `install_packages`. Raises
    EnvironmentUnavailable.
    """

    def named(line: str) -> None:
        report(f"{worker.name}: {line}")

    with disk_errors():
        julia = _find_or_make(worker, named, console)
        if install_packages:
            _install_packages(worker, julia, named, console)
        packages = julia_packages.find(worker, julia)
        if not _is_compiled(worker, julia, packages):
            with alone(state.place(worker).lock, named, "its environment") as lock:
                if not _is_compiled(worker, julia, packages):
                    with spinner(console, f"{worker.name}: compiling"):
                        _compile(worker, julia, packages, named, lock)
    return status(worker)


def status(worker: Worker) -> EnvironmentStatus:
    """Whether `worker` can be started. Runs the Julias that it finds, once a process."""
    julia = find_julia.search(worker.julia.version).julia
    if julia is None:
        return _status(worker, find_julia.prefix(), _no_julia(worker.julia.version))
    try:
        packages = julia_packages.find(worker, julia)
        compiled = _is_compiled(worker, julia, packages)
    except EnvironmentUnavailable as error:
        return _status(worker, julia.program, str(error))
    return EnvironmentStatus(
        worker=worker.name,
        path=julia.program,
        ready=compiled,
        reason=None if compiled else "not compiled yet",
        interpreter=julia.program,
        framework_version=packages[0].version if packages else julia.version,
    )


def remove(worker: Worker) -> None:
    """Removes what was noted of `worker`; with one that needs no packages, Rosetta's own Julia.

    Raises EnvironmentUnavailable when the disk does not allow it.
    """
    where = state.place(worker)
    with disk_errors():
        if where.path.exists() or where.log.exists():
            with alone(where.lock, lambda line: None, "it"):
                state.discard(where)
                where.log.unlink(missing_ok=True)
        if not julia_packages.needed(worker):
            debian_julia.remove()


def size(worker: Worker) -> int:
    """Bytes on the disk of what Rosetta has made for `worker`.

    Its own Julia counts with the workers that need no packages, as it is removed with them.
    """
    places = [state.place(worker).path]
    if not julia_packages.needed(worker):
        places.append(find_julia.prefix())
    return sum(map(state.bytes_under, places))


def pins(worker: Worker) -> dict[str, object]:
    """What `worker` runs on, for ``run.json``; None for what isn't there."""
    julia = find_julia.search(worker.julia.version).julia
    project = julia_packages.project_file(worker)
    manifest = julia_packages.manifest_file(worker, julia) if julia else None
    try:
        packages = julia_packages.find(worker, julia) if julia else []
    except EnvironmentUnavailable:
        packages = []
    return {
        "julia": julia and julia.version,
        "packages": {package.name: package.version for package in packages},
        "project_sha256": project and _sha256([project]),
        "manifest_sha256": manifest and _sha256([manifest]),
    }


def missing_julia(version: str, passed_over: Sequence[str] = ()) -> str:
    """The one line for a machine without a Julia `version`."""
    line = f"no Julia {version} or later: {_ADVICE}"
    return f"{line} ({'; '.join(passed_over)})" if passed_over else line


def _status(worker: Worker, path: Path, reason: str) -> EnvironmentStatus:
    """Of a worker that can't be started."""
    return EnvironmentStatus(
        worker=worker.name,
        path=path,
        ready=False,
        reason=reason,
        interpreter=None,
        framework_version=None,
    )


def _no_julia(version: str) -> str:
    if debian_julia.is_possible(version):
        return "not made yet"
    return missing_julia(version, find_julia.search(version).passed_over)


def _find_or_make(worker: Worker, report: Report, console: Console | None) -> Julia:
    version = worker.julia.version
    found = find_julia.search(version)
    for phrase in found.passed_over:
        report(f"{phrase}: passed over")
    if found.julia:
        return found.julia
    reasons = list(found.passed_over)
    error: type[EnvironmentUnavailable] = NotInstalled
    if debian_julia.is_possible(version):
        try:
            debian_julia.make(version, report, console)
        except debian_julia.Failure as failure:
            reasons.append(f"from Debian's packages: {failure}")
            error = NotInstalled if failure.lacking else EnvironmentUnavailable
        found = find_julia.search(version)
    if found.julia is None:
        raise error(missing_julia(version, reasons))
    return found.julia


def _install_packages(
    worker: Worker, julia: Julia, report: Report, console: Console | None
) -> None:
    """Installs the packages, unless they are all there."""
    try:
        julia_packages.find(worker, julia)
    except NotInstalled:
        where, download = state.place(worker), worker.julia.download
        amount = f"; about {download} to download" if download else ""
        report(f"installing the packages of {worker.julia.project}{amount}")
        with alone(where.lock, report, "its environment") as lock:
            where.log.write_bytes(b"")
            with spinner(console, f"{worker.name}: installing {worker.julia.project}"):
                julia_packages.install(worker, julia, where.log, lock)


def _compile(
    worker: Worker, julia: Julia, packages: Sequence[Package], report: Report, lock: int
) -> None:
    """Loads the runtime and the packages once, with the worker's own options.

    Julia keeps what it has compiled for different options apart.
    """
    where, runtime = state.place(worker), _runtime(worker)
    names = [_RUNTIME] if runtime.exists() else []
    names += [package.name for package in packages]
    where.path.mkdir(parents=True, exist_ok=True)
    where.marker.unlink(missing_ok=True)
    if names:
        report(f"Julia {julia.version} compiles {' and '.join(names)}")
        command: list[str | Path] = [julia.program, *worker.interpreter_options()]
        command += ["-e", _COMPILE, runtime.parents[1], *names]
        ran = programs.logged(command, where.log, {}, lock, _COMPILE_LIMIT_S)
        if not ran.succeeded:
            reason = julia_packages.telling_line(ran.output)
            raise EnvironmentUnavailable(
                f"Julia {julia.version} could not load {' and '.join(names)}: {reason}; "
                f"log: {where.log}"
            )
    marker = Marker(
        worker=worker.name,
        julia=julia.version,
        sha256=_digest(worker, julia, packages),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    state.write_marker(where, marker)


def _is_compiled(worker: Worker, julia: Julia, packages: Sequence[Package]) -> bool:
    try:
        content = state.place(worker).marker.read_bytes()
        marker = msgspec.json.decode(content, type=Marker)
    except (OSError, msgspec.MsgspecError):
        return False
    return marker.sha256 == _digest(worker, julia, packages)


def _digest(worker: Worker, julia: Julia, packages: Sequence[Package]) -> str:
    """Changes with everything that makes Julia compile anew."""
    facts = [str(julia.program), julia.version, str(julia.program.stat().st_mtime_ns)]
    facts += [os.environ.get(name, "") for name in ("JULIA_DEPOT_PATH", "JULIA_LOAD_PATH")]
    facts += worker.interpreter_options()
    facts += [f"{package.name} {package.path} {package.version}" for package in packages]
    manifest = julia_packages.manifest_file(worker, julia)
    sources = [*sorted(_runtime(worker).rglob("*.jl")), *([manifest] if manifest else [])]
    return hashlib.sha256("\n".join([*facts, _sha256(sources)]).encode()).hexdigest()


def _runtime(worker: Worker) -> Path:
    """The sources of the runtime that Julia's workers share."""
    return worker.folder.parents[1] / _RUNTIME / "src"


def _sha256(files: Sequence[Path]) -> str:
    """Of the files' contents, in hex. Raises OSError."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
