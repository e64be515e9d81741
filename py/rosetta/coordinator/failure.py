"""Why a worker's row has no result."""

from __future__ import annotations

from typing import Literal

from rosetta.errors import one_line

Status = Literal["skipped", "failed", "crashed", "timeout"]


class WorkerFailureError(Exception):
    """One worker can't go on; the others can.

    `status` is what the row says: `skipped` (it lacks what was asked for), `crashed` (its process
    is gone), `timeout` (a deadline passed), `failed` (it answered with an error, or broke the
    protocol). `reason` is one sentence.
    """

    def __init__(self, status: Status, reason: str) -> None:
        self.status: Status = status
        self.reason = one_line(reason)  # it may quote the worker
        super().__init__(self.reason)
