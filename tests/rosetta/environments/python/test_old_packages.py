"""What old packages need: other build tools than the newest, a compile step, programs, Pythons."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from rosetta import environments
from rosetta.environments import EnvironmentUnavailable, NotInstalled
from rosetta.environments.python import interpreters
from rosetta.workers import Worker
from waiting import until_there

Make = Callable[..., Worker]
PutWheel = Callable[..., None]

BUILD = 'build_requirements = "build.in"\nbuild_lock = "build.lock"\n'
NO_ISOLATION = 'no_build_isolation = ["old"]\n'
STEP = 'compile = ["{python}", "{folder}/step.py", "{environment}"]\n'
ENSURE = """\
import sys
from pathlib import Path
from rosetta import environments, workers
environments.ensure(workers.read(Path(sys.argv[1]))[0])
"""
NEEDS = 'needs = ["no-such-compiler"]\ninstall = "apt-get install no-such"\n'

OLD_BACKEND = """\
import pathlib, zipfile
import tool
if tool.version != "1.0":
    raise ImportError("tool has removed what this was made for")

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "old-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.writestr("old.py", "made_with = %r" % tool.version)
        for file, text in {wheel!r}.items():
            wheel.writestr("old-1.0.dist-info/" + file, text)
    return name
"""


@pytest.fixture
def old(wheels: Path, put_wheel: PutWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``old==1.0``: a source package that is built with ``tool``, of which only 1.0 will do.

    Until it is built nobody knows that it needs ``lesser``.
    """
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    for version in ("1.0", "2.0"):
        put_wheel("tool", version)
        put_wheel("lesser", version)
    wheel = {
        "METADATA": "Metadata-Version: 2.1\nName: old\nVersion: 1.0\nRequires-Dist: lesser<2\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    files = {
        "backend.py": OLD_BACKEND.replace("{wheel!r}", repr(wheel)),
        "PKG-INFO": "Metadata-Version: 1.0\nName: old\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = ["tool"]\n'
        'build-backend = "backend"\nbackend-path = ["."]\n',
    }
    path = wheels / "old-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"old-1.0/{file}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def with_files(worker: Worker, **files: str) -> Worker:
    for name, text in files.items():
        (worker.folder / name.replace("_", ".")).write_text(text)
    return worker


def log(worker: Worker) -> str:
    path = environments.status(worker).path
    return path.with_name(f"{path.name}.log").read_text()


def test_packages_are_built_with_what_was_installed_before(make: Make, old: Path) -> None:
    worker = make("old==1.0\nlesser==1.0\n", framework="old", more=BUILD + NO_ISOLATION)
    made = environments.ensure(with_files(worker, build_lock="tool==1.0\n"))
    assert made.framework_version == "1.0"
    command = [str(made.interpreter), "-c", "import old; print(old.made_with)"]
    assert subprocess.check_output(command, text=True).strip() == "1.0"


def test_without_it_the_newest_tool_builds_them(make: Make, old: Path) -> None:
    worker = make("old==1.0\nlesser==1.0\n", more=BUILD)
    with pytest.raises(EnvironmentUnavailable, match=r"could not install requirements\.lock"):
        environments.ensure(with_files(worker, build_lock="tool==1.0\n"))
    assert "tool has removed what this was made for" in log(worker)


def test_both_locks_are_made_and_agree(make: Make, old: Path) -> None:
    worker = make("", requirements="old\ntool\n", more=BUILD + NO_ISOLATION)
    lines: list[str] = []
    environments.lock(with_files(worker, build_in="tool<2\n"), lines.append)
    assert (worker.folder / "build.lock").read_text() == "tool==1.0\n"
    # What it needs was found by building it, and the other requirement fits what is there.
    expected = "lesser==1.0\nold==1.0\ntool==1.0\n"
    assert (worker.folder / "requirements.lock").read_text() == expected
    assert lines[0] == "tiny, build.lock: tool none → 1.0"
    assert environments.ensure(worker).ready


def test_a_build_lock_that_cannot_be_made_is_said(make: Make, old: Path) -> None:
    worker = with_files(make("", more=BUILD), build_in="tool==3\n")
    with pytest.raises(EnvironmentUnavailable, match=r"could not lock build\.in"):
        environments.lock(worker)
    assert not (worker.folder / "build.lock").exists()


def test_a_changed_build_lock_is_a_reason_to_rebuild(make: Make, put_wheel: PutWheel) -> None:
    put_wheel("tool", "1.0")
    worker = with_files(make("", more=BUILD), build_lock="tool==1.0\n")
    assert environments.ensure(worker).ready
    with_files(worker, build_lock="# nothing\n")
    assert environments.status(worker).reason == "its lock has changed"


def test_a_missing_build_lock_is_said(make: Make) -> None:
    worker = make("", more=BUILD)
    assert environments.status(worker).reason == (
        "build.lock of the worker cannot be read: No such file or directory"
    )
    with pytest.raises(EnvironmentUnavailable, match=r"^build.lock: No such file"):
        environments.ensure(worker)


