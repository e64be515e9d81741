"""The workers of a page, in a fixed order, each with what tells it from the others in charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rosetta.errors import one_line
from rosetta.report.html import colours
from rosetta.results import Row


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker of the page; its index in the page's list stands for it in the data."""

    name: str
    """As the run's files have it."""
    label: str
    """On one line."""
    harness: bool
    colour: str
    symbol: str
    dash: str


def workers(rows: Sequence[Row], others: Iterable[str] = ()) -> list[Worker]:
    """The workers of `rows` in their order, then those of `others` that have no row."""
    harness = {row.worker for row in rows if row.harness}
    names = dict.fromkeys([*(row.worker for row in rows), *others])
    return [
        Worker(
            name=name,
            label=one_line(f"{name} (harness)" if name in harness else name),
            harness=name in harness,
            colour=colours.colour(number, name in harness),
            symbol=colours.symbol(number),
            dash=colours.dash(number),
        )
        for number, name in enumerate(names)
    ]
