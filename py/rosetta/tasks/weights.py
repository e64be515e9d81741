"""A user's own weights: a safetensors file whose names are the task's (torchvision's)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from rosetta.errors import UserError
from rosetta.tasks.definition import Task

_BESIDE = ("fc.weight", "fc.bias")
"""The classifier of a network whose features are wanted."""


def read_weights(path: Path, task: Task) -> dict[str, NDArray[np.float32]]:
    """Every parameter of `task`, float32, in its order.

    What the file has beyond them must be the classifier or batch norm's counters, or it is another
    network. Raises `UserError` naming what is missing, of another shape, or not finite.
    """
    wanted = {parameter.name: tuple(parameter.shape) for parameter in task.parameters}
    if path.is_dir():
        raise UserError(f"--weights {path}: is a folder: name the .safetensors file in it")
    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            _check_names(path, task, names, set(wanted))
            return {name: _tensor(path, file, name, shape) for name, shape in wanted.items()}
    except (OSError, SafetensorError) as error:
        raise UserError(f"--weights {path}: not a readable safetensors file ({error})") from error


def _check_names(path: Path, task: Task, found: set[str], wanted: set[str]) -> None:
    missing = sorted(wanted - found)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(
            f"--weights {path}: {missing[0]}{more} missing: {task.name} has torchvision's names"
        )
    strange = {n for n in found - wanted if n not in _BESIDE and not n.endswith("batches_tracked")}
    if strange:
        raise UserError(
            f"--weights {path}: {task.name} has no {sorted(strange)[0]}: it is another network"
        )


def _tensor(path: Path, file: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    try:
        found = file.get_tensor(name)
    except (TypeError, AttributeError) as error:  # a type that NumPy doesn't have
        raise UserError(f"--weights {path}: {name}: {error}: save it as float32") from error
    if found.shape != shape or found.dtype.kind != "f":
        sentence = f"{name} is {found.dtype} {found.shape}, not float32 {shape}"
        raise UserError(f"--weights {path}: {sentence}")
    with np.errstate(over="ignore"):  # infinity is refused below
        values: NDArray[np.float32] = np.ascontiguousarray(found, np.float32)
    if not np.isfinite(values).all():
        raise UserError(f"--weights {path}: {name} isn't finite everywhere")
    if name.endswith(".running_var") and (values < 0).any():
        raise UserError(f"--weights {path}: {name} is a variance, and negative somewhere")
    return values
