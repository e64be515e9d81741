"""`rosetta workers`."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from rosetta import environments, workers
from rosetta.cli import options


def command() -> int:
    """List every worker: framework version, status, tasks, and whether its environment is ready."""
    found = workers.catalogue()
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
    return 1 if found.errors else 0
