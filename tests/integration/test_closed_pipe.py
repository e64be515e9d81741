"""Output that nobody reads any more ends a command in silence, with the status of SIGPIPE."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
ROSETTA = [sys.executable, "-m", "rosetta"]
SIGPIPE = 128 + signal.SIGPIPE
SAID = "rosetta: no summary at nowhere: No such file or directory\n"
TABLE = ["table", CHECKOUT / "docs" / "results" / "training.json"]


@pytest.fixture
def without_a_reader():
    """Runs a command whose output is a pipe that is closed already; gives status and complaint."""

    def run(*words, **streams):
        reading, writing = os.pipe()
        os.close(reading)
        given = {"stdout": writing, "stderr": subprocess.PIPE}
        given |= dict.fromkeys(streams, writing)
        ran = subprocess.run([*ROSETTA, *words], **given, text=True, timeout=120)
        os.close(writing)
        return ran.returncode, ran.stderr

    return run


@pytest.mark.parametrize(
    "words",
    [["workers", "--json"], ["--help"], ["bench", "--help"], TABLE],
    ids=lambda words: words[0],
)
def test_whatever_prints(without_a_reader, words):
    assert without_a_reader(*words) == (SIGPIPE, "")


def test_a_table_drawn_by_rich(without_a_reader):
    assert without_a_reader("data") == (SIGPIPE, "")


def test_a_worker_that_runs_from_a_tape(without_a_reader):
    tape = CHECKOUT / "protocol" / "golden" / "1.0" / "tapes" / "mlp.tape"
    assert without_a_reader("worker", "numpy", "--tape", tape, "--threads", "1") == (SIGPIPE, "")


def test_progress_that_nobody_reads(without_a_reader):
    assert without_a_reader("env", "create", "null", stderr=True) == (SIGPIPE, None)


def test_a_mistake_is_a_mistake_though_nobody_reads_of_it(without_a_reader):
    assert without_a_reader("show", "nowhere") == (2, SAID)
    assert without_a_reader("show", "nowhere", stderr=True) == (2, None)


def test_the_first_line_alone(tmp_path):
    """In a shell's words; `head` may be quicker or slower than what comes after the line."""
    command = f"{sys.executable} -m rosetta workers | head -1; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode in (0, SIGPIPE)
    assert (ran.stdout.split()[:2], ran.stderr) == (["worker", "framework"], "")
