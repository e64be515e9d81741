"""The coordinator: its socket, its sessions with the workers, and the processes it starts."""

from rosetta.coordinator.deadlines import Deadlines
from rosetta.coordinator.failure import WorkerFailureError
from rosetta.coordinator.prepared import (
    PreparedMessage,
    prepare_batch,
    prepare_predict,
    prepare_setup,
)
from rosetta.coordinator.process import Process
from rosetta.coordinator.router import Router
from rosetta.coordinator.session import Session

__all__ = [
    "Deadlines",
    "PreparedMessage",
    "Process",
    "Router",
    "Session",
    "WorkerFailureError",
    "prepare_batch",
    "prepare_predict",
    "prepare_setup",
]
