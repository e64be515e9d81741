"""How long each phase of a session may take before the worker counts as hung."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deadlines:
    """Seconds from the coordinator's message (or the process's start) to the worker's answer."""

    start: float = 120.0
    """To HELLO: the framework is imported."""
    setup: float = 120.0
    """SETUP to READY."""
    first_step: float = 600.0
    """The first RESULT and the first PREDICTIONS of a task: the framework may compile."""
    step: float = 120.0
    """Every other RESULT, PREDICTIONS and VALUES."""
    end: float = 30.0
    """END to ENDED, BYE to the process's exit."""
