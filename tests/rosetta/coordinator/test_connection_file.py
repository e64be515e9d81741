"""The file that a worker is started with: whoever can read it can join the run."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rosetta.coordinator import connection_file
from rosetta.errors import UserError

CONTENT: dict[str, Any] = {
    "endpoint": "ipc:///run/coordinator",
    "run": "20240131-120000-abcd",
    "key": "k" * 32,
    "worker": "torch",
    "device": "cuda:1",
    "threads": 2,
}


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "torch.json"
    connection_file.write(path, **CONTENT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_holds_what_the_specification_says(tmp_path: Path) -> None:
    path = tmp_path / "torch.json"
    connection_file.write(path, **CONTENT)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == {"protocol": "1.0", **CONTENT}
    assert text.endswith("}\n")
    assert connection_file.read(path) == {"protocol": "1.0", **CONTENT}


def test_it_never_replaces_a_file_or_follows_a_link(tmp_path: Path) -> None:
    """Somebody else may have put it there, to read the key."""
    there, target, link = tmp_path / "there", tmp_path / "target", tmp_path / "link"
    there.write_text("mine")
    link.symlink_to(target)
    for path in (there, link):
        with pytest.raises(FileExistsError):
            connection_file.write(path, **CONTENT)
    assert there.read_text() == "mine"
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe{}"])
def test_a_file_that_is_none_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "torch.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"connection file {path}: "):
        connection_file.read(path)
    with pytest.raises(UserError, match="nowhere"):
        connection_file.read(tmp_path / "nowhere")
