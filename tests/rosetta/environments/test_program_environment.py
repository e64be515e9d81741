"""A worker in any other language: a program that is there, or what to do about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rosetta import environments, workers
from rosetta.environments import NotInstalled
from rosetta.errors import UserError
from rosetta.workers import Worker

WORKER_TOML = """\
name = "mine"
title = "Mine"
language = "c"
status = "living"
tasks = ["mlp"]
argv = ["{{program}}", "--connect", "{{connection_file}}"]
tape_argv = ["{{program}}", "--tape", "{{tape}}"]
[environment]
kind = "program"
program = "{program}"
needs = ["modules", "main.c"]
install = "make in its folder"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "modules").mkdir(parents=True)
    (folder / "main.c").write_text("int main;")
    return folder


def described(folder: Path, program: str, change: tuple[str, str] = ("", "")) -> Worker:
    text = WORKER_TOML.format(program=program)
    (folder / "worker.toml").write_text(text.replace(*change))
    return workers.get(str(folder))


def executable(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_on_the_path_is_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = executable(tmp_path / "bin" / "rosetta-mine")
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    worker = described(folder, "rosetta-mine")
    assert environments.ensure(worker).interpreter == program
    assert worker.command(program, "file") == [str(program), "--connect", "file"]


def test_a_program_in_its_folder_is_used(folder: Path) -> None:
    executable(folder / "build")
    assert environments.ensure(described(folder, "./build")).interpreter == folder / "build"


@pytest.mark.parametrize("missing", ["program", "main.c", "modules"])
def test_what_is_missing_is_said_with_what_to_do(folder: Path, missing: str) -> None:
    executable(folder / "build")
    worker = described(folder, "./nothing" if missing == "program" else "./build")
    if missing == "main.c":
        (folder / missing).unlink()
    elif missing == "modules":
        (folder / missing).rmdir()
    with pytest.raises(NotInstalled) as caught:
        environments.ensure(worker)
    assert str(caught.value).endswith(": make in its folder")
    assert ("./nothing" if missing == "program" else missing) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_of_it_is_rosettas(folder: Path) -> None:
    executable(folder / "build")
    worker = described(folder, "./build")
    assert environments.size(worker) == 0
    environments.remove(worker)
    assert environments.status(worker).ready
    lines: list[str] = []
    environments.lock(worker, lines.append)
    assert lines == ["mine: nothing to lock: it uses ./build of this machine"]


def test_a_run_keeps_what_it_was_made_of(folder: Path) -> None:
    program = executable(folder / "build")
    pins = environments.pins(described(folder, "./build"))
    assert pins["program"] == str(program)
    assert list(pins["sha256"]) == ["main.c"]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("{program}", "{python}"), "its interpreter is {program}"),
        (('"main.c"', '"../main.c"'), "environment.needs: '../main.c' is outside"),
        (('install = "make in its folder"', ""), "environment: Object missing required field"),
    ],
)
def test_a_mistake_is_named(folder: Path, change: tuple[str, str], words: str) -> None:
    with pytest.raises(UserError) as caught:
        described(folder, "node", change)
    assert words in str(caught.value)


def test_a_folder_is_named_with_a_slash(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described(folder, "node")
    monkeypatch.chdir(folder.parent)
    assert workers.get("./mine").folder == folder
    with pytest.raises(UserError, match="unknown worker 'mine'"):
        workers.get("mine")
    with pytest.raises(UserError, match="No such file"):
        workers.get("./nothing")
