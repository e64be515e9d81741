"""The speed of every worker relative to every other."""

import pytest

from canned_run import row, steps, write
from rosetta.report.html.ratios import speeds
from rosetta.report.html.steps import read_steps
from rosetta.results import ratio_of_blocks

TIMES = {"a": 10, "b": 5, "c": 10.2}
INDEX = {name: number for number, name in enumerate([*TIMES, "d"])}


@pytest.fixture
def series(tmp_path):
    write(tmp_path, [], steps(TIMES, total=40, block=4, repeats=2))
    return read_steps(tmp_path / "steps.jsonl")["mlp"]


def found(rows, series, **more):
    return {(one.baseline, one.other): one for one in speeds(rows, series, INDEX, **more)}


def test_every_ordered_pair_is_what_a_run_with_that_baseline_computes(series):
    """Value and interval, in both directions: `rosetta.bench.ratios` calls the same function."""
    pairs = found([row(name) for name in TIMES], series)
    assert set(pairs) == {(i, j) for i in range(3) for j in range(3)}
    for baseline in TIMES:
        numbers = sorted(series[baseline].blocks())
        for other in TIMES:
            if other == baseline:
                continue
            blocks = [[series[w].blocks()[n] for n in numbers] for w in (baseline, other)]
            expected = ratio_of_blocks(*blocks, repeats=[repeat for repeat, _ in numbers])
            one = pairs[INDEX[baseline], INDEX[other]]
            assert one.value == pytest.approx(expected.value, rel=1e-12)
            assert (one.low, one.high) == pytest.approx(expected.interval, rel=1e-9)


def test_words_and_verdicts(series):
    pairs = found([row(name) for name in TIMES], series)
    assert pairs[0, 1].verdict == "faster"
    assert pairs[1, 0].verdict == "slower"
    assert pairs[0, 0].text == "1.00"
    assert pairs[0, 0].verdict == "the baseline"
    assert pairs[0, 1].text.startswith("1.98 (")


def test_no_difference_where_the_interval_holds_one(tmp_path):
    done = [*steps({"a": 10, "b": 10}, total=40)]
    write(tmp_path, [], done)
    pairs = found([row("a"), row("b")], read_steps(tmp_path / "steps.jsonl")["mlp"])
    assert pairs[0, 1].verdict == "no difference found"


def test_unpaired_blocks_have_no_interval(series):
    one = found([row("a"), row("b")], series, paired=False)[0, 1]
    assert one.low is None
    assert one.value == pytest.approx(1.98, abs=0.01)
    assert one.verdict.startswith("no interval")


@pytest.mark.parametrize(
    "out",
    [
        row("b", status="failed", reason="it broke"),
        row("b", proof="different", proof_detail="logits"),
        row("b", harness=True),
    ],
    ids=["failed", "another network", "harness"],
)
def test_who_takes_no_part(series, out):
    pairs = found([row("a"), out, row("c")], series)
    assert {worker for pair in pairs for worker in pair} == {0, 2}


def test_a_worker_without_a_timed_step_has_no_ratio(series):
    pairs = found([row("a"), row("d")], series)
    assert set(pairs) == {(0, 0)}
