"""Every worker with its code and notes, part by part: what the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rosetta import workers
from rosetta.stone import notes
from rosetta.stone.parts import PARTS, TASK_PARTS, Snippet, anatomy
from rosetta.workers import Worker


@dataclass(frozen=True)
class Entry:
    """One part of one worker. `hosted` is the title of the worker whose part it is, if another."""

    snippets: Sequence[Snippet]
    note: str
    hosted: str = ""


@dataclass(frozen=True)
class Column:
    """One worker: a column of the page. `entries` has every part, by its key."""

    name: str
    title: str
    language: str
    is_frozen: bool
    entries: Mapping[str, Entry]


def columns() -> list[Column]:
    """A column for each worker of the checkout that trains something, in the catalogue's order."""
    found = workers.catalogue()
    return [column(worker) for worker in found.values() if not worker.harness]


def column(worker: Worker) -> Column:
    """The column of one worker. UserError where its code or its notes can't be read."""
    own, said = anatomy(worker), notes.read(worker)
    entries = {
        part.key: Entry(own.parts[part.key], said.by_part.get(part.key, "")) for part in PARTS
    }
    if said.hosts:
        host = column(workers.get(said.hosts))
        for key in TASK_PARTS:
            if not entries[key].snippets:
                lent = host.entries[key]
                entries[key] = Entry(lent.snippets, lent.note, host.title)
    is_frozen = worker.status == "frozen"
    return Column(worker.name, worker.title, worker.language, is_frozen, entries)
