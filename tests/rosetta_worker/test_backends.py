"""Worker folders: how a backend is found, and what every folder under py/workers keeps to."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rosetta import workers
from rosetta_worker import backends

PY = Path(__file__).parents[2] / "py"
FOLDERS = sorted(path for path in (PY / "workers").iterdir() if (path / "worker.toml").is_file())

GOOD = """\
def start(device, threads): return {}
def build(setup, parameters): return None
"""

# What a backend leaves to the runtime: sockets, messages, timing.
NOT_A_BACKENDS = {"rosetta", "rosetta_worker", "zmq", "msgpack", "time", "timeit", "socket"}

of_every_worker = pytest.mark.parametrize("folder", FOLDERS, ids=[f.name for f in FOLDERS])


def write(folder: Path, content: str) -> str:
    folder.mkdir()
    (folder / "backend.py").write_text(content)
    return str(folder)


def imports(file: Path) -> set[str]:
    """Full names of the modules that a file imports anywhere in it; relative ones start with `.`"""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


# --- loading --------------------------------------------------------------------------------------


def test_a_backend_is_the_file_backend_py_of_its_folder(tmp_path):
    backend = backends.load(write(tmp_path / "tiny", GOOD))
    assert backend.start("cpu", 1) == {}
    assert Path(backend.__file__) == tmp_path / "tiny" / "backend.py"


@pytest.mark.parametrize("name", ["numpy", "zmq", "my-framework", "2fast"])
def test_a_folder_may_be_called_like_its_framework(tmp_path, name):
    content = GOOD + "import numpy\ndef array(): return numpy.zeros(2)\n"
    before = sys.modules.get(name)
    backend = backends.load(write(tmp_path / name, content) + "/")
    assert isinstance(backend.array(), np.ndarray)
    assert sys.modules.get(name) is before


def test_the_framework_is_found_from_within_the_folder_of_workers(tmp_path):
    write(tmp_path / "numpy", GOOD + "import numpy\nversion = numpy.__version__\n")
    code = "from rosetta_worker import backends; print(backends.load('numpy').version)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout.strip(), ran.stderr) == (np.__version__, "")


def test_a_backend_may_hold_dataclasses(tmp_path):
    content = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Settings:\n"
        "    precision: str = 'float32'\n"
    )
    backend = backends.load(write(tmp_path / "tiny", content + GOOD))
    assert backend.Settings().precision == "float32"


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        ("", "start and build"),
        ("def start(device, threads): pass\n", "build"),
        ("def build(setup, parameters): pass\nstart = 5\n", "start"),
    ],
)
def test_a_backend_without_its_two_functions_is_refused(tmp_path, content, missing):
    with pytest.raises(backends.BackendError, match=f"tiny/backend.py lacks {missing}$"):
        backends.load(write(tmp_path / "tiny", content))


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_a_backend_is_refused(tmp_path, exists):
    if exists:
        (tmp_path / "empty").mkdir()
    with pytest.raises(backends.BackendError, match=r"no backend\.py in .*empty"):
        backends.load(str(tmp_path / "empty"))


def test_a_folder_without_a_backend_is_one_line_on_the_terminal(tmp_path):
    tape = tmp_path / "a.tape"
    tape.write_bytes(b"ROSETTA TAPE 1\n\0")
    ran = subprocess.run(
        [sys.executable, "-m", "rosetta_worker", tmp_path, "--tape", tape],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1
    assert ran.stderr == f"rosetta worker: no backend.py in {tmp_path}\n"


STARTED = """
def start(device, threads, variant="itself"):
    raise ValueError("started as " + variant)
def build(setup, parameters): pass
"""


@pytest.mark.parametrize(
    ("options", "started"),
    [([], "itself"), (["--variant", ""], "itself"), (["--variant", "compile"], "compile")],
)
def test_a_backend_is_told_the_variant_that_was_chosen(tmp_path, options, started):
    folder, tape = write(tmp_path / "tiny", STARTED), tmp_path / "a.tape"
    tape.write_bytes(b"ROSETTA TAPE 1\n\0")
    ran = subprocess.run(
        [sys.executable, "-m", "rosetta_worker", folder, "--tape", tape, *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stderr == f"rosetta worker: started as {started}\n"
    assert ran.returncode == 3


# --- the folders ----------------------------------------------------------------------------------


def test_there_are_workers():
    assert {"null", "numpy", "torch"} <= {folder.name for folder in FOLDERS}


@of_every_worker
def test_a_worker_has_its_backend_its_words_and_its_lock(folder):
    for worker in workers.read(folder / "worker.toml"):
        for name in ("backend.py", "README.md", worker.uv.requirements, worker.uv.lock):
            assert (folder / name).read_text(encoding="utf-8").strip(), name


@of_every_worker
def test_a_backend_knows_nothing_of_sockets_messages_and_timing(folder):
    for file in folder.rglob("*.py"):
        roots = {name.split(".")[0] for name in imports(file)}
        assert not roots & NOT_A_BACKENDS, file.name


@of_every_worker
def test_a_backend_has_the_two_functions_of_the_contract(folder):
    tree = ast.parse((folder / "backend.py").read_text(encoding="utf-8"))
    functions = {node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)}
    chosen = any(
        worker.variant or worker.variants for worker in workers.read(folder / "worker.toml")
    )
    variant = ["variant"] if chosen else []
    assert [a.arg for a in functions["start"].args] == ["device", "threads", *variant]
    assert [a.arg for a in functions["build"].args] == ["setup", "parameters"]
