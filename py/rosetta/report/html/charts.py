"""What the charts of one task draw: numbers, thinned; the page's script makes marks of them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from rosetta.report.html.parts import MS, Parts, parts
from rosetta.report.html.proof import Proof, proofs
from rosetta.report.html.steps import PHASES, Numbers, Series, column
from rosetta.report.html.thinning import distribution, drawn, every_nth, short
from rosetta.results import Row


class StepTimes(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's timed steps, a column a field; times in milliseconds."""

    worker: int
    order: list[int]
    step: list[int]
    block: list[int]
    repeat: list[int]
    ms: list[float]
    wait: list[float]
    copy: list[float]
    each_two_of: int
    """Each two of them stand for so many steps; 1: all are here."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Sorted step times of one worker in milliseconds, or their quantiles in even distances."""

    worker: int
    ms: list[float]
    of: int
    """So many steps."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What comes before the timed steps, in milliseconds; `first` is copy and step."""

    worker: int
    setup: float | None
    first: float | None
    warmup: float | None
    typical: float | None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A line over the steps of a training."""

    worker: int
    step: list[int]
    value: list[float | None]
    every: int = 1
    """Every how many-th step is here."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a worker."""

    worker: int
    value: float


class Charts(msgspec.Struct, frozen=True, kw_only=True):
    """The charts of one task; a list is empty where nothing is known."""

    times: list[StepTimes]
    spread: list[Spread]
    start: list[Start]
    parts: list[Parts]
    loss: list[Curve]
    accuracy: list[Curve]
    memory: list[Amount]
    """MiB."""
    proof: list[Proof]


def charts(
    rows: Sequence[Row], series: Mapping[str, Series], index: Mapping[str, int], limit: int
) -> Charts:
    """Of the rows of one task and their steps; `limit`: steps drawn of one worker."""
    harness = {row.worker for row in rows if row.harness}
    ordered = sorted(series, key=lambda name: index[name])
    timed = [name for name in ordered if len(series[name].timed)]
    told = (parts(index[name], series[name]) for name in timed)
    trained = [n for n in ordered if n not in harness and _has_a_loss(series[n])]
    every = every_nth(max((len(_last_repeat(series[name])) for name in trained), default=0))
    return Charts(
        times=[_times(index[name], series[name], limit) for name in timed],
        spread=[_spread(index[name], series[name]) for name in timed],
        start=[_start(index, name, rows, series[name]) for name in ordered],
        parts=[part for part in told if part],
        loss=[_loss(index[name], series[name], every) for name in trained],
        accuracy=[_accuracy(index[row.worker], row) for row in rows if _is_graded(row)],
        memory=[
            Amount(worker=index[row.worker], value=round(row.peak_memory_bytes / 2**20, 1))
            for row in rows
            if row.peak_memory_bytes is not None
        ],
        proof=proofs(rows, index),
    )


def _times(worker: int, series: Series, limit: int) -> StepTimes:
    timed = series.timed
    chosen, size = drawn(column(series.step_ns)[timed], limit)
    kept = timed[chosen]
    return StepTimes(
        worker=worker,
        order=column(series.order)[kept].tolist(),
        step=column(series.step)[kept].tolist(),
        block=column(series.block)[kept].tolist(),
        repeat=column(series.repeat)[kept].tolist(),
        ms=_ms(series.step_ns, kept),
        wait=_ms(series.wait_ns, kept),
        copy=_ms(series.copy_ns, kept),
        each_two_of=size,
    )


def _spread(worker: int, series: Series) -> Spread:
    times = column(series.step_ns)[series.timed] / MS
    return Spread(worker=worker, ms=[short(ms) for ms in distribution(times)], of=len(times))


def _start(index: Mapping[str, int], name: str, rows: Sequence[Row], series: Series) -> Start:
    row = next((row for row in rows if row.worker == name), None)
    whole = column(series.copy_ns) + column(series.step_ns)
    phases = column(series.phase)

    def typical(phase: int) -> float | None:
        times = whole[phases == phase]
        return short(float(np.median(times)) / MS) if len(times) else None

    first, warmup, timed = (typical(phase) for phase in range(len(PHASES)))
    setup = short(row.setup_ns / MS) if row and row.setup_ns is not None else None
    return Start(worker=index[name], setup=setup, first=first, warmup=warmup, typical=timed)


def _has_a_loss(series: Series) -> bool:
    """A task that trains nothing has none."""
    return any(map(math.isfinite, series.loss))


def _last_repeat(series: Series) -> Numbers:
    repeats = column(series.repeat)
    return np.flatnonzero(repeats == repeats[-1])


def _loss(worker: int, series: Series, every: int) -> Curve:
    """Of the last repeat every n-th step, the same steps for every worker, and its last one."""
    steps = _last_repeat(series).tolist()
    kept = steps[::every]
    if kept[-1] != steps[-1]:
        kept.append(steps[-1])
    return Curve(
        worker=worker,
        step=[series.step[number] for number in kept],
        value=[short(series.loss[number], 6) for number in kept],
        every=every,
    )


def _accuracy(worker: int, row: Row) -> Curve:
    return Curve(
        worker=worker,
        step=[evaluation.after_step for evaluation in row.evaluations],
        value=[round(evaluation.accuracy, 5) for evaluation in row.evaluations],
    )


def _is_graded(row: Row) -> bool:
    return bool(row.evaluations) and not row.harness


def _ms(times: array[int], kept: Numbers) -> list[float]:
    return [short(value) for value in (column(times)[kept] / MS).tolist()]
