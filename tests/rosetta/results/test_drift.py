"""Drift and stray steps on canned series: what is said, what isn't, and which cause is named."""

from __future__ import annotations

import numpy as np
import pytest

from rosetta.results.drift import Seen, notes, stray_bound, trend

QUIET = Seen(
    seconds=1.0,
    others_s=0.02,
    stolen_s=0.0,
    swapped_bytes=0,
    throttled=0,
    mhz=3000.0,
    memory_bytes=300_000_000,
)
BLOCKS, STEPS = 30, 10


def seen(**more: object) -> Seen:
    return Seen(**{**{f: getattr(QUIET, f) for f in QUIET.__dataclass_fields__}, **more})


def blocks(growth: float = 0.0, noise: float = 0.05, seed: int = 1, count: int = BLOCKS):
    """Steps of about a millisecond, `growth` longer at the end, with log-normal noise."""
    rng = np.random.default_rng(seed)
    level = (1 + growth) ** (np.arange(count) / (count - 1))
    times = 1e6 * level[:, None] * np.exp(noise * rng.standard_normal((count, STEPS)))
    return [list(map(int, block)) for block in times]


def halves(first: Seen, last: Seen, count: int = BLOCKS) -> list[Seen]:
    return [first] * (count // 2) + [last] * (count - count // 2)


# --- drift ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("growth", "words"), [(0.2, "20% slower"), (-0.2, "25% faster")])
def test_a_steady_change_is_drift(growth, words):
    (sentence,) = notes("mlp: torch", blocks(growth, noise=0.01), [QUIET] * BLOCKS)
    assert sentence == f"mlp: torch: steps got {words} over the run: cause unknown"


def test_noise_is_no_drift():
    """Of 300 series without drift, whatever their noise, very few are accused."""
    accused = sum(
        bool(notes("x", blocks(noise=noise, seed=seed), [QUIET] * BLOCKS))
        for noise in (0.01, 0.1, 0.3)
        for seed in range(100)
    )
    assert accused <= 6


def test_a_change_too_small_to_matter_is_no_drift():
    assert trend([np.array(b) for b in blocks(growth=0.03, noise=0.001)]) == 0.0


def test_a_few_slow_blocks_are_no_drift():
    series = blocks(noise=0.02)
    for number in (26, 28, 29):
        series[number] = [10 * time for time in series[number]]
    assert trend([np.array(b) for b in series]) == 0.0


def test_too_few_blocks_tell_nothing():
    assert notes("x", blocks(growth=1.0, noise=0.001, count=7), [QUIET] * 7) == []


def test_thousands_of_blocks_are_looked_at_quickly_and_as_well():
    count = 20_000
    (sentence,) = notes("x", blocks(0.2, noise=0.05, count=count), [QUIET] * count)
    assert "20% slower" in sentence


def test_blocks_without_times_and_no_blocks_at_all():
    assert notes("x", [], []) == []
    assert notes("x", [[], []], [QUIET, QUIET]) == []


# --- stray steps ----------------------------------------------------------------------------------


def with_strays(share: float, *, only_in: range = range(BLOCKS)):
    series, every = blocks(noise=0.02), round(1 / share)
    for n, number in enumerate((b, s) for b in only_in for s in range(STEPS)):
        if n % every == 0:
            series[number[0]][number[1]] *= 4
    return series


def test_stray_steps_are_told_with_their_share():
    (sentence,) = notes("gru: jax", with_strays(0.1), [QUIET] * BLOCKS)
    assert (
        sentence == "gru: jax: 10% of the steps took more than 1.5 times the median: cause unknown"
    )


def test_a_few_stray_steps_are_no_news():
    assert notes("x", with_strays(0.02), [QUIET] * BLOCKS) == []


def test_the_bound_follows_the_noise_and_is_never_close_to_the_median():
    quiet, noisy = np.full(100, 1000.0), np.array([500.0, 1000.0, 1500.0])
    assert stray_bound(quiet) == 1500
    assert stray_bound(noisy) == pytest.approx(1000 + 5 * 1.4826 * 500)


def test_drift_makes_no_stray_steps():
    found = notes("x", blocks(growth=3.0, noise=0.02), [QUIET] * BLOCKS)
    assert len(found) == 1 and "slower" in found[0]


def test_what_happened_in_the_turns_with_stray_steps_is_their_cause():
    series = with_strays(0.2, only_in=range(0, BLOCKS, 2))
    busy = [seen(others_s=0.9) if n % 2 == 0 else QUIET for n in range(BLOCKS)]
    (sentence,) = notes("x", series, busy)
    assert sentence.endswith("in those turns other processes used 0.9 processors (otherwise 0.0)")


# --- causes ---------------------------------------------------------------------------------------

CAUSES = {
    "other processes used 1.5 processors (otherwise 0.0)": seen(others_s=1.5),
    "the hypervisor gave other machines 0.4 processors (otherwise 0.0)": seen(stolen_s=0.4),
    "cores were slowed down for heat 10 times": seen(throttled=1),
    "the clock was at 2.1 GHz instead of 3.0": seen(mhz=2100.0),
    "the machine swapped 50 MB": seen(swapped_bytes=5_000_000),
    "its own memory had grown from 300 to 900 MB": seen(memory_bytes=900_000_000),
}


@pytest.mark.parametrize("words", CAUSES)
def test_what_was_otherwise_at_the_slow_end_is_the_cause(words):
    """The first third of the run, ten turns, is compared with the last."""
    (sentence,) = notes("x", blocks(0.3, noise=0.01), halves(QUIET, CAUSES[words]))
    assert sentence == f"x: steps got 30% slower over the run: at its end {words}"


def test_a_run_that_gets_faster_was_disturbed_at_its_beginning():
    (sentence,) = notes("x", blocks(-0.3, noise=0.01), halves(seen(others_s=1.0), QUIET))
    assert "faster over the run: at its beginning other processes used 1.0" in sentence


def test_what_was_so_all_the_time_is_no_cause():
    always = seen(others_s=1.5, stolen_s=0.4, mhz=2100.0, throttled=1, swapped_bytes=5_000_000)
    (sentence,) = notes("x", blocks(0.3, noise=0.01), [always] * BLOCKS)
    assert sentence.endswith("cause unknown")


def test_several_causes_are_all_named():
    (sentence,) = notes(
        "x", blocks(0.3, noise=0.01), halves(QUIET, seen(others_s=1.0, throttled=2))
    )
    assert "slowed down for heat 20 times, and other processes used 1.0" in sentence


def test_what_cannot_be_seen_is_no_cause():
    (sentence,) = notes("x", blocks(0.3, noise=0.01), [Seen(seconds=1.0)] * BLOCKS)
    assert sentence.endswith("cause unknown")


def test_ticks_of_the_kernel_in_short_turns_are_no_cause():
    """10 turns of 20 ms: three ticks are 0.15 processors' worth, and nothing more than blur."""
    first = seen(seconds=0.02, others_s=0.0)
    last = seen(seconds=0.02, others_s=0.003)
    (sentence,) = notes("x", blocks(0.3, noise=0.01), halves(first, last))
    assert sentence.endswith("cause unknown")


def test_what_is_too_little_to_explain_it_is_no_cause():
    """A fifth of a processor more doesn't make steps take twice as long."""
    first, last = seen(others_s=1.6), seen(others_s=1.8)
    (sentence,) = notes("x", blocks(0.8, noise=0.01), halves(first, last))
    assert sentence.endswith("cause unknown")
