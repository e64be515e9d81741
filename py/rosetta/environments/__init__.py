"""Environments: one for each worker, made from its lock by uv, or of a Julia, and cached."""

from rosetta.environments.errors import EnvironmentUnavailable, NotInstalled
from rosetta.environments.kinds import ensure, lock, pins, remove, size, status
from rosetta.environments.programs import clean_environment
from rosetta.environments.state import EnvironmentStatus, home

__all__ = [
    "EnvironmentStatus",
    "EnvironmentUnavailable",
    "NotInstalled",
    "clean_environment",
    "ensure",
    "home",
    "lock",
    "pins",
    "remove",
    "size",
    "status",
]
