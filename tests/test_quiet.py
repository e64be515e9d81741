"""The room that tests about clocks have to themselves."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

import quiet

INSIDE = """\
import sys
sys.path.insert(0, sys.argv[1])
import quiet
with quiet.room(alone=sys.argv[2] == "alone"):
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def enter(tmp_path, monkeypatch):
    """Another process that goes in, and stays until it is told to leave."""
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "of-this-test")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    started = []

    def go(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", INSIDE, str(Path(quiet.__file__).parent), how]
        started.append(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=dict(os.environ),
            )
        )
        return started[-1]

    yield go
    for process in started:
        if process.poll() is None:
            process.communicate("\n", timeout=20)


def is_in(process: subprocess.Popen[str], seconds: float) -> bool:
    return bool(select.select([process.stdout], [], [], seconds)[0])


def test_tests_share_it(enter):
    first, second = enter("together"), enter("together")
    assert is_in(first, 20) and is_in(second, 20)


@pytest.mark.parametrize(("inside", "outside"), [("alone", "together"), ("together", "alone")])
def test_who_is_alone_waits_and_is_waited_for(enter, inside, outside):
    first = enter(inside)
    assert is_in(first, 20)
    second = enter(outside)
    assert not is_in(second, 1.5)
    first.communicate("\n", timeout=20)
    assert is_in(second, 20)
