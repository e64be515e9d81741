"""Where workers are, and how their paths are shown."""

from __future__ import annotations

from pathlib import Path

PY_FOLDER = Path(__file__).resolve().parents[2]
"""The ``py/`` folder of the checkout: what a worker needs on its import path."""

CHECKOUT = PY_FOLDER.parent
WORKERS_FOLDERS = (PY_FOLDER / "workers", CHECKOUT / "julia" / "workers")


def shown(file: Path) -> str:
    """The path as the user would type it: short inside the checkout."""
    resolved = file.resolve()
    return str(resolved.relative_to(CHECKOUT)) if resolved.is_relative_to(CHECKOUT) else str(file)
