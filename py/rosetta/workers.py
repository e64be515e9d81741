"""The catalogue of workers: one folder a framework, described by its ``worker.toml``.

A worker is started as a Jupyter kernel is: its file holds an argv with placeholders, and whoever
launches it fills them in. The file is read strictly, since a key that is misspelt and silently
ignored would change what is measured.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from rosetta import tasks
from rosetta.errors import UserError, unknown

PY_FOLDER = Path(__file__).resolve().parents[1]
"""The ``py/`` folder of the checkout: what a worker needs on its import path."""

CHECKOUT = PY_FOLDER.parent
WORKERS_FOLDERS = (PY_FOLDER / "workers", CHECKOUT / "julia" / "workers")

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
MinorVersion = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+\.[0-9]+$")]
PackageName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


class UvEnvironment(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="uv",
):
    """The ``[environment]`` table of a worker in Python: what uv installs, with which Python."""

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
    optional: bool = False
    """True where many machines can't have it: making all environments then goes on without it."""


class JuliaEnvironment(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="julia",
):
    """The ``[environment]`` table of a worker in Julia: the machine's own, and which packages."""

    version: MinorVersion
    """The oldest minor version that will do, such as ``1.5``."""
    project: Text | None = None
    """The file that names the packages, relative to the worker's folder; None: none are needed."""
    package: PackageName | None = None
    """The package that makes the framework: without it the worker can't run."""
    download: Text | None = None
    """How much is fetched for the packages, in words, such as ``90 MB``."""


Environment = UvEnvironment | JuliaEnvironment

_INTERPRETERS = {UvEnvironment: "python", JuliaEnvironment: "julia"}
"""Kind of environment → the placeholder for its interpreter."""
_ARGV_PLACEHOLDERS = frozenset({*_INTERPRETERS.values(), "folder", "connection_file"})
_TAPE_PLACEHOLDERS = frozenset({*_INTERPRETERS.values(), "folder", "tape", "device", "threads"})


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a ``worker.toml`` says."""

    name: Name
    title: Text
    language: Name
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

    @property
    def uv(self) -> UvEnvironment:
        """The environment, of a worker whose environment uv makes."""
        assert isinstance(self.environment, UvEnvironment)
        return self.environment

    @property
    def julia(self) -> JuliaEnvironment:
        """The environment, of a worker that needs a Julia."""
        assert isinstance(self.environment, JuliaEnvironment)
        return self.environment

    def command(self, interpreter: Path | str, connection_file: Path | str) -> list[str]:
        """The argv that starts a session with a coordinator.

        `interpreter` is what the environment gives: a Python, or a Julia.
        """
        return self._filled(self.argv, interpreter, connection_file=connection_file)

    def tape_command(
        self, interpreter: Path | str, tape: Path | str, *, device: str, threads: int
    ) -> list[str]:
        """The argv that runs a stored session without a coordinator.

        What a connection file says of device and threads, a tape doesn't: the argv does.
        """
        return self._filled(self.tape_argv, interpreter, tape=tape, device=device, threads=threads)

    def interpreter_options(self) -> list[str]:
        """The options in `argv` that are the interpreter's: those before its script."""
        options = takewhile(lambda argument: argument.startswith("-"), self.argv[1:])
        return [option.format(folder=self.folder) for option in options]

    def _filled(
        self, argv: Sequence[str], interpreter: Path | str, **values: Path | str | int
    ) -> list[str]:
        values[_INTERPRETERS[type(self.environment)]] = interpreter
        return [argument.format(folder=self.folder, **values) for argument in argv]


class Catalogue(dict[str, Worker]):
    """Workers by name, and beside them, in ``errors``, the folders that could not be read."""

    def __init__(self, workers: Mapping[str, Worker], errors: Mapping[str, UserError]) -> None:
        super().__init__(workers)
        self.errors = dict(errors)


def catalogue(*folders: Path) -> Catalogue:
    """All workers under `folders` (by default the checkout's), each folder's sorted by name.

    A folder without a ``worker.toml`` is no worker. A file that is wrong does not hide the others:
    it is kept in ``errors`` under its folder's name, and so is a name that is there twice.

    Raises UserError when none of `folders` exists.
    """
    folders = folders or WORKERS_FOLDERS
    if not any(folder.is_dir() for folder in folders):
        raise UserError(f"{folders[0]} does not exist: Rosetta finds its workers in its checkout")
    workers: dict[str, Worker] = {}
    errors: dict[str, UserError] = {}
    for name, files in _by_name(folders).items():
        try:
            workers[name] = read(_only(name, files))
        except UserError as error:
            errors[name] = error
    return Catalogue(workers, errors)


def get(name: str, *folders: Path) -> Worker:
    """The worker called `name`.

    Raises UserError when there is none (naming the nearest ones), or when its file is wrong.
    """
    found = catalogue(*folders)
    if name in found:
        return found[name]
    if name in found.errors:
        raise found.errors[name]
    raise UserError(unknown("worker", name, found))


def _by_name(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """The ``worker.toml`` files of each name; more than one is one too many."""
    files: dict[str, list[Path]] = {}
    for folder in folders:
        for file in sorted(folder.glob("*/worker.toml")):
            files.setdefault(file.parent.name, []).append(file)
    return files


def _only(name: str, files: Sequence[Path]) -> Path:
    if len(files) > 1:
        places = " and ".join(map(_shown, files))
        raise UserError(f"{places}: two workers are called {name}: rename one of them")
    return files[0]


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
    others = {*_INTERPRETERS.values()} - {_INTERPRETERS[type(worker.environment)]}
    argvs = (
        ("argv", worker.argv, _ARGV_PLACEHOLDERS, "connection_file"),
        ("tape_argv", worker.tape_argv, _TAPE_PLACEHOLDERS, "tape"),
    )
    complaints = [
        complaint
        for key, argv, known, needed in argvs
        for complaint in _argv_complaints(key, argv, known - others, needed)
    ]
    if worker.name != worker.folder.name:
        complaints.append(f"name: {worker.name!r}, but the folder is {worker.folder.name!r}")
    known = tasks.names()
    complaints += [
        f"tasks: {unknown('task', task, known)}" for task in worker.tasks if task not in known
    ]
    if len(set(worker.tasks)) != len(worker.tasks):
        complaints.append("tasks: one of them is listed twice")
    for key in ("requirements", "lock", "project"):
        path = Path(getattr(worker.environment, key, None) or "")
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
            if name in _INTERPRETERS.values() and name not in known:
                (right,) = known & set(_INTERPRETERS.values())
                complaints.append(
                    f"{key}: {{{name}}} is not what this kind of environment has: "
                    f"its interpreter is {{{right}}}"
                )
            elif name not in known or spec or conversion:
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
