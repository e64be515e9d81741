"""What is said of the goals, and how it is shown."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

import canned_harness as canned
from rosetta.harness import Harness
from rosetta.harness.goals import goals
from rosetta.harness.tables import ceiling_tables, goals_table, sentences
from rosetta.protocol.schema import schema_of


def test_each_goal_is_met_or_not():
    found = {goal.name: (goal.goal, goal.met) for goal in goals(canned.harness())}
    assert found == {
        "torch on mlp, driven / plain script, samples/s": (">= 0.90", True),
        "torch on cnn, driven / plain script, samples/s": (">= 0.98", False),
        "torch on gru, driven / plain script, samples/s": (">= 0.98", True),
        "shm / a, batches/s, 196,608 bytes to 1 worker": ("> 1", True),
        "shm / a_answered, batches/s, 196,608 bytes to 1 worker": ("> 1", True),
        "shm / b, batches/s, 196,608 bytes to 2 workers": ("> 2", False),
        "shm / a_answered, batches/s, 196,608 bytes to 2 workers": ("> 2", False),
        "round trip of an empty batch / raw ROUTER-DEALER": ("<= 1.5", False),
        "growth of the coordinator in 20,000 steps": ("< 20 MB", True),
    }


@pytest.mark.parametrize(
    ("field", "value", "met"),
    [
        ("memory_growth_bytes", 19_999_999, True),
        ("memory_growth_bytes", 20_000_000, False),
        ("round_trip", msgspec.structs.replace(canned.harness().round_trip, ratio=1.5), True),
        ("round_trip", msgspec.structs.replace(canned.harness().round_trip, ratio=1.51), False),
        ("ceiling", {"shm": {"196608": {"4": canned.ceiling(a=4.1)}}}, True),
        ("ceiling", {"shm": {"196608": {"4": canned.ceiling(a=4.1, b=3.9)}}}, False),
        ("ceiling", {"shm": {"196608": {"4": canned.ceiling(a_answered=3.9)}}}, False),
        ("overhead", {"torch": {"gru": canned.overhead(0.9799)}}, False),
    ],
)
def test_the_goals_bounds(field, value, met):
    nothing = {"overhead": {}, "ceiling": {}, "round_trip": None, "memory_growth_bytes": None}
    harness = msgspec.structs.replace(canned.harness(), **(nothing | {field: value}))
    (goal,) = goals(harness)
    assert goal.met is met


def test_what_was_not_measured_has_no_goal():
    assert goals(Harness(run="x", rosetta="0", started="", quick=True, threads=1, machine={})) == []


def test_the_file_has_the_names_that_other_programs_look_for():
    content = json.loads(msgspec.json.encode(canned.harness()))
    Draft202012Validator(schema_of(Harness)).validate(content)
    assert content["overhead"]["torch"]["mlp"]["ratio"] == 0.91
    assert len(content["overhead"]["torch"]["mlp"]["interval"]) == 2
    leaf = content["ceiling"]["shm"]["196608"]["2"]
    assert leaf["batches_per_s"] == 1000
    assert leaf["peers"]["a"]["ratio"] == 3
    assert content["round_trip"]["ratio"] == 1.6
    assert content["memory_growth_bytes"] == 19_000_000


def test_the_tables_show_goals_figures_and_what_is_missing():
    harness = canned.harness()
    harness.goals, harness.absent = goals(harness), {"ceiling.peers.ray": "not\nasked for"}
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(*ceiling_tables(harness), goals_table(harness.goals), *sentences(harness))
    text = console.export_text()
    for words in (
        "a_answered",
        "peers answer every batch",
        "inline_tcp",
        "196,608",
        "goal met",
        "not met",
        "0.910",
        ">= 0.90",
    ):
        assert words in text
    assert "absent: ceiling.peers.ray: not asked for" in text
