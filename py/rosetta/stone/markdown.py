"""The same as Markdown: one part after the other, with the code of every worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rosetta.stone.parts import PARTS, Part
from rosetta.stone.stone import Column, Entry

_HEAD = """\
# The Rosetta Stone

The same network in every framework, part by part. `rosetta.html` beside this file shows any two of
them next to each other. Both are made from the workers' own code: `make rosetta`."""


def markdown(columns: Sequence[Column]) -> str:
    """The whole text. A worker that lacks a part says so."""
    contents = "\n".join(f"- [{part.title}](#{_anchor(part.title)})" for part in PARTS)
    pieces = [_HEAD, contents]
    for part in PARTS:
        pieces += _part(part, columns)
    return "\n\n".join(pieces) + "\n"


def _part(part: Part, columns: Sequence[Column]) -> Iterator[str]:
    yield f"## {part.title}"
    yield part.about
    for column in columns:
        entry = column.entries[part.key]
        yield f"### {column.title}"
        if entry.note:
            yield entry.note
        yield from _code(entry)


def _code(entry: Entry) -> Iterator[str]:
    if entry.hosted:
        yield f"This is {entry.hosted}'s code:"
    if not entry.snippets:
        yield "*Not in this worker.*"
    for snippet in entry.snippets:
        place = f"{snippet.source.shown}, line {snippet.line}"
        yield f"*{place}*\n\n```{snippet.source.language}\n{snippet.text}\n```"


def _anchor(title: str) -> str:
    """The anchor that Markdown renderers make of a title."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -")
    return kept.replace(" ", "-")
