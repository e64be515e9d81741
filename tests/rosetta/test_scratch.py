"""Private folders: gone when they are no longer needed, however their process ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rosetta import scratch
from rosetta.scratch import ScratchFolder

HOLD = """\
import sys
from rosetta.scratch import ScratchFolder
folder = ScratchFolder()
(folder.path / "socket").touch()
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def holder() -> tuple[subprocess.Popen[str], Path]:
    """Another process with a folder of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_private_and_removed_with_all_that_is_in_it(temporary: Path) -> None:
    with ScratchFolder() as folder:
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "deep").mkdir()
        (folder / "deep" / "file").touch()
    assert not list(temporary.iterdir())


def test_the_folder_of_a_process_that_was_killed_is_removed_by_the_next() -> None:
    process, folder = holder()
    process.kill()
    process.communicate()
    assert (folder / "socket").exists()
    with ScratchFolder():
        assert not folder.exists()


def test_a_folder_in_use_is_left_alone() -> None:
    process, folder = holder()
    with ScratchFolder():
        assert (folder / "socket").exists()
    process.communicate("")


def test_a_folder_that_is_being_made_or_somebody_elses_is_left_alone(temporary: Path) -> None:
    (temporary / "rosetta-tmp-new").mkdir()
    (temporary / "rosetta-other").mkdir()
    trap = temporary / "rosetta-tmp-trap"
    trap.mkdir()
    (trap / ".in-use").symlink_to(temporary / "target")
    (temporary / "target").touch()
    with ScratchFolder():
        assert {p.name for p in temporary.glob("rosetta-*")} >= {
            "rosetta-tmp-new",
            "rosetta-other",
            "rosetta-tmp-trap",
        }


def test_at_no_moment_of_its_making_is_it_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may look for abandoned folders at any time."""
    stages = []

    def look(folder: Path) -> None:
        stages.append({path.name for path in folder.iterdir()})
        assert not scratch._is_abandoned(folder)

    real_open, real_rename = os.open, Path.rename

    def opened(path: Path, *more: int) -> int:
        descriptor = real_open(path, *more)
        if str(path).endswith(".new"):
            look(Path(path).parent)
        return descriptor

    def renamed(path: Path, target: Path) -> Path:
        look(path.parent)
        moved = real_rename(path, target)
        look(path.parent)
        return moved

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(Path, "rename", renamed)
    with ScratchFolder():
        assert stages == [{".in-use.new"}, {".in-use.new"}, {".in-use"}]


def test_one_that_was_removed_can_be_removed_again() -> None:
    folder = ScratchFolder()
    folder.remove()
    folder.remove()
    assert not folder.path.exists()
