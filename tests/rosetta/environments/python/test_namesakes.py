"""Two workers of one name, in two folders outside the checkout: each has its own environment."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rosetta import environments, workers
from rosetta.cli import env
from rosetta.errors import UserError
from rosetta.workers import Worker

Make = Callable[..., Worker]
PutWheel = Callable[..., None]


@pytest.fixture
def namesakes(make: Make, put_wheel: PutWheel, tmp_path: Path) -> list[Worker]:
    """Both are called `tiny`; the first needs the package `one`, the second `two`."""
    put_wheel("one", "1.0")
    put_wheel("two", "2.0")
    first = make("one==1.0\n", framework="one")
    folder = tmp_path / "elsewhere" / "tiny"
    shutil.copytree(first.folder, folder)
    (folder / "requirements.lock").write_text("two==2.0\n")
    file = folder / "worker.toml"
    file.write_text(file.read_text().replace('"one"', '"two"'))
    return [first, workers.get(str(folder))]


def version_of(package: str, worker: Worker) -> str:
    """What the environment's Python finds."""
    python = environments.status(worker).interpreter
    assert python is not None
    command = [python, "-c", f"import {package}; print({package}.version)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_both_can_be_used_at_the_same_time(namesakes: list[Worker]) -> None:
    first, second = namesakes
    environments.ensure(first)
    assert environments.status(second).reason == "not made yet"
    environments.ensure(second)
    assert [environments.status(worker).framework_version for worker in namesakes] == ["1.0", "2.0"]
    assert (version_of("one", first), version_of("two", second)) == ("1.0", "2.0")
    assert environments.status(first).path != environments.status(second).path


def test_a_way_round_to_the_folder_leads_to_the_same_environment(
    namesakes: list[Worker], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(namesakes[0].folder.parent)
    again = workers.get(str(tmp_path / "link" / "tiny"))
    assert environments.status(again).path == environments.status(namesakes[0]).path


def test_each_is_shown_and_removed_by_its_path(
    namesakes: list[Worker], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = namesakes
    paths = [str(worker.folder) for worker in namesakes]
    for path in paths:
        assert env.create([path]) == 0
    capsys.readouterr()

    assert env.size(paths) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == paths
    assert all(line.startswith("tiny-") for line in lines)

    assert env.clean(paths[:1]) == 0
    assert [environments.status(worker).ready for worker in namesakes] == [False, True]
    assert (environments.size(first), environments.size(second) > 0) == (0, True)


def test_they_are_not_made_at_once_since_what_was_made_is_told_by_name(
    namesakes: list[Worker],
) -> None:
    with pytest.raises(UserError) as refused:
        environments.ensure_all(namesakes)
    first, second = (worker.folder for worker in namesakes)
    assert str(refused.value) == (
        f"two workers are called tiny: {first} and {second}: name one at a time"
    )
    assert not any(environments.status(worker).ready for worker in namesakes)
