"""What a run has at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rosetta.bench.features import FeatureFile
from rosetta.bench.plan import Plan
from rosetta.bench.progress import Reporter
from rosetta.coordinator import Router, SharedMemory
from rosetta.results import RunDirectory


@dataclass
class Context:
    """Shared by everything that happens in one run."""

    plan: Plan
    router: Router
    directory: RunDirectory
    reporter: Reporter
    scratch: Path
    """A private folder that is gone when the run is over."""
    shared: SharedMemory | None
    """Where batches lie for the workers of this machine."""
    features: FeatureFile | None = None
    """Where features go, if they are wanted."""
    matrix_peak: float | None = None
    """Floating-point operations a second of matrix products on the run's threads; measured before
    the first task."""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Worker → why it has no environment; filled before the first task."""
