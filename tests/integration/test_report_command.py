"""The report at the end of a real run, and `rosetta report`."""

from __future__ import annotations

import signal
import time

import pytest

from rosetta.results import read_summary

ASKED = ("bench", "--no-proof", "--worker", "null", "--data", "synthetic", "--task", "mlp")


def finished(process, timeout=120):
    output, errors = process.communicate(timeout=timeout)
    return process.returncode, output, errors


@pytest.fixture
def run(rosetta, tmp_path):
    code, _, errors = finished(rosetta(*ASKED, "--steps", 5, "--out", tmp_path / "run"))
    assert code == 0, errors
    return tmp_path / "run"


def test_a_run_leaves_its_report(run):
    page = (run / "report.html").read_text("utf-8")
    assert f"<h1>Run {read_summary(run).run}</h1>" in page
    assert "complete" in page


def test_an_interrupted_run_leaves_its_report_too(rosetta, tmp_path):
    process = rosetta(*ASKED, "--epochs", 100_000, "--out", tmp_path / "run")
    steps = tmp_path / "run" / "steps.jsonl"
    deadline = time.monotonic() + 60
    while not (steps.exists() and steps.stat().st_size > 5000):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, _, _ = finished(process)
    assert code == 130
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "interrupted: mlp not finished" in page


def test_a_report_that_cannot_be_written_costs_nothing_but_a_line(rosetta, tmp_path):
    """A folder with the report's name stands in its way."""
    process = rosetta(*ASKED, "--steps", 50, "--out", tmp_path / "run")
    deadline = time.monotonic() + 60
    while not (tmp_path / "run").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (tmp_path / "run" / "report.html").mkdir()
    code, output, errors = finished(process)
    assert code == 0, errors
    assert errors.count("no report was written: can't write") == 1
    assert "null" in output, "the tables are printed all the same"
    assert read_summary(tmp_path / "run").state == "complete"


def test_it_can_be_written_again_somewhere_else(rosetta, run, tmp_path):
    (run / "report.html").unlink()
    code, output, errors = finished(rosetta("report", run))
    assert (code, output, errors) == (0, f"{run / 'report.html'}\n", "")
    assert (run / "report.html").exists()
    code, output, _ = finished(rosetta("report", run, "--out", tmp_path / "x.html"))
    assert (code, output) == (0, f"{tmp_path / 'x.html'}\n")


def test_a_mistake_is_one_line(rosetta, run, tmp_path):
    (tmp_path / "empty").mkdir()
    for arguments, words in (
        (("no-such-run",), "no-such-run is no run directory"),
        ((tmp_path / "empty",), "no run at"),
        ((run, "--baseline", "nul"), "unknown worker 'nul': did you mean null?"),
        ((run, "--out", tmp_path / "none" / "x.html"), "can't write"),
    ):
        code, output, errors = finished(rosetta("report", *arguments))
        assert (code, output) == (2, "")
        (line,) = errors.splitlines()
        assert words in line
