"""The checks as a whole: their names, where they stand in the specification, and who passes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import psutil
import pytest

from rosetta.conformance import CHECKS, Subject, conform, listing, names
from rosetta.conformance.traces import MARK
from rosetta.coordinator import Deadlines

CHECKOUT = Path(__file__).parents[3]
WRONG = Path(__file__).with_name("wrong")


def test_names_are_unique():
    assert len(set(names())) == len(names())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_names_a_section_of_the_specification(check):
    spec = (CHECKOUT / "protocol" / "SPEC.md").read_text(encoding="utf-8")
    number = re.escape(check.section)
    assert re.search(rf"^#{{2,3}} {number}\.? ", spec, re.MULTILINE)


def test_the_documentation_lists_all_checks():
    text = (CHECKOUT / "docs" / "conformance.md").read_text(encoding="utf-8")
    assert text.endswith(listing()), "rosetta conform --list says what belongs there"


def test_who_is_wrong_in_nothing_passes_what_wrong_ones_fail():
    """Without this a check that fails for everybody would count as one that catches somebody."""
    argv = [sys.executable, str(WRONG), "none", "{connection_file}"]
    subject = Subject(argv, dict(os.environ), harness=True, deadlines=Deadlines(start=90))
    report = conform(subject)
    assert [outcome for outcome in report.checks if outcome.status == "wrong"] == []
    assert report.passed


def test_nothing_is_left_of_a_worker_that_leaves_a_daemon():
    argv = [sys.executable, str(WRONG), "leaves a daemon", "{connection_file}"]
    conform(Subject(argv, dict(os.environ)), only=lambda name: name == "endings.bye")
    left = [p for p in psutil.process_iter() if p.uids().real == os.getuid() and _is_marked(p)]
    assert left == []


def test_what_does_not_answer_three_times_is_not_asked_for_ever():
    argv = [sys.executable, str(WRONG), "hangs in a step", "{connection_file}"]
    deadlines = Deadlines(start=90, setup=60, first_step=3, step=3, end=5)
    chapters = ("training.", "credit.", "endings.deadlines")
    report = conform(
        Subject(argv, dict(os.environ), deadlines=deadlines),
        only=lambda name: name.startswith(chapters),
    )
    gone = [o for o in report.checks if "no RESULT" in o.came]
    assert len(gone) == 3
    given_up = [o.name for o in report.checks if "after 3 answers" in o.came]
    assert "credit.mixed" in given_up
    assert report.checks[-1].name == "endings.deadlines"
    assert report.checks[-1].status == "wrong"


def _is_marked(process: psutil.Process) -> bool:
    try:
        return MARK in process.environ() and process.name() == "sleep"
    except psutil.Error:
        return False
