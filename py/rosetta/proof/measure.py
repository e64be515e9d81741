"""What the proof finds: quantities with their deviations and tolerances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """One quantity. `deviation` and `tolerance` have the same unit; larger is worse."""

    quantity: str
    deviation: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Within the tolerance; what isn't a number isn't."""
        return self.deviation <= self.tolerance

    def __str__(self) -> str:
        return f"{self.quantity}: {self.deviation:.2g} (tolerance {self.tolerance:.2g})"


@dataclass
class Verdict:
    """All measurements of one worker on one task, in order from strong evidence to weak."""

    measurements: list[Measurement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was not measured, and why."""

    unproved: str | None = None
    """Why nothing could be compared at all."""

    def add(self, quantity: str, deviation: Any, tolerance: float) -> None:
        """Keep one measurement; `deviation` is any real number, NumPy's too."""
        self.measurements.append(Measurement(quantity, float(deviation), tolerance))

    @property
    def first_failure(self) -> Measurement | None:
        """The first quantity that deviates; None for the same network."""
        return next((m for m in self.measurements if not m.passed), None)

    @property
    def same(self) -> bool:
        """Nothing deviates, and something was measured."""
        return bool(self.measurements) and self.first_failure is None
