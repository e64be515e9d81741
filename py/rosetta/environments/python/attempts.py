"""The ways in which uv is asked for packages, one after the other until one succeeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rosetta.environments import programs
from rosetta.environments.exclusive import Report
from rosetta.environments.python import pip_settings, uv
from rosetta.environments.python.pip_settings import PipSettings
from rosetta.workers import Worker

Run = Callable[[Mapping[str, str], Sequence[str]], programs.Ran]
"""Runs uv with more variables and more options."""

_OWN_SOURCES = (
    "UV_FIND_LINKS",
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_TORCH_BACKEND",
)
"""Variables by which the user has already told uv where packages come from."""


@dataclass(frozen=True)
class Attempt:
    """One way to get a worker's packages."""

    settings: PipSettings
    note: str = ""
    """What to tell the user before this attempt is made, after the one before has failed."""
    label: str = ""
    """How a reason speaks of this attempt."""
    variables: dict[str, str] = field(default_factory=dict)


def first_success(
    worker: Worker, report: Report, run: Run, *, any_build: bool = True
) -> str | None:
    """None as soon as an attempt has succeeded, or else every different reason, in one line.

    `report` is told why an attempt failed before the next one is made. `any_build`: see `attempts`.
    """
    failures: list[tuple[str, str]] = []
    for attempt in attempts(worker, pip_settings.read(), any_build=any_build):
        if failures:
            report(f"{worker.name}: {failures[-1][1]}")
            report(f"{worker.name}: {attempt.note}")
        variables, options = attempt.settings.for_uv(os.environ)
        ran = run(variables | attempt.variables, options)
        if ran.succeeded:
            return None
        failures.append((attempt.label, uv.telling_line(ran.output)))
        if programs.is_out_of_space(ran.output):
            break
    return _joined(failures)


def attempts(worker: Worker, settings: PipSettings, *, any_build: bool = True) -> list[Attempt]:
    """The ways to get the packages, the best first.

    A machine without wheels or indexes of its own gets PyTorch from PyTorch's CPU index first: the
    public index answers with several gigabytes of CUDA libraries, and is asked only if `any_build`
    of PyTorch will do. A broken extra index, over which pip passes with a warning, stops uv, so the
    last way is without them.
    """
    ways = [Attempt(settings)]
    backend = worker.uv.torch_backend
    has_own_sources = settings.names_sources or any(name in os.environ for name in _OWN_SOURCES)
    if backend and not has_own_sources:
        first = Attempt(settings, label=f"{backend} build", variables={"UV_TORCH_BACKEND": backend})
        note = (
            f"PyTorch's own {backend} index could not be used; "
            "trying the public one, which may bring several gigabytes"
        )
        second = Attempt(settings, note=note, label="public index")
        ways = [first, second] if any_build else [first]
    if settings.extra_index_urls:
        ways.append(
            Attempt(
                settings.without_extra_indexes(),
                note="trying again without pip's extra indexes",
                label="without pip's extra indexes",
            )
        )
    return ways


def _joined(failures: Sequence[tuple[str, str]]) -> str:
    """Of attempts that failed for the same reason only the first is named."""
    reasons: dict[str, str] = {}
    for label, why in failures:
        reasons.setdefault(why, label)
    return "; ".join(f"{label}: {why}" if label else why for why, label in reasons.items())
