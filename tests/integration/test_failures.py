"""Every way a worker can go wrong: its row says what happened, and the others finish."""

from __future__ import annotations

import os
import sys

import pytest

from rosetta import environments, workers
from rosetta.coordinator import Deadlines, Process

SHORT = Deadlines(start=8, setup=4, first_step=4, step=4, end=4)

FAILURES = [
    # behaviour, status, what the reason says, steps that are kept
    ("exits at start", "crashed", "exited with 7: ImportError: libmagic.so.1: cannot open", 0),
    ("has no such device", "skipped", "device 'cuda' is not available: no driver", 0),
    pytest.param(
        *("never greets", "timeout", "no HELLO within 8 s: still importing", 0),
        marks=pytest.mark.exhaustive,
    ),
    ("greets with garbage", "timeout", "no HELLO within 8 s", 0),
    ("has another key", "crashed", "exited with 1: refused: the key is not of a worker", 0),
    ("uses another name", "crashed", "exited with 1: refused: run or worker name differ", 0),
    ("speaks protocol 9", "failed", "protocol 9.0 is not spoken here: this is 1.0", 0),
    ("answers SETUP with ERROR", "failed", "ERROR backend: no such kernel", 0),
    ("forgets a parameter", "failed", "None instead of ('fc2.bias', [10])", 0),
    ("dies in a step", "crashed", "was killed by SIGKILL", 3),
    ("hangs in a step", "timeout", "no RESULT within 4 s", 3),
    ("sends garbage", "failed", "broke the protocol: header:", 3),
    ("claims a huge array", "failed", "broke the protocol: ", 3),
    ("answers another batch", "failed", "where RESULT re", 3),
    ("answers another step", "failed", "answered step 4 out of turn", 3),
    ("predicts other classes", "failed", "PREDICTIONS hold no (64, 10) logits", 6),
    pytest.param(
        *("stays after BYE", "timeout", "did not leave within 4 s after BYE", 6),
        marks=pytest.mark.exhaustive,
    ),
]


@pytest.fixture(scope="module")
def null():
    worker = workers.get("null")
    environments.ensure(worker)
    return worker


@pytest.fixture(autouse=True)
def _needs_null(null):
    """Made before the time of a test runs."""


@pytest.mark.parametrize(("behaviour", "status", "reason", "steps"), FAILURES)
def test_a_failing_worker_harms_only_its_own_row(
    behaviour, status, reason, steps, rogue, null, bench
):
    deadlines = SHORT if status == "timeout" else None
    summary, recorded = bench(rogue(behaviour), null, deadlines=deadlines)
    bad, good = summary.rows
    assert (bad.status, good.status) == (status, "ok")
    assert reason in bad.reason
    assert "\n" not in bad.reason
    assert good.steps == 6
    assert [s.step for s in recorded if s.worker == "null"] == list(range(6))
    kept = [s.step for s in recorded if s.worker == "rogue"]
    assert kept == list(range(bad.steps))
    assert bad.steps == steps
    assert bad.ratio is None


def test_answers_that_came_before_a_death_are_kept(rogue, null, bench):
    """It answers two batches that were under way, and is gone before the third is sent."""
    summary, recorded = bench(rogue("answers and dies"), null)
    bad = summary.rows[0]
    assert (bad.status, bad.reason) == ("crashed", "exited with 9: out of memory: killed")
    assert [s.step for s in recorded if s.worker == "rogue"] == list(range(bad.steps))
    assert bad.steps == 4


def test_the_last_words_are_of_this_process_and_not_of_the_one_before(tmp_path):
    log = tmp_path / "log"
    log.write_text("words of an earlier task\n")
    process = Process([sys.executable, "-c", "raise SystemExit(5)"], os.environ, log, tmp_path)
    assert process.wait(30)
    assert process.exit_reason() == "exited with 5"


def test_an_answer_too_many_is_found(rogue, null, bench):
    summary, _ = bench(rogue("answers twice"), null)
    bad, good = summary.rows
    assert (bad.status, good.status) == ("failed", "ok")
    assert "where RESULT re" in bad.reason


def test_a_flood_is_cut_off(rogue, null, bench):
    """Noticed at the first answer that nobody asked for, or when too many are waiting."""
    summary, _ = bench(rogue("floods"), null)
    bad, good = summary.rows
    assert (bad.status, good.status) == ("failed", "ok")
    assert "floods the coordinator" in bad.reason or "where RESULT re" in bad.reason


def test_a_loss_that_is_not_a_number_is_recorded_as_null(rogue, null, bench):
    summary, recorded = bench(rogue("diverges"), null)
    row = summary.rows[0]
    assert row.status == "ok"
    assert row.final_loss is None
    losses = [s.loss for s in recorded if s.worker == "rogue"]
    assert losses == [1.0, 1.0, 1.0, None, None, None]


def test_logits_that_are_not_numbers_are_wrong_answers(rogue, null, bench):
    summary, _ = bench(rogue("behaves"), null)
    assert summary.rows[0].accuracy == 0.0
