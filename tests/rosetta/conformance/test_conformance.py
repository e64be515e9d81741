"""The checks as a whole: their names, where they stand in the specification, and who passes."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from pathlib import Path

import psutil
import pytest

from rosetta.conformance import CHECKS, Subject, conform, listing, names
from rosetta.conformance.suite import MOST_TIMEOUTS
from rosetta.conformance.traces import MARK
from rosetta.coordinator import Deadlines

CHECKOUT = Path(__file__).parents[3]
WRONG = Path(__file__).with_name("wrong")
OF_THE_PROOF = Path(__file__).parents[1] / "proof" / "wrong"


def of(behaviour: str, deadlines: Deadlines | None = None) -> Subject:
    argv = [sys.executable, str(WRONG), behaviour, "{connection_file}"]
    return Subject(argv, dict(os.environ), deadlines=deadlines or Deadlines())


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


@pytest.mark.exhaustive
def test_who_is_wrong_in_nothing_passes_what_wrong_ones_fail():
    """Without this a check that fails for everybody would count as one that catches somebody."""
    subject = dataclasses.replace(of("none"), harness=True)
    report = conform(subject)
    assert [outcome for outcome in report.checks if outcome.status == "wrong"] == []
    assert report.passed


def test_who_has_none_of_the_tasks_is_asked_for_what_needs_none():
    report = conform(of("has another task only"))
    assert report.passed
    asked = {outcome.name for outcome in report.checks if outcome.status != "not_asked"}
    assert {"greeting.welcome", "greeting.refused", "endings.bye_idle"} <= asked
    assert not {name for name in asked if name.startswith(("training", "errors", "credit"))}


def test_who_has_no_shared_memory_is_not_sent_any():
    report = conform(of("has only inline"), only=lambda name: name.startswith("planes."))
    assert report.passed
    found = {outcome.name: outcome for outcome in report.checks}
    assert found["planes.not_agreed"].status == "ok"
    shared = [outcome for name, outcome in found.items() if name.startswith("planes.shm")]
    assert len(shared) == 5
    assert {outcome.came for outcome in shared} == {"its HELLO doesn't have the plane shm"}


def test_who_has_the_other_gru_is_asked_for_that_one():
    argv = [sys.executable, "-m", "rosetta_worker", str(OF_THE_PROOF), "--connect"]
    variables = {**os.environ, "ROSETTA_WRONG": "another GRU, declared"}
    names = ("training.gru.", "errors.other_gru", "numbers.gru.")
    report = conform(Subject(argv, variables), only=lambda name: name.startswith(names))
    assert [o for o in report.checks if o.status == "wrong"] == []
    assert {o.name for o in report.checks if o.status == "not_asked"} == {"numbers.gru.full_proof"}


def test_who_can_not_compute_with_so_many_threads_says_so_and_is_not_asked():
    one = of("has one thread only")
    report = conform(dataclasses.replace(one, threads=2))
    assert {outcome.status for outcome in report.checks} == {"not_asked"}
    assert not report.passed
    found = {outcome.name: outcome.came for outcome in report.checks}
    for name in ("greeting.hello", "greeting.conditions"):
        assert "one thread, not with 2" in found[name]
        assert "--threads" in found[name]
    assert conform(one, only=lambda name: name == "greeting.conditions").passed


@pytest.mark.exhaustive
def test_who_watches_its_parent_may():
    report = conform(
        of("watches its parent only", Deadlines(start=90, setup=60, first_step=60, step=60, end=5)),
        only=lambda name: name == "endings.coordinator_gone",
    )
    assert (
        report.checks[-1].came == "it leaves with its parent process, and not with its connection"
    )
    assert report.passed


def test_who_fails_one_check_is_asked_for_the_others_all_the_same():
    report = conform(of("dies of a strange WELCOME"), only=lambda name: "numbers" not in name)
    wrong = [outcome.name for outcome in report.checks if outcome.status == "wrong"]
    assert wrong == ["greeting.welcome"]


@pytest.mark.exhaustive
def test_nothing_is_left_of_a_worker_that_leaves_a_daemon():
    conform(of("leaves a daemon"), only=lambda name: name == "endings.bye")
    left = [p for p in psutil.process_iter() if p.uids().real == os.getuid() and _is_marked(p)]
    assert left == []


@pytest.mark.exhaustive
def test_what_does_not_answer_again_and_again_is_not_asked_for_ever():
    deadlines = Deadlines(start=90, setup=60, first_step=3, step=3, end=5)
    chapters = ("training.", "credit.", "endings.deadlines")
    report = conform(
        of("hangs in a step", deadlines),
        only=lambda name: name.startswith(chapters),
    )
    gone = [o for o in report.checks if "no RESULT" in o.came]
    assert len(gone) == MOST_TIMEOUTS
    given_up = [o.name for o in report.checks if f"after {MOST_TIMEOUTS} answers" in o.came]
    assert "credit.mixed" in given_up
    assert report.checks[-1].name == "endings.deadlines"
    assert report.checks[-1].status == "wrong"


def _is_marked(process: psutil.Process) -> bool:
    try:
        return MARK in process.environ() and process.name() == "sleep"
    except psutil.Error:
        return False
