"""The coordinator: its socket, its sessions with the workers, and the processes it starts."""

from rosetta.coordinator.deadlines import Deadlines
from rosetta.coordinator.failure import WorkerFailureError
from rosetta.coordinator.prepared import (
    Plane,
    PreparedMessage,
    prepare_batch,
    prepare_predict,
    prepare_setup,
)
from rosetta.coordinator.process import Process
from rosetta.coordinator.router import Router
from rosetta.coordinator.session import Session
from rosetta.coordinator.shared_memory import Lease, SharedMemory

__all__ = [
    "Deadlines",
    "Lease",
    "Plane",
    "PreparedMessage",
    "Process",
    "Router",
    "Session",
    "SharedMemory",
    "WorkerFailureError",
    "prepare_batch",
    "prepare_predict",
    "prepare_setup",
]
