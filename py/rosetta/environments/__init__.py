"""Environments: one for each worker, made by uv from the worker's lock, and cached."""

from rosetta.environments.create import ensure, remove
from rosetta.environments.errors import EnvironmentUnavailable
from rosetta.environments.lock import lock
from rosetta.environments.state import EnvironmentStatus, home, size, status
from rosetta.environments.uv import clean_environment

__all__ = [
    "EnvironmentStatus",
    "EnvironmentUnavailable",
    "clean_environment",
    "ensure",
    "home",
    "lock",
    "remove",
    "size",
    "status",
]
