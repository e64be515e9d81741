"""The numbers that the charts draw."""

import pytest

from canned_run import MS, row, steps, write
from rosetta.report.html.charts import charts
from rosetta.report.html.colours import COLOURS, HARNESS
from rosetta.report.html.steps import read_steps
from rosetta.results import Evaluation
from rosetta.results.records import ProofMeasurement

INDEX = {"a": 0, "b": 1, "null": 2}


@pytest.fixture
def drawn(tmp_path):
    def make(rows, done, limit=1000):
        write(tmp_path, rows, done)
        series = read_steps(tmp_path / "steps.jsonl").get("mlp", {})
        return charts(rows, series, INDEX, limit)

    return make


def test_times_are_those_of_timed_steps_in_their_order(drawn):
    made = drawn([row("a"), row("b")], steps({"a": 10, "b": 5}))
    a, b = made.times
    assert (a.worker, b.worker) == (0, 1)
    assert len(a.ms) == 20
    assert a.order[:5] == [8, 9, 10, 11, 16], "b had its turn between"
    assert a.step[:5] == [4, 5, 6, 7, 8]
    assert a.ms[0] == pytest.approx(10.4)
    assert made.spread[0].ms == sorted(made.times[0].ms)


def test_a_long_series_is_thinned_and_says_so(drawn):
    done = steps({"a": 10}, total=2000)
    (times,) = drawn([row("a")], done, limit=100).times
    assert len(times.ms) <= 100
    assert times.each_two_of == 40
    (spread,) = drawn([row("a")], done, limit=100).spread
    assert spread.of == 1996


def test_the_wait_leaves_out_the_other_workers_turns(drawn):
    (one,) = drawn([row("a")], steps({"a": 10})).parts
    assert one.wait == 1.0
    assert one.copy == 0.1
    assert one.forward is one.backward is one.rest is None


def test_forward_and_backward_leave_the_rest(drawn):
    done = steps({"a": 10}, step_ns=10 * MS, forward_ns=3 * MS, backward_ns=5 * MS)
    (one,) = drawn([row("a")], done).parts
    assert (one.forward, one.backward, one.rest) == (3, 5, 2)


def test_the_start_is_apart(drawn):
    (one,) = drawn([row("a", setup_ns=7 * MS)], steps({"a": 10})).start
    assert one.setup == 7
    assert one.first == pytest.approx(10.1)
    assert one.typical == pytest.approx(10.3, abs=0.2)


def test_losses_are_of_the_same_steps_and_of_the_last_repeat(drawn):
    done = [
        *steps({"a": 1, "b": 1}, total=1500, repeats=2),
        *steps({"null": 1}, total=8),
    ]
    rows = [row("a"), row("b"), row("null", harness=True)]
    a, b = drawn(rows, done).loss
    assert a.step == b.step
    assert a.every == 3
    assert (a.step[:3], a.step[-1]) == ([0, 3, 6], 1499)
    assert a.value[1] == 0.625


def test_accuracy_memory_and_proof(drawn):
    told = row(
        "a",
        evaluations=[Evaluation(after_step=20, samples=512, accuracy=0.5)],
        proof_measurements=[
            ProofMeasurement(quantity="initial x", deviation=0.0, tolerance=0.0),
            ProofMeasurement(quantity="logits", deviation=1e-7, tolerance=2e-6),
            ProofMeasurement(quantity="loss", deviation=None, tolerance=1e-6),
            ProofMeasurement(quantity="initial y", deviation=0.1, tolerance=0.0),
        ],
    )
    made = drawn([told, row("b", peak_memory_bytes=None)], [])
    assert (made.accuracy[0].step, made.accuracy[0].value) == ([20], [0.5])
    assert [(one.worker, one.value) for one in made.memory] == [(0, 300)]
    (proof,) = made.proof
    assert [(one.share, one.passed) for one in proof.margins] == [
        (0.0, True),
        (0.05, True),
        (None, False),
        (None, False),
    ]
    assert proof.margins[2].deviation == "not finite"


def _luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance of `#rrggbb`."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("page", ["#ffffff", "#14181d"])
@pytest.mark.parametrize("colour", [*COLOURS, HARNESS])
def test_colours_are_told_from_either_page(colour, page):
    dark, light = sorted((_luminance(colour), _luminance(page)))
    assert (light + 0.05) / (dark + 0.05) >= 3
