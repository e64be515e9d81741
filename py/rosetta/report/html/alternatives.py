"""Which charts a task has, what each of them says, and the same in words for who can't see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rosetta.report.html.charts import Charts, Curve, Spread, Start, StepTimes
from rosetta.report.html.parts import Parts
from rosetta.report.html.people import Worker
from rosetta.report.html.proof import Proof
from rosetta.report.html.ratios import Speed
from rosetta.report.html.thinning import short

Label = Callable[[int], str]


@dataclass(frozen=True)
class Chart:
    """A figure of the page: the script draws `kind`, the words stand below it.

    `wide`: it takes the whole width of a large screen.
    """

    kind: str
    title: str
    hint: str
    words: list[str]
    wide: bool = False


def described(charts: Charts, speeds: Sequence[Speed], workers: Sequence[Worker]) -> list[Chart]:
    """The charts that have something to draw, in the order of the page."""

    def label(worker: int) -> str:
        return workers[worker].label

    known = [
        (_speed(), len(speeds) > 1),
        (_spread(charts.spread, label), charts.spread),
        (_times(charts.times, label), charts.times),
        (_parts(charts.parts, label), charts.parts),
        (_start(charts.start, label), charts.start),
        (_loss(charts.loss, label), charts.loss),
        (_accuracy(charts.accuracy, label), charts.accuracy),
        (_memory(charts, label), charts.memory),
        (_proof(charts.proof, label), charts.proof),
    ]
    return [chart for chart, shown in known if shown]


def thinning_sentence(thinned: Sequence[StepTimes], loss: Sequence[Curve]) -> str:
    """What is left out of the charts of a long run."""
    size = max(times.each_two_of for times in thinned)
    every = max((curve.every for curve in loss), default=1)
    words = (
        f"Of {size} consecutive steps of a worker two are drawn one by one: the one with the "
        "median time and the slowest. Distributions, medians and ratios are of all steps."
    )
    return words if every == 1 else f"{words} Losses are those of every {every}th step."


def _speed() -> Chart:
    return Chart(
        "speed",
        "Speed relative to the baseline",
        "Samples a second as a ratio, block by block, with its 95 % bootstrap interval. Where the "
        "interval holds 1.00, no difference was found.",
        [],  # the page's script: they depend on the chosen baseline
    )


def _spread(spread: Sequence[Spread], label: Label) -> Chart:
    words = [
        f"{label(one.worker)}: median {_ms(_at(one, 0.5))}, half of the steps between "
        f"{_ms(_at(one, 0.25))} and {_ms(_at(one, 0.75))}, fastest {_ms(one.ms[0])}, "
        f"slowest {_ms(one.ms[-1])}, of {one.of:,} steps"
        for one in spread
    ]
    return Chart(
        "spread",
        "Step times: how they are spread",
        "Timed steps only, without the copy: forward, loss, backward, update.",
        words,
    )


def _times(times: Sequence[StepTimes], label: Label) -> Chart:
    words = [
        f"{label(one.worker)}: {len(one.ms):,} steps drawn, from number {one.order[0]:,} to "
        f"{one.order[-1]:,} of all"
        for one in times
    ]
    return Chart(
        "times",
        "Step times in the order in which they were computed",
        "All workers on one axis: their turns follow one another, and what slowed the machine "
        "down shows in all of them.",
        words,
        wide=True,
    )


def _parts(parts: Sequence[Parts], label: Label) -> Chart:
    return Chart(
        "parts",
        "Where a step’s time goes",
        "Medians. The wait for the next batch is the harness’s share, and in nobody’s figure. "
        "Forward and backward are told apart only by workers that can do it without disturbing "
        "the step.",
        [f"{label(one.worker)}: {', '.join(_told(one))}" for one in parts],
    )


def _told(one: Parts) -> Iterator[str]:
    """The parts of a worker's step that are known."""
    if one.wait is not None:
        yield f"wait {_ms(one.wait)}"
    yield f"copy {_ms(one.copy)}"
    if one.forward is None or one.backward is None or one.rest is None:
        yield f"step {_ms(one.step)}, not split"
        return
    yield f"forward {_ms(one.forward)}, backward {_ms(one.backward)}, rest {_ms(one.rest)}"


def _start(start: Sequence[Start], label: Label) -> Chart:
    def told(one: Start) -> str:
        named = (
            ("set-up", one.setup),
            ("first step", one.first),
            ("warm-up step", one.warmup),
            ("timed step", one.typical),
        )
        return ", ".join(f"{name} {_ms(ms)}" for name, ms in named if ms is not None)

    return Chart(
        "start",
        "The first step, apart",
        "Building the network, the first step (where compilation happens), the warm-up, and a "
        "timed step; the last three with the copy. Logarithmic.",
        [f"{label(one.worker)}: {told(one)}" for one in start],
    )


def _loss(curves: Sequence[Curve], label: Label) -> Chart:
    words = [
        f"{label(one.worker)}: first {_number(one.value[0])}, last {_number(one.value[-1])}"
        for one in curves
    ]
    difference = _largest_difference(curves)
    if difference is not None:
        words.append(f"largest relative difference between two curves: {difference:.1e}")
    return Chart(
        "loss",
        "Loss",
        "Of each batch before its update. Equal networks give equal curves as long as dropout "
        "draws no random numbers: the first are drawn wide and the later ones thin, so that all "
        "are seen where they lie on one another.",
        words,
        wide=True,
    )


def _largest_difference(curves: Sequence[Curve]) -> float | None:
    """Largest spread of a step that all have, relative to the largest loss; None for one curve."""
    if len(curves) < 2:
        return None
    length = min(len(curve.value) for curve in curves)
    if any(curve.step[:length] != curves[0].step[:length] for curve in curves):
        return None
    values = np.array([curve.value[:length] for curve in curves], np.float64)
    spans = np.ptp(values, axis=0) / np.abs(values).max(axis=0)
    known = spans[np.isfinite(spans)]
    return float(known.max()) if len(known) else None


def _accuracy(curves: Sequence[Curve], label: Label) -> Chart:
    def told(one: Curve) -> str:
        points = zip(one.step, one.value, strict=True)
        return ", ".join(f"{value:.3f} after step {step:,}" for step, value in points)

    return Chart(
        "accuracy",
        "Accuracy",
        "On test samples, computed by the coordinator from the worker’s raw logits.",
        [f"{label(one.worker)}: {told(one)}" for one in curves],
    )


def _memory(charts: Charts, label: Label) -> Chart:
    return Chart(
        "memory",
        "Peak memory",
        "Resident memory of the worker’s process, seen from outside.",
        [f"{label(one.worker)}: {one.value:,.0f} MB" for one in charts.memory],
    )


def _proof(proofs: Sequence[Proof], label: Label) -> Chart:
    words = [
        f"{label(one.worker)}, {margin.quantity}: {margin.deviation} (tolerance "
        f"{margin.tolerance}){'' if margin.passed else ', not passed'}"
        for one in proofs
        for margin in one.margins
    ]
    return Chart(
        "proof",
        "The proof’s margins",
        "How far each quantity lies from the float64 reference, as a share of its tolerance: left "
        "of the line it passes. Logarithmic; what doesn’t deviate at all stands at the left end.",
        words,
    )


def _at(one: Spread, quantile: float) -> float:
    return float(np.quantile(one.ms, quantile))


def _ms(milliseconds: float) -> str:
    return f"{short(milliseconds, 3):,.6g} ms"


def _number(value: float | None) -> str:
    return "not finite" if value is None or not np.isfinite(value) else f"{value:.4f}"
