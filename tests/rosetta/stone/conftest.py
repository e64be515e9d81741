"""A worker made of a few lines, for what the checkout's own workers can't show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rosetta import workers
from rosetta.workers import Worker

DESCRIPTION = """\
name = "made"
title = "Made"
language = "python"
status = "living"
tasks = ["mlp"]
argv = ["{{python}}", "-m", "rosetta_worker", "{{folder}}", "--connect", "{{connection_file}}"]
tape_argv = ["{{python}}", "-m", "rosetta_worker", "{{folder}}", "--tape", "{{tape}}"]

[environment]
kind = "uv"
python = "3.11"
requirements = "requirements.in"
lock = "requirements.lock"
"""


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Worker]:
    """A worker in a folder of its own, with these files: `made(**{"backend.py": "..."})`."""

    def make(**files: str) -> Worker:
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        (folder / "worker.toml").write_text(DESCRIPTION.replace("{{", "{").replace("}}", "}"))
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return workers.read(folder / "worker.toml")[0]

    return make
