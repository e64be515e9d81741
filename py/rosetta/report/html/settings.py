"""The machine, the versions, the settings, and how to repeat a run: the words of `run.json`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rosetta.errors import one_line
from rosetta.results import Run, Summary

GIB = 2**30


@dataclass(frozen=True)
class Facts:
    """A titled list of names and values."""

    title: str
    pairs: list[tuple[str, str]]


def facts(run: Run, summary: Summary) -> list[Facts]:
    """What must be known to repeat the run, and to believe it."""
    found = [
        Facts("Machine", _words(run.machine)),
        Facts("Run", _run(run, summary)),
        Facts("Settings", _words(run.options)),
        Facts("Set for every worker", _pairs(run.environment.items())),
        Facts("Set by the user", _pairs(run.inherited.items())),
        *(Facts(f"Data of {task}", _words(_dict(of))) for task, of in run.data.items()),
        *(Facts(f"Worker {name}", _worker(_dict(of))) for name, of in run.workers.items()),
    ]
    return [Facts(one_line(one.title), one.pairs) for one in found if one.pairs]


def repeat_command(run: Run) -> str:
    """The command line that made the run, as a shell reads it, wherever `rosetta` lies."""
    return one_line(shlex.join(["rosetta", *run.command[1:]]))


def machine_sentence(run: Run) -> str:
    """The machine in one line."""
    machine = run.machine
    memory = machine.get("memory_bytes")
    parts = [
        machine.get("cpu_model"),
        f"{machine['logical_cores']} logical cores" if machine.get("logical_cores") else None,
        f"{memory / GIB:.0f} GiB" if isinstance(memory, int) else None,
        _text(machine.get("gpus")),
        machine.get("os"),
    ]
    return one_line(", ".join(str(part) for part in parts if part))


def _run(run: Run, summary: Summary) -> list[tuple[str, str]]:
    peak = summary.matrix_peak_flops
    return _pairs(
        {
            "started": run.started,
            "Rosetta": run.rosetta,
            "revision": run.revision,
            "protocol": run.protocol,
            "processors of every worker": run.processors or "not bound to any",
            "matrix products": f"{peak / 1e9:.1f} Gflop/s, float32" if peak else None,
            "digest of the tasks": {name: _dict(t).get("sha256") for name, t in run.tasks.items()},
        }.items()
    )


def _worker(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is pinned, and what the worker said of itself, one list."""
    hello = _dict(record.get("hello"))
    said = ("framework", "framework_version", "language", "language_version", "device", "threads")
    return _pairs(
        [
            *((name, value) for name, value in record.items() if name != "hello"),
            *((name.replace("_", " "), hello.get(name)) for name in said),
            *((name, hello.get(name)) for name in ("versions", "forms", "disclosures")),
        ]
    )


def _pairs(items: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Names and values as text, without what isn't set."""
    texts = ((one_line(str(name)), one_line(_text(value))) for name, value in items)
    return [(name, text) for name, text in texts if text]


def _words(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same of a record whose keys are words with underscores."""
    return _pairs((name.replace("_", " "), value) for name, value in record.items())


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_text(v)}" for name, v in value.items() if _text(v))
    if isinstance(value, list | tuple):
        return ", ".join(_text(one) for one in value)
    return str(value)


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
