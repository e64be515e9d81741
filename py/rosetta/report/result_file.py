"""Results of one or several runs in one file: what `rosetta table --json` prints and reads again.

It holds what tables need, and nothing that names a machine's owner or a folder on it: a file that
can be sent, committed, and merged with those of other machines. JSON Schema:
`protocol/schema/results/results.json`.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rosetta.results import Run, Summary


class TaskOfRun(Struct, frozen=True, kw_only=True):
    """What was trained, on what."""

    network_sha256: Annotated[
        str,
        Meta(description="of the task without its sizes: batch size, epochs, steps of a bench"),
    ]
    data_sha256: Annotated[str, Meta(description="of the digests of all the data's parts")]


class RunResult(Struct, frozen=True, kw_only=True):
    """One run: its summary, and what tells whether it can stand beside another."""

    name: Annotated[str, Meta(description="of its directory or file")]
    started: Annotated[str | None, Meta(description="UTC, ISO 8601")] = None
    rosetta: Annotated[str | None, Meta(description="version of Rosetta")] = None
    revision: Annotated[str | None, Meta(description="git revision of the checkout")] = None
    machine: Annotated[
        dict[str, Any] | None, Meta(description="as in `run.json`; null where that is missing")
    ] = None
    tasks: Annotated[
        dict[str, TaskOfRun], Meta(description="by name; empty where `run.json` is missing")
    ] = {}
    summary: Summary


class ResultFile(Struct, frozen=True, kw_only=True):
    """Runs, in the order in which their columns stand."""

    format: Literal[1] = 1
    kind: Literal["results"] = "results"
    runs: list[RunResult]


def result_of(name: str, summary: Summary, run: Run | None) -> RunResult:
    """What the result file keeps of a run; `run` is None where its record is missing."""
    summary = _without_paths(summary)
    if run is None:
        return RunResult(name=name, summary=summary)
    return RunResult(
        name=name,
        started=run.started,
        rosetta=run.rosetta,
        revision=run.revision,
        machine={key: run.machine[key] for key in _MACHINE if key in run.machine},
        tasks={
            task: TaskOfRun(
                network_sha256=_digest(_network(_map(record, "content"))),
                data_sha256=_digest(_map(run.data.get(task, {}), "sha256")),
            )
            for task, record in run.tasks.items()
        },
        summary=summary,
    )


def _map(record: dict[str, Any], key: str) -> dict[str, Any]:
    """What another version, or another hand, may have left out or written otherwise."""
    found = record.get(key)
    return found if isinstance(found, dict) else {}


_MACHINE = (
    "cpu_model",
    "physical_cores",
    "logical_cores",
    "cpu_limit",
    "memory_bytes",
    "memory_limit_bytes",
    "os",
    "architecture",
    "container",
    "virtual_machine",
    "gpus",
)


def _without_paths(summary: Summary) -> Summary:
    """With the last part only of each path that a reason or a note quotes."""
    rows = [
        msgspec.structs.replace(
            row,
            reason=row.reason and _shortened(row.reason),
            proof_detail=row.proof_detail and _shortened(row.proof_detail),
            disclosures={name: _shortened(text) for name, text in row.disclosures.items()},
        )
        for row in summary.rows
    ]
    notes = [_PROCESS.sub("", _shortened(sentence)) for sentence in summary.notes]
    return msgspec.structs.replace(summary, rows=rows, notes=notes)


_PROCESS = re.compile(r" \(process \d+\)")
_PATH = re.compile(r"(?<![\w./:])~?/(?:[^\s/'\"():,]+/)+([^\s/'\"():,]+)")


def _shortened(text: str) -> str:
    return _PATH.sub(r"…/\1", text)


def _network(content: dict[str, Any]) -> dict[str, Any]:
    """A task without what may differ between runs of it, and is told apart from the digest."""
    kept = {key: value for key, value in content.items() if key not in ("bench", "title")}
    sizes = ("batch_size", "epochs")
    if isinstance(kept.get("training"), dict):
        kept["training"] = {k: v for k, v in kept["training"].items() if k not in sizes}
    return kept


def _digest(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
