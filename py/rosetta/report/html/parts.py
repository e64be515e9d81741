"""Where a step's time goes: waiting, copying, and what the worker tells of the step itself."""

from __future__ import annotations

import msgspec
import numpy as np

from rosetta.report.html.steps import UNTOLD, Numbers, Series, column
from rosetta.report.html.thinning import short

MS = 1e6


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Medians over a worker's timed steps, in milliseconds; None: not told apart.

    `rest` is `step` less `forward` and `backward`, step by step: the update, and what else belongs
    to neither. `wait` is without the first step of each turn.
    """

    worker: int
    wait: float | None
    copy: float
    step: float
    forward: float | None
    backward: float | None
    rest: float | None


def parts(worker: int, series: Series) -> Parts | None:
    """The medians of one worker on one task; None without a timed step."""
    timed = series.timed
    if not len(timed):
        return None
    step, forward, backward = (
        column(times)[timed] for times in (series.step_ns, series.forward_ns, series.backward_ns)
    )
    told = (forward != UNTOLD) & (backward != UNTOLD)
    split = bool(told.all())
    waited = column(series.wait_ns)[timed[~series.opens_turn[timed]]]
    return Parts(
        worker=worker,
        wait=_median(waited) if len(waited) else None,
        copy=_median(column(series.copy_ns)[timed]),
        step=_median(step),
        forward=_median(forward) if split else None,
        backward=_median(backward) if split else None,
        rest=_median(np.maximum(0, step - forward - backward)) if split else None,
    )


def _median(times: Numbers) -> float:
    return short(float(np.median(times)) / MS)
