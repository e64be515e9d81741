"""The proof's margins: how far each quantity lies from its tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rosetta.errors import one_line
from rosetta.report.html.thinning import short
from rosetta.results import Row


class Margin(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity of the proof. `share` is deviation / tolerance; None where that is no number."""

    quantity: str
    deviation: str
    tolerance: str
    share: float | None
    passed: bool


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """All quantities of one worker on one task, from strong evidence to weak."""

    worker: int
    margins: list[Margin]


def proofs(rows: Sequence[Row], index: Mapping[str, int]) -> list[Proof]:
    """Of the rows whose proof was recorded."""
    return [
        Proof(
            worker=index[row.worker],
            margins=[
                _margin(one.quantity, one.deviation, one.tolerance)
                for one in row.proof_measurements
            ],
        )
        for row in rows
        if row.proof_measurements
    ]


def _margin(quantity: str, deviation: float | None, tolerance: float) -> Margin:
    """`deviation` is None when it was not a finite number: then it didn't pass."""
    passed = deviation is not None and deviation <= tolerance
    share = None
    if deviation is not None:
        share = short(deviation / tolerance, 3) if tolerance else (0.0 if passed else None)
    return Margin(
        quantity=one_line(quantity),
        deviation="not finite" if deviation is None else f"{deviation:.2g}",
        tolerance=f"{tolerance:.2g}",
        share=share,
        passed=passed,
    )
