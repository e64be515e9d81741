"""Finding a Python of a given minor version: here, on the PATH, in pyenv, or from uv.

A file called ``python3.9`` proves nothing: pyenv's shims fail when they are called for a version
that is not selected. So a candidate counts only when it runs and says what it is.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rosetta.environments import programs
from rosetta.environments.errors import EnvironmentUnavailable
from rosetta.environments.python import uv

_PROBE_LIMIT_S = 10.0
_FETCH_LIMIT_S = 180.0
_PROBE = (
    "import sys, platform; "
    "print('%d.%d' % sys.version_info[:2], platform.python_implementation(), sys.executable)"
)


def find(version: str, report: Callable[[str], None] = lambda line: None) -> Path:
    """The CPython of the minor `version` (such as ``3.9``), fetched by uv as the last resort.

    Raises EnvironmentUnavailable.
    """
    local = find_local(version)
    if local is not None:
        return local
    report(f"Python {version} is not on this machine: asking uv to fetch it")
    reason = _fetch(version)
    fetched = _from_uv(version)
    if fetched is not None:
        return fetched
    raise EnvironmentUnavailable(
        f"needs Python {version}: not on the PATH, not in pyenv, and uv could not fetch it"
        f" ({reason or 'no reason given'}); install it, for example with `pyenv install {version}`"
    )


def find_local(version: str) -> Path | None:
    """The first interpreter of the minor `version` on this machine; the network is not used."""
    if _running_version() == version:
        return Path(sys.executable)
    tried: set[Path] = set()
    for candidate in (*_on_path(version), *_in_pyenv(version)):
        if candidate in tried:
            continue
        tried.add(candidate)
        found = probe(candidate, version)
        if found is not None:
            return found
    return _from_uv(version)


def probe(candidate: Path, version: str) -> Path | None:
    """The real path of the interpreter behind `candidate`, if it runs and is CPython `version`."""
    try:
        ran = subprocess.run(
            [candidate, "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_LIMIT_S,
            env=programs.clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    said = ran.stdout.strip().split(" ", 2)
    if ran.returncode != 0 or len(said) != 3 or said[:2] != [version, "CPython"]:
        return None
    return Path(said[2])


def pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


def _running_version() -> str | None:
    if platform.python_implementation() != "CPython" or not sys.executable:
        return None
    return "{}.{}".format(*sys.version_info[:2])


def _on_path(version: str) -> Iterator[Path]:
    """Every folder of the PATH, since the first one may hold a shim that does not work."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for name in (f"python{version}", "python3", "python"):
        for folder in folders:
            found = shutil.which(name, path=str(folder))
            if found:
                yield Path(found)


def _in_pyenv(version: str) -> Iterator[Path]:
    """The newest patch release first."""
    found = pyenv_root().glob(f"versions/{version}.*/bin/python")
    return iter(sorted(found, key=_release, reverse=True))


def _release(python: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in python.parts[-3].split(".") if part.isdigit())


def _from_uv(version: str) -> Path | None:
    """The interpreter that uv itself fetched earlier."""
    ran = uv.ask(["python", "find", "--python-preference", "only-managed", version])
    found = ran.output.strip().splitlines()
    return probe(Path(found[-1]), version) if ran.succeeded and found else None


def _fetch(version: str) -> str | None:
    """Asks uv to fetch `version`; the reason when it could not, in one line."""
    ran = uv.ask(["python", "install", version], limit_s=_FETCH_LIMIT_S)
    return None if ran.succeeded else uv.telling_line(ran.output)
