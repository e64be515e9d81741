"""What a ``worker.toml`` says of a worker, and the command lines that follow from it.

A worker is started as a Jupyter kernel is: its file holds an argv with placeholders, and whoever
launches it fills them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from rosetta.errors import UserError, unknown
from rosetta.workers.folders import WORKERS_FOLDERS

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
MinorVersion = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+\.[0-9]+$")]
PackageName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Distribution = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
ProgramName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]*$")]
VariableName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


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
    build_requirements: Text | None = None
    """What has to be there before the rest is installed, relative to the worker's folder."""
    build_lock: Text | None = None
    """The same, pinned: it is installed first."""
    no_build_isolation: tuple[Distribution, ...] = ()
    """Packages that are built with what `build_lock` names, not with the newest build tools."""
    compile: tuple[Text, ...] = ()
    """A command that is run once after the packages are installed; it may hold {python}, {folder}
    and {environment}."""
    needs: tuple[ProgramName, ...] = ()
    """Programs that must be on the PATH when it is made, and whenever the worker runs."""
    install: Text | None = None
    """What to do where one of them is missing, such as ``apt-get install g++``."""
    variables: dict[VariableName, str] = {}
    """Of the worker's process and the compile step; they may hold {folder} and {environment}."""

    def filled(self, text: str, folder: Path, environment: Path) -> str:
        """`text` with its placeholders filled in: the worker's `folder`, its `environment`'s."""
        python = environment / "bin" / "python"
        return text.format(folder=folder, environment=environment, python=python)


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


class ProgramEnvironment(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="program",
):
    """The ``[environment]`` table of a worker in any other language: a program that is there."""

    program: Text
    """Looked for on the PATH (``node``), or with a slash in the worker's folder (``./worker``)."""
    needs: tuple[Text, ...] = ()
    """Files and folders in the worker's folder without which it can't run."""
    install: Text
    """What to do where something is missing, such as ``npm ci in its folder``."""


Environment = UvEnvironment | JuliaEnvironment | ProgramEnvironment

INTERPRETERS = {UvEnvironment: "python", JuliaEnvironment: "julia", ProgramEnvironment: "program"}
"""Kind of environment → the placeholder for its interpreter."""


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ``[variants.NAME]`` table: another way to run the same backend, chosen as WORKER:NAME."""

    title: Text
    kind: Literal["idiomatic", "tuned"]
    """``tuned``: more than a regular user writes with half an hour's care; its row is marked."""
    about: Text
    """What is different, one sentence."""
    tasks: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)] | None = None
    """None: the worker's."""


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a ``worker.toml`` says of one worker."""

    name: Name
    title: Text
    language: Name
    status: Literal["living", "frozen"]
    tasks: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    argv: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    tape_argv: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    harness: bool = False
    """True for a worker that measures the harness and is no framework."""
    default: bool = True
    """False for a framework that a bench takes only where it is named, or all are asked for."""
    variant: Name | Literal[""] = ""
    """What the backend is started with; empty: as it is."""
    variants: dict[Name, Variant] = {}
    """What else it can be started with."""
    environment: Environment


class Worker(Description, frozen=True, kw_only=True):
    """A described worker, and the folder it lives in."""

    folder: Path
    """Absolute."""
    environment_name: str
    """Of its folder under ``environments``. Workers with the same one share an environment."""
    tuned: bool = False

    @property
    def word(self) -> str:
        """What it is called on a command line: its name, or its folder's path where that is not
        among the checkout's."""
        if self.folder.parent in WORKERS_FOLDERS:
            return self.name
        _, colon, variant = self.name.partition(":")
        return f"{self.folder}{colon}{variant}"

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

    @property
    def program(self) -> ProgramEnvironment:
        """The environment, of a worker that is a program of this machine's."""
        assert isinstance(self.environment, ProgramEnvironment)
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

    def with_variant(self, name: str) -> Worker:
        """This worker as the variant `name` of it. Raises UserError when there is none."""
        if name not in self.variants:
            if not self.variants:
                raise UserError(f"worker {self.name} has no variants")
            raise UserError(unknown(f"variant of {self.name}", name, self.variants))
        variant = self.variants[name]
        return msgspec.structs.replace(
            self,
            name=f"{self.name}:{name}",
            title=variant.title,
            variant=name,
            variants={},
            tasks=variant.tasks or self.tasks,
            tuned=variant.kind == "tuned",
        )

    def interpreter_options(self) -> list[str]:
        """The options in `argv` that are the interpreter's: those before its script."""
        options = takewhile(lambda argument: argument.startswith("-"), self.argv[1:])
        return [option.format(folder=self.folder) for option in options]

    def _filled(
        self, argv: Sequence[str], interpreter: Path | str, **values: Path | str | int
    ) -> list[str]:
        values[INTERPRETERS[type(self.environment)]] = interpreter
        known = {"folder": self.folder, "variant": self.variant, **values}
        return [argument.format(**known) for argument in argv]
