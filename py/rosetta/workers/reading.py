"""Reading a ``worker.toml``: one worker, or the several that share a folder.

Read strictly, since a key that is misspelt and silently ignored would change what is measured.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rosetta import tasks
from rosetta.errors import UserError, unknown
from rosetta.workers.description import INTERPRETERS, Description, Variant, Worker
from rosetta.workers.environment_tables import environment_complaints
from rosetta.workers.folders import environment_name, shown

_COMMON_PLACEHOLDERS = frozenset({*INTERPRETERS.values(), "folder", "variant"})
_ARGV_PLACEHOLDERS = _COMMON_PLACEHOLDERS | {"connection_file"}
_TAPE_PLACEHOLDERS = _COMMON_PLACEHOLDERS | {"tape", "device", "threads"}


def read(file: Path) -> list[Worker]:
    """The workers that the ``worker.toml`` at `file` describes: one, unless it says otherwise.

    A ``[workers.NAME]`` table makes a worker of its own, of the keys in it laid over the common
    ones; ``[workers.NAME.environment]`` gives that worker an environment of its own.

    Raises UserError naming the file and the key.
    """
    folder = file.parent.resolve()
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{shown(file)}: {error.strerror}: no worker is described there") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{shown(file)}: {error}") from None
    if "workers" in table and table.get("name") != folder.name:
        raise UserError(
            f"{shown(file)}: name: {table.get('name')!r}, but the folder is {folder.name!r}"
        )
    workers = []
    for where, entries, shares in _split(table):
        try:
            description = _description(entries)
        except msgspec.ValidationError as error:
            raise UserError(f"{shown(file)}: {where}{_with_key_first(str(error))}") from None
        worker = Worker(
            folder=folder,
            environment_name=environment_name(folder, folder.name if shares else description.name),
            **{name: getattr(description, name) for name in description.__struct_fields__},
        )
        for complaint in _complaints(worker, is_folder=not where):
            raise UserError(f"{shown(file)}: {where}{complaint}")
        workers.append(worker)
    return workers


def _split(table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Of each worker: where it stands in the file, its keys, whether its environment is shared."""
    own_tables = table.pop("workers", None)
    if not isinstance(own_tables, dict) or not own_tables:
        yield "", table if own_tables is None else {**table, "workers": own_tables}, True
        return
    for name, own in own_tables.items():
        if not isinstance(own, dict):  # the conversion says that this key is unknown
            yield "", {**table, "workers": own_tables}, True
            return
        entries = {**table, **own, "name": name}
        for key in ("environment", "variants"):
            if isinstance(table.get(key), dict) and isinstance(own.get(key), dict):
                entries[key] = {**table[key], **own[key]}
        yield f"workers.{name}: ", entries, "environment" not in own


def _description(entries: dict[str, Any]) -> Description:
    """Raises msgspec.ValidationError; in a table of tables msgspec doesn't say which is wrong."""
    variants = entries.get("variants")
    for name, table in variants.items() if isinstance(variants, dict) else ():
        try:
            msgspec.convert(table, Variant)
        except msgspec.ValidationError as error:
            what, _, key = str(error).partition(" - at `$")
            raise msgspec.ValidationError(f"{what} - at `$.variants.{name}{key or '`'}") from None
    return msgspec.convert(entries, Description)


def _complaints(worker: Worker, *, is_folder: bool) -> list[str]:
    """What the types cannot say, a sentence each."""
    others = {*INTERPRETERS.values()} - {INTERPRETERS[type(worker.environment)]}
    choice = {"variant"} if worker.variant or worker.variants else set()
    argvs = (
        ("argv", worker.argv, _ARGV_PLACEHOLDERS, {"connection_file"} | choice),
        ("tape_argv", worker.tape_argv, _TAPE_PLACEHOLDERS, {"tape"} | choice),
    )
    complaints = [
        complaint
        for key, argv, known, needed in argvs
        for complaint in _argv_complaints(key, argv, known - others, needed)
    ]
    folder = worker.folder.name
    if is_folder and worker.name != folder:
        complaints.append(f"name: {worker.name!r}, but the folder is {folder!r}")
    if not is_folder and not worker.name.startswith(f"{folder}-"):
        complaints.append(f"its name must begin with {folder}-, as the folder is {folder!r}")
    complaints += _task_complaints("tasks", worker.tasks, tasks.names())
    for name, variant in worker.variants.items():
        key = f"variants.{name}.tasks"
        complaints += _task_complaints(key, variant.tasks or (), worker.tasks)
    return complaints + environment_complaints(worker.environment)


def _task_complaints(key: str, named: Sequence[str], known: Sequence[str]) -> list[str]:
    complaints = [f"{key}: {unknown('task', task, known)}" for task in named if task not in known]
    if len(set(named)) != len(named):
        complaints.append(f"{key}: one of them is listed twice")
    return complaints


def _argv_complaints(
    key: str, argv: Sequence[str], known: frozenset[str], needed: set[str]
) -> list[str]:
    complaints = []
    used: set[str] = set()
    for argument in argv:
        try:
            pieces = list(string.Formatter().parse(argument))
        except ValueError as error:
            complaints.append(f"{key}: {argument!r}: {error}")
            continue
        for _, name, spec, conversion in pieces:
            if name is None:
                continue
            if name in INTERPRETERS.values() and name not in known:
                (right,) = known & set(INTERPRETERS.values())
                complaints.append(
                    f"{key}: {{{name}}} is not what this kind of environment has: "
                    f"its interpreter is {{{right}}}"
                )
            elif name not in known or spec or conversion:
                choices = ", ".join(f"{{{choice}}}" for choice in sorted(known))
                complaints.append(f"{key}: unknown placeholder in {argument!r}: known: {choices}")
            used.add(name)
    if not complaints:
        complaints += [f"{key}: {{{name}}} is missing" for name in sorted(needed - used)]
    return complaints


def _with_key_first(message: str) -> str:
    """msgspec's ``Expected `str`, got `int` - at `$.environment.python``` with the key in front."""
    found = re.fullmatch(r"(?P<what>.*) - at `(?:key` in `)?\$\.?(?P<key>.*)`", message, re.DOTALL)
    return f"{found['key']}: {found['what']}" if found else message
