"""A worker of one's own, and home-made packages."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rosetta import workers
from rosetta.workers import Worker

RUNNING = "{}.{}".format(*sys.version_info[:2])

WORKER_TOML = """\
name = "tiny"
title = "Tiny"
language = "python"
status = "living"
tasks = ["mlp"]
argv = ["{{python}}", "-m", "rosetta_worker", "{{folder}}", "--connect", "{{connection_file}}"]
tape_argv = ["{{python}}", "-m", "rosetta_worker", "{{folder}}", "--tape", "{{tape}}"]
[environment]
kind = "uv"
python = "{python}"
requirements = "requirements.in"
lock = "requirements.lock"
framework = "{framework}"
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Worker]:
    """Describes the worker ``tiny``; its environment lies in a folder of this test."""
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path / "home"))

    def described(
        lock: str,
        python: str = RUNNING,
        framework: str = "msgpack",
        requirements: str = "",
        more: str = "",
    ) -> Worker:
        """`more`: lines of the ``[environment]`` table."""
        folder = tmp_path / "workers" / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requirements.lock").write_text(lock)
        (folder / "requirements.in").write_text(requirements)
        file = folder / "worker.toml"
        file.write_text(WORKER_TOML.format(python=python, framework=framework) + more)
        return workers.read(file)[0]

    return described


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of wheels that is all that pip is configured with."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


@pytest.fixture
def put_wheel(wheels: Path) -> Callable[..., None]:
    """Puts the smallest wheel there is into the folder."""

    def put(name: str, version: str, *needs: str) -> None:
        info = f"{name}-{version}.dist-info"
        contents = {
            f"{name}.py": f"version = {version!r}\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            + "".join(f"Requires-Dist: {need}\n" for need in needs),
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        digests = {
            file: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            .rstrip(b"=")
            .decode()
            for file, text in contents.items()
        }
        record = [f"{file},sha256={digests[file]},{len(text)}" for file, text in contents.items()]
        contents[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
        with zipfile.ZipFile(wheels / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for file, text in contents.items():
                wheel.writestr(file, text)

    return put


SLOW_BACKEND = """\
import pathlib, time, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    pathlib.Path({started!r}).touch()
    while not pathlib.Path({gate!r}).exists():
        time.sleep(0.02)
    {then}
    name = "{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.writestr("{name}.py", "")
        for file, text in {wheel!r}.items():
            wheel.writestr("{name}-1.0.dist-info/" + file, text)
    return name
"""


@pytest.fixture
def put_slow(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """Puts ``NAME==1.0`` among the wheels: its building waits until the file ``gate`` exists.

    That it has begun is told by the file ``NAME.started``; after the wait `then` is executed.
    """
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))

    def put(name: str, then: str = "pass") -> None:
        metadata = f"Name: {name}\nVersion: 1.0\n"
        wheel = {
            "METADATA": "Metadata-Version: 2.1\n" + metadata,
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }
        begun, gate = str(tmp_path / f"{name}.started"), str(tmp_path / "gate")
        files = {
            "backend.py": SLOW_BACKEND.format(
                name=name, started=begun, gate=gate, wheel=wheel, then=then
            ),
            "PKG-INFO": "Metadata-Version: 2.2\n" + metadata,
            "pyproject.toml": f'[project]\nname = "{name}"\nversion = "1.0"\n'
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        }
        with tarfile.open(wheels / f"{name}-1.0.tar.gz", "w:gz") as archive:
            for file, text in files.items():
                entry = tarfile.TarInfo(f"{name}-1.0/{file}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))

    yield put
    (tmp_path / "gate").touch()  # whatever is still building ends


@pytest.fixture
def gate(tmp_path: Path, put_slow: Callable[[str], None]) -> Path:
    """What the building of ``slow==1.0`` waits for."""
    put_slow("slow")
    return tmp_path / "gate"


FAKE_JULIA = """\
#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
case "$*" in
*VERSION*) echo "Julia {version}" ;;
*find_package*) {finds} ;;
*instantiate*) {installs} ;;
*) {loads} ;;
esac
"""


@pytest.fixture
def put_julia() -> Callable[..., Path]:
    """Puts a program that answers as a Julia would, and notes its calls in a file beside it."""

    def put(
        path: Path,
        version: str = "1.9.2",
        *,
        finds: str = "true",
        installs: str = "true",
        loads: str = "true",
    ) -> Path:
        text = FAKE_JULIA.format(version=version, finds=finds, installs=installs, loads=loads)
        return script(path, text)

    return put


@pytest.fixture
def no_julia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the usual tools but no Julia and no apt; gives its folder of programs."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    for tool in ("sh", "bash", "env", "cat", "dirname", "mkdir", "sleep", "touch"):
        (programs / tool).symlink_to(str(shutil.which(tool)))
    for name in ("JULIA", "JULIA_DEPOT_PATH", "JULIA_LOAD_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for name in ("PYTHON_JULIAPKG_EXE", "PYTHON_JULIAPKG_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("ROSETTA_HOME", str(tmp_path / "home"))
    return programs


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