def test_the_compile_step_has_the_packages_and_its_variables(
    make: Make, put_wheel: PutWheel
) -> None:
    put_wheel("tool", "1.0")
    step = (
        "import os, sys, tool\n"
        "print('compiled with', tool.version, os.listdir('.'))\n"
        "open(sys.argv[1] + '/compiled', 'w').write(os.environ['CACHE'])\n"
    )
    more = STEP + 'variables = { CACHE = "{environment}/cache" }\n'
    worker = with_files(make("tool==1.0\n", more=more), step_py=step)
    path = environments.ensure(worker).path
    assert (path / "compiled").read_text() == f"{path}/cache"
    assert "compiled with 1.0 []" in log(worker)


def test_a_compile_step_that_fails_is_a_reason_in_one_line(make: Make) -> None:
    step = "import sys\nprint('a lot')\nsys.exit('Python.h is missing: apt-get install x')\n"
    worker = with_files(make("", more=STEP), step_py=step)
    for _ in range(2):
        with pytest.raises(EnvironmentUnavailable) as caught:
            environments.ensure(worker)
        where = environments.status(worker).path
        assert str(caught.value) == (
            f"its compile step failed: Python.h is missing: apt-get install x; log: {where}.log"
        )
        assert not where.exists()
    assert "a lot" in log(worker)


def test_a_compile_step_that_cannot_be_started_is_said(make: Make) -> None:
    worker = make("", more='compile = ["no-such-compiler", "{folder}"]\n')
    with pytest.raises(EnvironmentUnavailable, match="no-such-compiler: No such file"):
        environments.ensure(worker)


def test_another_compile_step_is_a_reason_to_rebuild(make: Make) -> None:
    worker = with_files(make("", more=STEP), step_py="pass\n")
    assert environments.ensure(worker).ready
    with_files(worker, step_py="print()\n")
    assert environments.status(worker).reason == "its lock has changed"
    assert environments.ensure(worker).ready


def test_an_interrupted_compile_step_leaves_nothing_behind(make: Make, tmp_path: Path) -> None:
    """It is ended too: nobody holds the lock, or goes on writing into the folder."""
    begun = tmp_path / "begun"
    step = f"import os, time\nopen({str(begun)!r}, 'w').write(str(os.getpid()))\ntime.sleep(317)\n"
    worker = with_files(make("", more=STEP), step_py=step)
    maker = subprocess.Popen(
        [sys.executable, "-c", ENSURE, worker.folder / "worker.toml"],
        stderr=subprocess.PIPE,
        text=True,
    )
    until_there(begun)
    maker.send_signal(signal.SIGINT)
    _, said = maker.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert not psutil.pid_exists(int(begun.read_text() or -1))
    assert environments.status(worker).reason == "not made yet"
    assert environments.ensure(with_files(worker, step_py="pass\n")).ready


def test_a_program_that_is_missing_is_said_with_the_remedy(make: Make) -> None:
    worker = make("", more=NEEDS)
    reason = "needs no-such-compiler, which is not on the PATH: apt-get install no-such"
    assert environments.status(worker).reason == reason
    with pytest.raises(NotInstalled) as caught:
        environments.ensure(worker)
    assert str(caught.value) == reason
    assert not environments.status(worker).path.exists()


def test_a_program_that_is_there_is_found(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "no-such-compiler"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    worker = make("", more=NEEDS)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(program.parent), prepend=":")
        assert environments.ensure(worker).ready
    assert not environments.status(worker).ready  # it runs no more without it


def test_the_variables_are_on_record(make: Make) -> None:
    declared = {"CACHE": "{environment}/cache"}
    worker = make("", more='variables = { CACHE = "{environment}/cache" }\n')
    assert environments.pins(worker)["variables"] == declared
    assert "variables" not in environments.pins(make(""))


@pytest.mark.parametrize(("more", "is_rosettas"), [("", True), ("optional = true\n", False)])
def test_a_python_that_many_machines_cannot_have(make: Make, more: str, is_rosettas: bool) -> None:
    """A worker that needs one isn't a failure of this machine."""
    with pytest.raises(EnvironmentUnavailable, match=r"needs Python 9\.9") as caught:
        environments.ensure(make("", python="9.9", more=more))
    assert isinstance(caught.value, NotInstalled) is not is_rosettas


@pytest.mark.parametrize("version", ["3.6", "3.7"])
def test_wheels_are_installed_into_an_old_python(
    make: Make, put_wheel: PutWheel, version: str
) -> None:
    if interpreters.find_local(version) is None:
        pytest.skip(f"no Python {version} on this machine")
    put_wheel("tool", "1.0")
    worker = make("tool==1.0\n", python=version, framework="tool", requirements="tool\n")
    made = environments.ensure(worker)
    command = [str(made.interpreter), "-c", "import sys, tool; print(sys.version_info[:2])"]
    said = subprocess.check_output(command, text=True).strip()
    assert said == str(tuple(map(int, version.split("."))))
    environments.lock(worker)
