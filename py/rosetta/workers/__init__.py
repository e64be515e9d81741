"""The workers of this checkout: what their files say, and how they are found by name."""

from rosetta.workers.catalogue import Catalogue, catalogue, get
from rosetta.workers.description import (
    Environment,
    JuliaEnvironment,
    ProgramEnvironment,
    UvEnvironment,
    Variant,
    Worker,
)
from rosetta.workers.folders import CHECKOUT, PY_FOLDER, WORKERS_FOLDERS
from rosetta.workers.reading import read

__all__ = [
    "CHECKOUT",
    "PY_FOLDER",
    "WORKERS_FOLDERS",
    "Catalogue",
    "Environment",
    "JuliaEnvironment",
    "ProgramEnvironment",
    "UvEnvironment",
    "Variant",
    "Worker",
    "catalogue",
    "get",
    "read",
]
