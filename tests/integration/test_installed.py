"""Rosetta away from its checkout, as a wheel installs it: one line says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
COMMANDS = (["--help"], ["workers"], ["bench"], ["report", "nowhere"], ["stone"])


def complaint(site: Path) -> str:
    return (
        f"rosetta: {site / 'rosetta'} is a copy outside a checkout, without the tasks and the "
        "workers: clone Rosetta's repository, and there use `make bench` or `make run`\n"
    )


def copy_packages(folder: Path) -> None:
    for package in ("rosetta", "rosetta_worker", "rosetta_reference"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / "py" / package, folder / package, ignore=ignored)


def ran(python: Path | str, *words: str, folder: Path, **variables: str) -> tuple[int, str, str]:
    environment = {**os.environ, **variables}
    command = [python, "-m", "rosetta", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_copy_of_the_packages_refuses_every_command(words, tmp_path):
    site, folder = tmp_path / "site-packages", tmp_path / "here"
    folder.mkdir()
    copy_packages(site)
    found = ran(sys.executable, *words, folder=folder, PYTHONPATH=str(site))
    assert found == (2, "", complaint(site))
    assert not list(folder.iterdir())
    assert set(tmp_path.iterdir()) == {site, folder}, "it makes nothing beside the packages"


@pytest.mark.exhaustive
def test_a_wheel_can_be_built_and_its_rosetta_refuses(tmp_path):
    """Its dependencies are this environment's; nothing is downloaded but the build's setuptools."""
    source = tmp_path / "source"
    copy_packages(source / "py")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path / "dist", source]
    built = subprocess.run(build, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")

    venv.create(tmp_path / "venv", with_pip=False)
    site = next((tmp_path / "venv").glob("lib/*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    ours = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    (site / "dependencies.pth").write_text(f"{ours}\n")
    found = ran(tmp_path / "venv" / "bin" / "python", "workers", folder=tmp_path)
    assert found == (2, "", complaint(site))
