"""Environments: one for each worker, made from its lock by uv, or of a Julia, and cached."""

from rosetta.environments.errors import EnvironmentUnavailable, NotInstalled
from rosetta.environments.kinds import ensure, lock, pins, remove, size, status
from rosetta.environments.programs import clean_environment
from rosetta.environments.state import EnvironmentStatus, home, variables
from rosetta.environments.together import Made, ensure_all

__all__ = [
    "EnvironmentStatus",
    "EnvironmentUnavailable",
    "Made",
    "NotInstalled",
    "clean_environment",
    "ensure",
    "ensure_all",
    "home",
    "lock",
    "pins",
    "remove",
    "size",
    "status",
    "variables",
]
