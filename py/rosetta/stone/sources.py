"""Which files a worker's code lies in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rosetta import workers
from rosetta.errors import UserError
from rosetta.stone import julia_code, python_code
from rosetta.stone.definitions import Code, Language, Source
from rosetta.workers import PY_FOLDER, Worker
from rosetta.workers.folders import shown

_SUFFIXES: dict[str, Language] = {".py": "python", ".jl": "julia"}
_REFERENCE = "rosetta_reference"
"""The one package outside of the workers' folders that a worker's code may lie in."""


def sources(worker: Worker) -> list[Source]:
    """The worker's backend, then the files of its folder that it names, or that those name.

    Of several workers that share a folder each has those files that aren't named after another's
    variant: ``gluon_networks.py`` is the code of ``mxnet-gluon``. The reference's networks are the
    code of a worker that imports them. UserError without a backend.
    """
    main = _main(worker.folder)
    others = _named(main, [path for path in _files(worker.folder) if path != main])
    prefixes = tuple(f"{variant}_" for variant in other_variants(worker))
    others = [path for path in others if not path.stem.startswith(prefixes)]
    if main.suffix == ".py" and re.search(rf"^import {_REFERENCE}$", _text(main), re.MULTILINE):
        others += _files(PY_FOLDER / _REFERENCE)
    return [_source(path, path == main) for path in (main, *others)]


def take_apart(source: Source) -> Code:
    """The definitions in a file. UserError names a file that can't be read as code."""
    try:
        if source.language == "julia":
            return julia_code.take_apart(source)
        return python_code.take_apart(source)
    except SyntaxError as error:
        raise UserError(f"{source.shown}: line {error.lineno}: {error.msg}") from None


def other_variants(worker: Worker) -> set[str]:
    """The variants of the other workers of this worker's folder, where each has one."""
    siblings = workers.read(worker.folder / "worker.toml")
    return {sibling.variant for sibling in siblings} - {worker.variant, ""}


def _named(main: Path, files: list[Path]) -> list[Path]:
    """Those of `files` whose name stands in the code of `main`, or of another of them."""
    found = [main]
    for path in found:  # which grows meanwhile
        words = set(re.findall(r"\w+", _text(path)))
        found += [file for file in files if file.stem in words and file not in found]
    return [file for file in files if file in found]


def _main(folder: Path) -> Path:
    for suffix in _SUFFIXES:
        if (folder / f"backend{suffix}").is_file():
            return folder / f"backend{suffix}"
    raise UserError(f"{shown(folder)}: there is no backend.py or backend.jl")


def _files(folder: Path) -> list[Path]:
    """Every file of code, those in the folder itself first; tests and ``__init__`` aside."""
    found = [p for p in _walk(folder) if p.suffix in _SUFFIXES and p.stem != "__init__"]
    return sorted(found, key=lambda path: (len(path.parts), path))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and path.name not in ("test", "__pycache__"):
            yield from _walk(path)
        elif path.is_file():
            yield path


def _source(path: Path, is_main: bool) -> Source:
    language = _SUFFIXES[path.suffix]
    return Source(path, shown(path), language, is_main, _text(path))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
