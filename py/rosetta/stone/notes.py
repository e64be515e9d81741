"""What a worker's ``notes.toml`` says of its code, part by part.

It lies beside the code that it speaks of. Whatever stands in `backticks` is code of that part, or
of the class or function that it names: a test looks for it there, and fails when it has gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rosetta.errors import UserError, unknown
from rosetta.stone.parts import PARTS
from rosetta.workers import Worker
from rosetta.workers.folders import shown

FILE = "notes.toml"
_CODE = re.compile(r"`([^`]+)`")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """`hosts` names the worker whose networks this one runs; `workers` are those of the folder."""

    notes: dict[str, str] = {}
    workers: dict[str, dict[str, str]] = {}
    hosts: str | None = None


class Notes(msgspec.Struct, frozen=True):
    """A worker's notes by part. `hosts` is the worker that has the parts which it lacks."""

    by_part: Mapping[str, str]
    hosts: str | None = None


def read(worker: Worker) -> Notes:
    """The notes of a worker; of one without a file, none.

    Where several workers share the folder, each has the common notes and then its own.
    Raises UserError naming the file and what is wrong in it.
    """
    path = worker.folder / FILE
    if not os.path.lexists(path):
        return Notes({})
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=_File)
    except (msgspec.DecodeError, RecursionError, OSError) as error:
        raise UserError(f"{shown(path)}: {error}") from None
    _check(path, content)
    own = content.workers.get(worker.name, {})
    texts = {key: [t[key] for t in (content.notes, own) if key in t] for key in _KEYS}
    return Notes({key: " ".join(found) for key, found in texts.items() if found}, content.hosts)


def code_in(note: str) -> list[str]:
    """What stands in backticks."""
    return _CODE.findall(note)


def split(note: str) -> list[tuple[str, bool]]:
    """The pieces of a note, each with whether it is code."""
    return [(piece, place % 2 == 1) for place, piece in enumerate(_CODE.split(note)) if piece]


_KEYS = [part.key for part in PARTS]


def _check(path: Path, content: _File) -> None:
    for table in (content.notes, *content.workers.values()):
        for key in table:
            if key not in _KEYS:
                raise UserError(f"{shown(path)}: {unknown('part', key, _KEYS)}")
