"""A process that answers lines with lines."""

from __future__ import annotations

import os
import sys
import time

import pytest

from rosetta.harness.companion import Companion, CompanionError

ECHO = """
import json, os, sys
print(json.dumps({"cpus": sorted(os.sched_getaffinity(0))}), flush=True)
for line in sys.stdin:
    print(json.dumps({"words": line.split()}), flush=True)
"""


def start(tmp_path, program, **options):
    command = [sys.executable, "-c", program]
    return Companion(command, log=tmp_path / "log", environment=os.environ, **options)


def test_it_answers_until_it_is_closed(tmp_path):
    cpu = min(os.sched_getaffinity(0))
    with start(tmp_path, ECHO, processors=[cpu]) as companion:
        companion.ready()
        assert os.sched_getaffinity(companion._process.pid) == {cpu}
        assert companion.ask(0, 5) == {"words": ["0", "5"]}
    assert companion._process.returncode == 0


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("raise ValueError('no such network')", "ended: ValueError: no such network"),
        ("print('Welcome!', flush=True); input()", "said 'Welcome!'"),
    ],
)
def test_one_that_fails_says_why(tmp_path, program, words):
    with (
        start(tmp_path, program) as companion,
        pytest.raises(CompanionError, match=words),
    ):
        companion.ready()


def test_one_that_hangs_is_given_up_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("rosetta.harness.companion._END_SECONDS", 0.5)
    with start(tmp_path, "import time; time.sleep(600)", limit_s=0.5) as companion:
        with pytest.raises(CompanionError, match=r"no answer within 0\.5 s"):
            companion.ready()
        started = time.monotonic()
    assert companion._process.returncode is not None
    assert time.monotonic() - started < 60
