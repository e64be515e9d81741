"""Where workers are, how their paths are shown, and what their environments are called."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

PY_FOLDER = Path(__file__).resolve().parents[2]
"""The ``py/`` folder of the checkout: what a worker needs on its import path."""

CHECKOUT = PY_FOLDER.parent
WORKERS_FOLDERS = (PY_FOLDER / "workers", CHECKOUT / "julia" / "workers")

_DIGITS = 8
"""Of a digest, in hex: a collision among a user's folders is out of the question."""


def shown(file: Path) -> str:
    """The path as the user would type it: short inside the checkout."""
    resolved = file.resolve()
    return str(resolved.relative_to(CHECKOUT)) if resolved.is_relative_to(CHECKOUT) else str(file)


def environment_name(folder: Path, name: str) -> str:
    """What the environment `name` of the workers in `folder` is called on the disk.

    Names are unique under the checkout's ``py/`` and ``julia/``. Elsewhere any two folders may have
    the same, so a digest of the folder's real path is added: ``mine-3f2a9c1e``.
    """
    real = folder.resolve()
    if any(real.is_relative_to(ours) for ours in (PY_FOLDER, CHECKOUT / "julia")):
        return name
    digest = hashlib.sha256(os.fsencode(real)).hexdigest()
    return f"{name}-{digest[:_DIGITS]}"
