"""`make` on a machine where something is missing: said in a line, and begun anew next time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
NEEDED = ("Makefile", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a checkout as an installation needs; its path has a blank in it."""
    copy = tmp_path / "a checkout"
    (copy / "py" / "rosetta").mkdir(parents=True)
    for name in (*NEEDED, "py/rosetta/requirements.lock"):
        shutil.copy(CHECKOUT / name, copy / name)
    return copy


def make(checkout: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "MAKE"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=checkout,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.exhaustive
def test_an_installation_that_failed_is_not_taken_for_a_finished_one(checkout: Path) -> None:
    nothing = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    for _ in range(2):
        made = make(checkout, f"PYTHON={sys.executable}", "bench", **nothing)
        assert made.returncode == 2
        assert "couldn't be installed" in made.stderr
        assert "No such file" not in made.stderr
        assert not (checkout / ".venv" / "ready").exists()


def test_a_machine_without_python_is_told_what_is_needed(checkout: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "make", "test", "flock", "grep", "sed"):
        found = shutil.which(tool)
        if found:
            (tools / tool).symlink_to(found)
    made = make(checkout, "bench", PATH=str(tools))
    assert made.returncode == 2
    assert "Rosetta needs Python 3.11 or later" in made.stderr


def test_make_alone_shows_what_there_is(checkout: Path) -> None:
    shown = make(checkout).stdout
    for target in ("bench", "test", "worker", "conform", "rosetta", "run", "lint", "clean"):
        assert f"make {target} " in shown


@pytest.fixture
def installed(checkout: Path) -> Path:
    """The checkout with the commands of this installation."""
    commands = checkout / ".venv" / "bin"
    commands.mkdir(parents=True)
    (commands / "rosetta").symlink_to(Path(sys.executable).with_name("rosetta"))
    (checkout / ".venv" / "ready").touch()  # later than what it is made from
    return checkout


def test_make_rosetta_writes_the_page(installed: Path, tmp_path: Path) -> None:
    made = make(installed, "rosetta", f"OUT={tmp_path / 'the docs'}")
    assert made.returncode == 0, made.stderr
    assert [path.name for path in sorted((tmp_path / "the docs").iterdir())] == [
        "rosetta.html",
        "rosetta.md",
    ]


def test_make_rosetta_no_longer_runs_commands(installed: Path) -> None:
    made = make(installed, "rosetta", "ARGS=doctor")
    assert made.returncode == 2
    assert 'any command: make run ARGS="..."' in made.stderr


def test_make_run_runs_any_command(installed: Path) -> None:
    made = make(installed, "run", "ARGS=stone --help")
    assert made.returncode == 0, made.stderr
    assert "side by side" in made.stdout
