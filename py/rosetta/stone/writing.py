"""The page and its Markdown, as files."""

from __future__ import annotations

from pathlib import Path

from rosetta.stone.markdown import markdown
from rosetta.stone.stone import columns
from rosetta.stone.webpage import html


def write(folder: Path) -> list[Path]:
    """Write ``rosetta.html`` and ``rosetta.md`` into `folder`, which is made; return their paths.

    UserError where a worker's code or notes can't be read; nothing is written then.
    """
    found = columns()
    contents = {"rosetta.html": html(found), "rosetta.md": markdown(found)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in contents]
