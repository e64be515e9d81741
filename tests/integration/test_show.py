"""`rosetta show` and `rosetta table` on real runs: finished, interrupted, under way, a sweep's."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from rosetta.results import read_summary
from waiting import until

ASKED = ("--task", "mlp", "--data", "synthetic", "--threads", 1, "--no-proof", "--warmup", 1)
TINY = (*ASKED, "--worker", "numpy,null", "--steps", 10, "--test-samples", 50)


@pytest.fixture
def ended(rosetta):
    """Runs a command to its end; returns its standard output."""

    def go(*arguments, code=0, **more):
        process = rosetta(*arguments, **more)
        output, errors = process.communicate(timeout=120)
        assert process.returncode == code, errors
        return output

    return go


def test_a_finished_run_is_shown_as_bench_has_shown_it(ended, tmp_path):
    ended_with = ended("bench", *TINY, "--out", tmp_path / "runs" / "a")
    # But for the last two lines, which say where it is, as it was named.
    assert ended("show", "runs/a").splitlines()[:-2] == ended_with.splitlines()[:-2]
    assert ended("show") == ended("show", "runs/a"), "the newest in runs/"
    assert "null (harness)" in ended_with
    page = ended("table", "runs/a")
    assert "| numpy " in page
    assert page.count("**mlp on synthetic: ") == 1
    assert "| accuracy |" in ended("table", "runs/a", "--details")
    assert ended("table", "runs/a").splitlines()[0] in (
        (tmp_path / "runs" / "a" / "summary.md").read_text().splitlines()
    ), "summary.md holds the table"


def test_a_run_says_what_it_came_to_in_a_sentence(ended, tmp_path):
    """Of rows that a proof has passed: here it is written into the summary of a real run."""
    out = tmp_path / "a"
    ended("bench", *TINY[:-4], "--worker", "numpy,null", "--steps", 10, "--out", out)
    assert "as fast as" not in ended("show", out)
    content = json.loads((out / "summary.json").read_text())
    numpy = content["rows"][0] | {"proof": "same"}
    torch = numpy | {"worker": "torch", "ratio": 2.0, "ratio_interval": [1.9, 2.125]}
    (out / "summary.json").write_text(json.dumps(content | {"rows": [numpy, torch]}))
    assert (
        "torch is 2.00× [1.90, 2.12] as fast as numpy on mlp (synthetic data), 1 thread\n"
        in ended("show", out)
    )


def test_an_interrupted_run_and_one_under_way(rosetta, ended, tmp_path):
    out = tmp_path / "run"
    long = (*ASKED, "--worker", "numpy", "--steps", 10**6, "--block", 5)
    process = rosetta("bench", *long, "--out", out)
    steps = out / "steps.jsonl"
    until(lambda: steps.exists() and steps.read_text().count("\n") > 3, "no steps came")
    shown = ended("show", out)
    assert "running still, or its process was killed: mlp not finished" in shown
    assert "mlp: numpy " in shown
    assert "steps so far" in shown
    assert json.loads(ended("show", out, "--json"))["state"] == "running"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert ended("show", out) == output
    assert f"to go on: rosetta bench --resume {out}" in output


def test_a_sweep_is_shown_merged_and_sent(ended, tmp_path):
    sweep = ended("sweep", *TINY, "--batch-size", "8,16", "--out", tmp_path / "s")
    assert ended("show", tmp_path / "s") == sweep
    page = ended("table", "s")
    assert "| worker | batch 8 | batch 16 |" in page
    assert "different batch sizes" in page
    (tmp_path / "s.json").write_text(ended("table", "s", "--json"))
    assert ended("table", "s.json") == page
    assert str(tmp_path) not in (tmp_path / "s.json").read_text()
    both = ended("table", "s.json", "s/batch_8-1_thread")
    assert both == page, "a run that is named twice is there once"
    assert [
        read_summary(tmp_path / "s" / f"batch_{n}-1_thread").rows[0].batch_size for n in (8, 16)
    ] == [
        8,
        16,
    ]


def test_what_is_piped_holds_no_escapes_and_no_bars_and_is_not_wrapped(rosetta, tmp_path):
    reason = "because " * 60
    process = rosetta(
        "bench", *TINY, "--out", tmp_path / "run", COLUMNS="80", TERM="xterm-256color"
    )
    output, errors = process.communicate(timeout=60)
    assert "\x1b" not in output + errors
    assert "\r" not in errors
    assert "━" not in errors, "a bar"
    (line,) = [line for line in output.splitlines() if line.startswith("numpy ")]
    assert line.rstrip().endswith("ok, unproved")
    content = json.loads((tmp_path / "run" / "summary.json").read_text())
    content["rows"][0].update(status="failed", reason=reason)
    (tmp_path / "run" / "summary.json").write_text(json.dumps(content))
    shown, _ = rosetta("show", tmp_path / "run", COLUMNS="80").communicate(timeout=60)
    assert f"numpy: failed: {reason.strip()}\n" in shown


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_colours_on_a_terminal_unless_they_are_not_wanted(ended, tmp_path, variables):
    ended("bench", *TINY, "--out", tmp_path / "run")
    shown = on_a_terminal("show", str(tmp_path / "run"), **variables)
    assert "numpy" in shown
    assert ("\x1b[" in shown) == (not variables)


def on_a_terminal(*arguments, **variables):
    """What the command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "rosetta", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env={**kept, "TERM": "xterm-256color", **variables},
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(30) == 0
    return written.decode()
