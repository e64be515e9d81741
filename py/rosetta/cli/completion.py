"""What the shell offers for an option's value, when the user presses the tabulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from rosetta import datasets as data_sets
from rosetta import tasks as all_tasks
from rosetta import workers as all_workers
from rosetta.errors import UserError

RUNS = Path("runs")


def worker(incomplete: str) -> list[str]:
    """Names of workers."""
    return _beginning(_names_of_workers(), incomplete)


def workers(incomplete: str) -> list[str]:
    """The same where several may be given: behind a comma begins the next one."""
    return _last_of_list(_names_of_workers, incomplete)


def task(incomplete: str) -> list[str]:
    """Names of tasks."""
    return _beginning(all_tasks.names(), incomplete)


def tasks(incomplete: str) -> list[str]:
    """The same where several may be given."""
    return _last_of_list(all_tasks.names, incomplete)


def data(incomplete: str) -> list[str]:
    """What --data takes."""
    return _beginning(("auto", *data_sets.NAMES), incomplete)


def runs(incomplete: str) -> list[str]:
    """Run directories and folders of sweeps in runs/, or below what was typed.

    Where there is none the shell offers files, as it does by itself.
    """
    typed = Path(incomplete or ".")
    folder = typed if incomplete.endswith("/") else typed.parent
    found = [path for place in dict.fromkeys((RUNS, folder)) for path in _runs_in(place)]
    return _beginning(dict.fromkeys(map(str, found)), incomplete)


def _runs_in(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(
            path
            for path in folder.iterdir()
            if (path / "summary.json").is_file() or any(path.glob("*/summary.json"))
        )
    return []


def _names_of_workers() -> Iterable[str]:
    with suppress(UserError):  # nobody reads it here
        return list(all_workers.catalogue())
    return []


def _last_of_list(names: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    given = set(before.split(","))
    return [before + comma + name for name in _beginning(names(), last) if name not in given]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
