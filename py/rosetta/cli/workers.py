"""`rosetta workers`."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from rosetta import environments, workers
from rosetta.cli import as_json, options
from rosetta.workers import Worker
from rosetta.workers.catalogue import Catalogue


def command(json: as_json.Option = False) -> int:
    """List every worker: framework version, status, tasks, and whether its environment is ready.

    --json prints {"workers": [{name, title, framework_version, status, tasks, variants, ready,
    reason}], "errors": [a sentence for each folder that can't be read]}.
    """
    found = workers.catalogue()
    if json:
        as_json.write(
            {
                "workers": [_plain(w) for w in found.values()],
                "errors": [str(e) for e in found.errors.values()],
            }
        )
    else:
        _show(found)
    return 1 if found.errors else 0


def _plain(worker: Worker) -> dict[str, Any]:
    state = environments.status(worker)
    return {
        "name": worker.name,
        "title": worker.title,
        "framework_version": state.framework_version,
        "status": worker.status,
        "tasks": list(worker.tasks),
        "variants": list(worker.variants),
        "ready": state.ready,
        "reason": state.reason,
    }


def _show(found: Catalogue) -> None:
    table = Table("worker", "framework", "version", "status", "tasks", "environment", box=None)
    for worker in found.values():
        state = environments.status(worker)
        table.add_row(
            worker.name,
            escape(worker.title),
            state.framework_version or "",
            worker.status,
            " ".join(worker.tasks),
            "ready" if state.ready else f"not ready: {escape(state.reason or '')}",
        )
    console = options.output()
    console.print(table)
    for error in found.errors.values():
        console.print(str(error), style="red", markup=False, soft_wrap=True)
