"""`--schedule` and `--repeats`: who is alive when, and in which process."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest

from integration.conftest import read_steps
from rosetta.results import read_summary

ASKED = (
    *("bench", "--no-proof", "--task", "mlp", "--worker", "numpy,null", "--steps", 6),
    *("--warmup", 1, "--block", 2, "--data", "synthetic", "--threads", 1, "--batch-size", 16),
)
STEPS = 1 + 1 + 6


@pytest.mark.parametrize(("schedule", "turns"), [("interleaved", 4), ("sequential", 1)])
def test_everybody_is_trained_anew_in_each_repeat(rosetta, tmp_path, schedule, turns):
    folder = tmp_path / "run"
    process = rosetta(*ASKED, "--schedule", schedule, "--repeats", 3, "--out", folder)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    steps = read_steps(folder)
    counted = Counter((step.worker, step.repeat) for step in steps)
    assert counted == {(w, r): STEPS for w in ("numpy", "null") for r in (1, 2, 3)}
    for repeat in (1, 2, 3):  # a block of one worker, then one of the other; or all of its blocks
        order = [step.worker for step in steps if step.repeat == repeat]
        runs = [worker for worker, _ in groupby(order)]
        assert len(runs) <= 2 * turns
        assert turns == 1 or len(runs) > 2
    losses = {s.loss for s in steps if s.worker == "numpy" and s.step == 5}
    assert len(losses) == 1, "each repeat starts from the same parameters"
    assert not [note for note in read_summary(folder).notes if "one worker after" in note]
    for row in read_summary(folder).rows:
        assert (row.status, row.steps, row.timed_steps) == ("ok", 3 * STEPS, 3 * 6)
        assert row.evaluations


def test_one_after_the_other_once_says_what_is_not_known(rosetta, tmp_path):
    folder = tmp_path / "run"
    asked = [word if word != "numpy,null" else "numpy" for word in ASKED]
    process = rosetta(*asked, "--schedule", "sequential", "--out", folder)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "one worker after the other, once" in output


def test_a_worker_that_fails_takes_no_part_in_the_next_repeats(rosetta, silent, tmp_path):
    folder = tmp_path / "run"
    asked = [word if word != "numpy,null" else silent for word in ASKED]
    more = ("--repeats", 2, "--start-deadline", 0.5, "--out", folder)
    process = rosetta(*asked, *more)
    process.communicate(timeout=120)
    assert process.returncode == 1
    assert [row.status for row in read_summary(folder).rows] == ["timeout"]
    assert (folder / "steps.jsonl").read_text() == ""
