"""The worker runtime on old and new Pythons: its source parses, and a real session runs.

By default only the oldest and the newest interpreter of this machine play the tape; all of them
with ROSETTA_ALL_PYTHONS=1. Their environments are kept in pytest's cache.
"""

import ast
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rosetta import datasets, environments, tasks
from rosetta.bench.tape import make_tape
from rosetta.environments.python import interpreters, pip_settings, uv
from rosetta.protocol import decode
from rosetta.protocol.messages import FROM_WORKER, Bye, Ended, Hello, Ready, Result
from rosetta.protocol.tape import read_tape

PY = Path(__file__).parents[2] / "py"
NULL = PY / "workers" / "null"
VERSIONS = [f"3.{minor}" for minor in range(6, 14)]
OLDEST_OF_UV = "3.8"
PACKAGES = ["pyzmq", "msgpack", "numpy"]
INSTALL_LIMIT_S = 240
ALL = os.environ.get("ROSETTA_ALL_PYTHONS") == "1"

OLD_FILES = sorted(
    file
    for folder in ("rosetta_worker", "rosetta_reference", "workers/null", "workers/numpy")
    for file in (PY / folder).rglob("*.py")
)


@pytest.mark.parametrize("file", OLD_FILES, ids=[str(f.relative_to(PY)) for f in OLD_FILES])
def test_the_source_is_python_3_6(file):
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 6))
    nodes = list(ast.walk(tree))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    # What the grammar lets pass and 3.6 doesn't have (of `__future__`, the annotations).
    assert not modules & {"__future__", "contextvars", "dataclasses", "importlib.metadata"}


@pytest.fixture(scope="module")
def tape(tmp_path_factory) -> Path:
    """Three steps of `mlp` on synthetic data."""
    path = tmp_path_factory.mktemp("old-python") / "mlp.tape"
    task = tasks.load("mlp")
    data = datasets.load("synthetic", task=task.to_wire())
    make_tape(path, task, data.train, steps=3, seed=1, threads=1)
    return path


@pytest.mark.parametrize("which", VERSIONS if ALL else ["oldest", "newest"])
def test_the_null_worker_plays_a_tape(which, tape, tmp_path, pytestconfig):
    version = chosen(which)
    interpreter = interpreters.find_local(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} on this machine")
    python = environment(interpreter, version, pytestconfig)
    record = tmp_path / "record.tape"
    ran = subprocess.run(
        [
            python,
            "-m",
            "rosetta_worker",
            NULL,
            "--tape",
            tape,
            "--record",
            record,
            "--threads",
            "1",
        ],
        env=environments.clean_environment({"PYTHONPATH": str(PY), "PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    answers = [
        decode(frames, expected=FROM_WORKER)[0]
        for sender, frames in read_tape(record)
        if sender == b"W"
    ]
    hello, ready, *results, ended, bye = answers
    assert isinstance(hello, Hello) and hello.language_version.startswith(version + ".")
    assert isinstance(ready, Ready) and ready.parameter_count == 101_770
    assert [result.step for result in results if isinstance(result, Result)] == [0, 1, 2]
    assert len(results) == 3 and isinstance(ended, Ended) and isinstance(bye, Bye)


def chosen(which: str) -> str:
    """A version such as `3.6` for one, or for `oldest` or `newest` of those on this machine."""
    if which in VERSIONS:
        return which
    order = VERSIONS if which == "oldest" else reversed(VERSIONS)
    found = next((version for version in order if interpreters.find_local(version)), None)
    assert found is not None, "this test runs on one of them"
    return found


def environment(interpreter: Path, version: str, config: pytest.Config) -> Path:
    """The Python of an environment with the runtime's packages; skips where they can't be had."""
    assert config.cache is not None
    release = subprocess.check_output(
        [interpreter, "-c", "import platform; print(platform.python_version())"], text=True
    ).strip()
    folder = Path(config.cache.mkdir("old-pythons")) / release
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        for command in installation(interpreter, version, folder):
            install(command)
        complete.touch()
    return python


def installation(interpreter: Path, version: str, folder: Path) -> list[list[str | Path]]:
    """The commands that make an environment: uv's, or Python's own where uv is too new for it."""
    python = folder / "bin" / "python"
    if VERSIONS.index(version) < VERSIONS.index(OLDEST_OF_UV):
        pip = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        return [[interpreter, "-m", "venv", folder], [*pip, *PACKAGES]]
    _, options = pip_settings.read().for_uv(os.environ)
    return [
        [uv.program(), "venv", "--quiet", "--python", interpreter, folder],
        [uv.program(), "pip", "install", "--quiet", "--python", python, *options, *PACKAGES],
    ]


def install(command: list[str | Path]) -> None:
    variables, _ = pip_settings.read().for_uv(os.environ)
    try:
        ran = subprocess.run(
            command,
            env=environments.clean_environment(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"the packages were not installed within {INSTALL_LIMIT_S} s")
    if ran.returncode != 0:
        lines = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
        pytest.skip(lines[-1] if lines else f"{Path(command[0]).name} failed without a word")
