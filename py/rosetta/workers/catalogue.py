"""The catalogue of workers: one folder a framework, described by its ``worker.toml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rosetta.errors import UserError, unknown
from rosetta.workers.description import Worker
from rosetta.workers.folders import WORKERS_FOLDERS, shown
from rosetta.workers.reading import read


class Catalogue(dict[str, Worker]):
    """Workers by name, and beside them, in ``errors``, the folders that could not be read."""

    def __init__(self, workers: Mapping[str, Worker], errors: Mapping[str, UserError]) -> None:
        super().__init__(workers)
        self.errors = dict(errors)


def catalogue(*folders: Path) -> Catalogue:
    """All workers under `folders` (by default the checkout's), each folder's sorted by name.

    Variants are not in it: a worker's ``variants`` names them. A folder without a ``worker.toml``
    is no worker. A file that is wrong does not hide the others: it is kept in ``errors`` under its
    folder's name, and so is a name that is there twice.

    Raises UserError when none of `folders` exists.
    """
    folders = folders or WORKERS_FOLDERS
    if not any(folder.is_dir() for folder in folders):
        raise UserError(f"{folders[0]} does not exist: Rosetta finds its workers in its checkout")
    workers: dict[str, Worker] = {}
    errors: dict[str, UserError] = {}
    for name, files in _by_name(folders).items():
        try:
            for worker in read(_only(name, files)):
                if worker.name in workers:
                    _only(worker.name, [workers[worker.name].folder, worker.folder])
                workers[worker.name] = worker
        except UserError as error:
            errors[name] = error
    return Catalogue(workers, errors)


def get(name: str, *folders: Path) -> Worker:
    """The worker called `name`; of ``torch:compile`` the variant.

    With a slash it is the path of a folder with a ``worker.toml``, anywhere: ``examples/mine``, or
    ``examples/mine:compile``.

    Raises UserError when there is none (naming the nearest ones), or when its file is wrong.
    """
    path, slash, last = name.rpartition("/")
    last, colon, variant = last.partition(":")
    name = path + slash + last
    if slash:
        worker = _at(Path(name))
        return worker.with_variant(variant) if colon else worker
    found = catalogue(*folders)
    if name in found:
        return found[name].with_variant(variant) if colon else found[name]
    if name in found.errors:
        raise found.errors[name]
    several = [worker.name for worker in found.values() if worker.folder.name == name]
    if several:
        raise UserError(f"{name} is the folder of several workers: {', '.join(several)}")
    raise UserError(unknown("worker", name, found))


def _at(folder: Path) -> Worker:
    found = read(folder / "worker.toml")
    if len(found) > 1:
        names = ", ".join(worker.name for worker in found)
        raise UserError(f"{shown(folder)} is the folder of several workers: {names}")
    return found[0]


def _by_name(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """The ``worker.toml`` files of each folder's name; more than one is one too many."""
    files: dict[str, list[Path]] = {}
    for folder in folders:
        for file in sorted(folder.glob("*/worker.toml")):
            files.setdefault(file.parent.name, []).append(file)
    return files


def _only(name: str, paths: Sequence[Path]) -> Path:
    if len(paths) > 1:
        places = " and ".join(map(shown, paths))
        raise UserError(f"{places}: two workers are called {name}: rename one of them")
    return paths[0]
