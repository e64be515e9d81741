"""The environments of several workers, made at the same time where that is safe."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console

from rosetta.environments import kinds, programs
from rosetta.environments.errors import EnvironmentUnavailable
from rosetta.environments.exclusive import Report, spinner
from rosetta.environments.python import uv
from rosetta.environments.state import EnvironmentStatus
from rosetta.errors import UserError
from rosetta.workers import JuliaEnvironment, UvEnvironment, Worker

Made = EnvironmentStatus | EnvironmentUnavailable
"""An environment that can be used, or why there is none."""

AT_ONCE = 4
"""Most of the making is waiting for downloads and for the disk."""


def ensure_all(
    workers: Sequence[Worker],
    report: Report = lambda line: None,
    console: Console | None = None,
    *,
    install_packages: bool = False,
) -> dict[str, Made]:
    """By name, what `ensure` gives or raises for each of `workers`; as many at once as is safe.

    Workers that share an environment wait for each other, and so do all in Julia, whose packages
    are compiled into one place. `report` and `console` are as for `ensure`; `report` is called by
    one thread at a time. An interrupt ends what was started for any of them.

    Raises UserError where two workers in different folders have the same name.
    """
    _refuse_namesakes(workers)
    made: dict[str, Made] = {}
    groups = _groups(workers)
    if not groups:
        return made
    report = _one_at_a_time(report)
    if any(isinstance(worker.environment, UvEnvironment) for worker in workers):
        uv.program()  # the search for it isn't safe in two threads
    together = programs.Together()
    with (
        spinner(console, "making environments: " + ", ".join(worker.name for worker in workers)),
        ThreadPoolExecutor(min(AT_ONCE, len(groups))) as pool,
    ):
        try:
            running = [
                pool.submit(together.run, _ensure, group, report, install_packages)
                for group in groups
            ]
            for future in as_completed(running):
                made |= future.result()
        except BaseException:
            together.end()
            pool.shutdown(cancel_futures=True)
            raise
    return {worker.name: made[worker.name] for worker in workers}


def _refuse_namesakes(workers: Sequence[Worker]) -> None:
    folders: dict[str, Path] = {}
    for worker in workers:
        other = folders.setdefault(worker.name, worker.folder)
        if other != worker.folder:
            raise UserError(
                f"two workers are called {worker.name}: {other} and {worker.folder}: "
                "name one at a time"
            )


def _groups(workers: Sequence[Worker]) -> list[list[Worker]]:
    """Those of one group are made one after the other."""
    groups: dict[str, list[Worker]] = {}
    for worker in workers:
        julia = isinstance(worker.environment, JuliaEnvironment)
        groups.setdefault("julia" if julia else worker.environment_name, []).append(worker)
    return list(groups.values())


def _ensure(group: Sequence[Worker], report: Report, install_packages: bool) -> dict[str, Made]:
    """What failed once for an environment isn't tried again for the next worker that shares it."""
    made: dict[str, Made] = {}
    failed: dict[str, EnvironmentUnavailable] = {}
    for worker in group:
        name = worker.environment_name
        try:
            if name in failed:
                raise failed[name]
            made[worker.name] = kinds.ensure(worker, report, install_packages=install_packages)
        except EnvironmentUnavailable as error:
            made[worker.name] = failed[name] = error
    return made


def _one_at_a_time(report: Report) -> Report:
    lock = threading.Lock()

    def said(line: str) -> None:
        with lock:
            report(line)

    return said
