"""Imports point one way: which part of the house may import which."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PY = Path(__file__).parents[1] / "py"

# Part of `rosetta` → the parts that it may import. `cli` → `bench` → `coordinator` → `protocol`;
# the others stand beside them.
ALLOWED = {
    "errors": set(),
    "machine": set(),
    "scratch": set(),
    "protocol": {"errors"},
    "tasks": {"errors"},
    "datasets": {"errors"},
    "results": {"errors"},
    "report": {"errors", "results"},
    "workers": {"errors", "tasks"},
    "stone": {"errors", "tasks", "workers"},
    "environments": {"errors", "workers"},
    "doctor": {"errors", "environments", "machine", "workers"},
    "coordinator": {"errors", "protocol", "scratch", "tasks"},
    "proof": {"errors", "coordinator", "protocol", "tasks"},
    "new": {"errors", "workers"},
    "conformance": {"errors", "coordinator", "proof", "protocol", "scratch", "tasks"},
    "bench": {
        "errors",
        "coordinator",
        "datasets",
        "environments",
        "machine",
        "proof",
        "protocol",
        "report",
        "results",
        "scratch",
        "tasks",
        "workers",
    },
    "harness": {
        "errors",
        "bench",
        "coordinator",
        "datasets",
        "environments",
        "machine",
        "protocol",
        "results",
        "scratch",
        "tasks",
        "workers",
    },
    "cli": {
        "errors",
        "bench",
        "conformance",
        "coordinator",
        "machine",
        "new",
        "datasets",
        "doctor",
        "environments",
        "harness",
        "proof",
        "report",
        "results",
        "scratch",
        "stone",
        "tasks",
        "workers",
    },
    "__main__": {"cli"},
    "__init__": set(),
}

PACKAGES = ("rosetta", "rosetta_worker", "rosetta_reference")
# The proof compares with the reference networks; nothing else of `rosetta` needs them.
BETWEEN_PACKAGES = {("proof", "rosetta_reference")}


def imported(file: Path) -> set[str]:
    """Full names of all that a file imports, anywhere in it, as `package.module.name`."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{source_of(node, file)}.{alias.name}" for alias in node.names)
    return names


def source_of(node: ast.ImportFrom, file: Path) -> str:
    """The module that names are imported from; `..x` is resolved from where the file lies."""
    if not node.level:
        return node.module or ""
    package = file.relative_to(PY).parent.parts
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def part_of(file: Path) -> str:
    """`coordinator` for `py/rosetta/coordinator/session.py`, `errors` for `py/rosetta/errors.py`"""
    return file.relative_to(PY / "rosetta").with_suffix("").parts[0]


def edges() -> set[tuple[str, str]]:
    """(importing part, imported part) of `rosetta`."""
    found = set()
    for file in (PY / "rosetta").rglob("*.py"):
        for name in imported(file):
            root, *rest = name.split(".")
            if root == "rosetta" and rest and rest[0] != part_of(file):
                found.add((part_of(file), rest[0]))
    return found


@pytest.mark.parametrize("part", sorted({part_of(f) for f in (PY / "rosetta").rglob("*.py")}))
def test_a_part_imports_only_what_it_may(part):
    assert part in ALLOWED, f"a new part of rosetta: say in {Path(__file__).name} what it may use"
    assert {below for above, below in edges() if above == part} <= ALLOWED[part]


def test_imports_point_one_way():
    order = list(TopologicalSorter(ALLOWED).static_order())
    chain = [order.index(part) for part in ("protocol", "coordinator", "bench", "cli")]
    assert chain == sorted(chain)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_meet_only_in_the_protocol(package):
    """The coordinator, the workers' runtime and the reference never import each other."""
    for file in (PY / package).rglob("*.py"):
        others = {name.split(".")[0] for name in imported(file)} & (set(PACKAGES) - {package})
        if package == "rosetta":
            others -= {other for part, other in BETWEEN_PACKAGES if part == part_of(file)}
        assert not others, file


def test_the_runtime_needs_pyzmq_msgpack_numpy_and_the_standard_library_only():
    known = sys.stdlib_module_names | {"zmq", "msgpack", "numpy", "rosetta_worker"}
    for file in (PY / "rosetta_worker").rglob("*.py"):
        assert {name.split(".")[0] for name in imported(file)} <= known, file


def test_the_reference_needs_numpy_only():
    known = sys.stdlib_module_names | {"numpy", "rosetta_reference"}
    for file in (PY / "rosetta_reference").rglob("*.py"):
        assert {name.split(".")[0] for name in imported(file)} <= known, file
