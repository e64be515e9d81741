"""The same as Markdown."""

from __future__ import annotations

from rosetta import stone, workers
from rosetta.stone.markdown import markdown


def test_every_part_has_every_worker_its_note_and_its_code() -> None:
    columns = [stone.column(workers.get(name)) for name in ("torch", "knet", "caffe2")]
    text = markdown(columns)
    for part in stone.PARTS:
        section = text.split(f"\n## {part.title}\n")[1].split("\n## ")[0]
        assert [f"### {column.title}" in section for column in columns] == [True] * 3
        for column in columns:
            entry = column.entries[part.key]
            assert entry.note in section
            assert all(snippet.text in section for snippet in entry.snippets)
    assert "```julia\n" in text
    assert "```python\n" in text


def test_a_part_that_a_worker_lacks_says_so(made) -> None:
    column = stone.column(made(**{"backend.py": "def start(device, threads):\n    return {}\n"}))
    section = markdown([column]).split("\n## Network: gru\n")[1].split("\n## ")[0]
    assert "*Not in this worker.*" in section
