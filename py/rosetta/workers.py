"""The catalogue of workers: one folder a framework, described by its ``worker.toml``.

A worker is started as a Jupyter kernel is: its file holds an argv with placeholders, and whoever
launches it fills them in. The file is read strictly, since a key that is misspelt and silently
ignored would change what is measured.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from rosetta import tasks
from rosetta.errors import UserError, unknown

PY_FOLDER = Path(__file__).resolve().parents[1]
"""The ``py/`` folder of the checkout: what a worker needs on its import path."""

CHECKOUT = PY_FOLDER.parent
WORKERS_FOLDER = PY_FOLDER / "workers"

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
MinorVersion = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+\.[0-9]+$")]

_ARGV_PLACEHOLDERS = frozenset({"python", "folder", "connection_file"})
_TAPE_PLACEHOLDERS = frozenset({"python", "folder", "tape", "device", "threads"})


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[environment]`` table: what is installed for a worker, and with which Python."""

    kind: Literal["uv"]
    python: MinorVersion
    """The minor version that the lock was made for, such as ``3.11``."""
    requirements: Text
    """The file that the lock was made from, relative to the worker's folder."""
    lock: Text
    """The file that is installed, relative to the worker's folder."""
    framework: Text | None = None
    """The distribution whose version the tables show."""
    torch_backend: Text | None = None
    """Which build of PyTorch to ask for where the machine has no wheels of its own: ``cpu``."""
    download: Text | None = None
    """How much is fetched, in words, such as ``190 MB``."""


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a ``worker.toml`` says."""

    name: Name
    title: Text
    language: Literal["python", "julia"]
    status: Literal["living", "frozen"]
    tasks: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    argv: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    tape_argv: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    harness: bool = False
    """True for a worker that measures the harness and is no framework."""
    environment: Environment


class Worker(Description, frozen=True, kw_only=True):
    """A described worker, and the folder it lives in."""

    folder: Path
    """Absolute."""

    def command(self, python: Path | str, connection_file: Path | str) -> list[str]:
        """The argv that starts a session with a coordinator."""
        return self._filled(self.argv, python=python, connection_file=connection_file)

    def tape_command(
        self, python: Path | str, tape: Path | str, *, device: str, threads: int
    ) -> list[str]:
        """The argv that runs a stored session without a coordinator.

        What a connection file says of device and threads, a tape doesn't: the argv does.
        """
        return self._filled(
            self.tape_argv, python=python, tape=tape, device=device, threads=threads
        )

    def _filled(self, argv: Sequence[str], **values: Path | str | int) -> list[str]:
        return [argument.format(folder=self.folder, **values) for argument in argv]


class Catalogue(dict[str, Worker]):
    """Workers by name, and beside them, in ``errors``, the folders that could not be read."""

    def __init__(self, workers: Mapping[str, Worker], errors: Mapping[str, UserError]) -> None:
        super().__init__(workers)
        self.errors = dict(errors)


def catalogue(folder: Path | None = None) -> Catalogue:
    """All workers under `folder` (by default the checkout's), sorted by name.

    A folder without a ``worker.toml`` is no worker. A file that is wrong does not hide the others:
    it is kept in ``errors`` under its folder's name.

    Raises UserError when `folder` itself does not exist.
    """
    folder = WORKERS_FOLDER if folder is None else folder
    if not folder.is_dir():
        raise UserError(f"{folder} does not exist: Rosetta finds its workers in its checkout")
    workers: dict[str, Worker] = {}
    errors: dict[str, UserError] = {}
    for file in sorted(folder.glob("*/worker.toml")):
        try:
            workers[file.parent.name] = read(file)
        except UserError as error:
            errors[file.parent.name] = error
    return Catalogue(workers, errors)


def get(name: str, folder: Path | None = None) -> Worker:
    """The worker called `name`.

    Raises UserError when there is none (naming the nearest ones), or when its file is wrong.
    """
    found = catalogue(folder)
    if name in found:
        return found[name]
    if name in found.errors:
        raise found.errors[name]
    raise UserError(unknown("worker", name, found))


def read(file: Path) -> Worker:
    """The worker that the ``worker.toml`` at `file` describes.

    Raises UserError naming the file and the key.
    """
    try:
        description = msgspec.toml.decode(file.read_bytes(), type=Description)
    except msgspec.ValidationError as error:
        raise UserError(f"{_shown(file)}: {_with_key_first(str(error))}") from None
    except (msgspec.DecodeError, OSError) as error:
        raise UserError(f"{_shown(file)}: {error}") from None
    worker = Worker(folder=file.parent.resolve(), **_fields(description))
    for complaint in _complaints(worker):
        raise UserError(f"{_shown(file)}: {complaint}")
    return worker


def _fields(description: Description) -> dict[str, Any]:
    return {name: getattr(description, name) for name in description.__struct_fields__}


def _complaints(worker: Worker) -> list[str]:
    """What the types cannot say, a sentence each."""
    complaints = [
        *_argv_complaints("argv", worker.argv, _ARGV_PLACEHOLDERS, "connection_file"),
        *_argv_complaints("tape_argv", worker.tape_argv, _TAPE_PLACEHOLDERS, "tape"),
    ]
    if worker.name != worker.folder.name:
        complaints.append(f"name: {worker.name!r}, but the folder is {worker.folder.name!r}")
    known = tasks.names()
    complaints += [
        f"tasks: {unknown('task', task, known)}" for task in worker.tasks if task not in known
    ]
    if len(set(worker.tasks)) != len(worker.tasks):
        complaints.append("tasks: one of them is listed twice")
    for key in ("requirements", "lock"):
        path = Path(getattr(worker.environment, key))
        if path.is_absolute() or ".." in path.parts:
            complaints.append(f"environment.{key}: {str(path)!r} is outside the worker's folder")
    return complaints


def _argv_complaints(
    key: str, argv: Sequence[str], known: frozenset[str], needed: str
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
            if name not in known or spec or conversion:
                choices = ", ".join(f"{{{choice}}}" for choice in sorted(known))
                complaints.append(f"{key}: unknown placeholder in {argument!r}: known: {choices}")
            used.add(name)
    if not complaints and needed not in used:
        complaints.append(f"{key}: {{{needed}}} is missing")
    return complaints


def _with_key_first(message: str) -> str:
    """msgspec's ``Expected `str`, got `int` - at `$.environment.python``` with the key in front."""
    found = re.fullmatch(r"(?P<what>.*) - at `\$\.?(?P<key>.*)`", message, re.DOTALL)
    return f"{found['key']}: {found['what']}" if found else message


def _shown(file: Path) -> str:
    """The path as the user would type it: short inside the checkout."""
    resolved = file.resolve()
    return str(resolved.relative_to(CHECKOUT)) if resolved.is_relative_to(CHECKOUT) else str(file)
