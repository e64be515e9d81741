"""Which rows may be set against each other, and which of them is really the fastest."""

from __future__ import annotations

from collections.abc import Sequence

from rosetta.results import Row


def is_proved(row: Row) -> bool:
    """Whether the row is a framework's, with times, of a network that was proved to be the same."""
    return (
        row.status == "ok"
        and row.proof == "same"
        and not row.harness
        and row.samples_per_s is not None
    )


def interval(row: Row, baseline: str | None) -> tuple[float, float] | None:
    """95 % interval of the row's ratio to the baseline, as tables show it: with two decimals.

    Rounded so that nobody reads a difference beside an interval that shows 1.00. The baseline's own
    is 1 to 1.
    """
    if row.worker == baseline and row.ratio is not None:
        return 1.0, 1.0
    if row.ratio_interval is None:
        return None
    low, high = row.ratio_interval
    return round(low, 2), round(high, 2)


def fastest(rows: Sequence[Row], baseline: str | None) -> Row | None:
    """The row of one task and run whose whole interval lies above those of all the others.

    Only proved rows are candidates and rivals. None where there is no such row: intervals overlap,
    a rival has none (too few blocks to say), or there is only one row.
    """
    proved = [row for row in rows if is_proved(row)]
    intervals = [interval(row, baseline) for row in proved]
    known = [one for one in intervals if one is not None]
    if len(proved) < 2 or len(known) < len(proved):
        return None
    first = max(range(len(proved)), key=lambda n: known[n][0])
    rivals = [known[n] for n in range(len(proved)) if n != first]
    return proved[first] if all(known[first][0] > high for _, high in rivals) else None
