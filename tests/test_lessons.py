"""docs/lessons.md: every lesson names tests that are there; and the lessons that need nothing else.

The page is written by hand. What it says is proved by the tests that it names, which may be those
of a framework; here are the ones that NumPy can show.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rosetta_reference
from rosetta.conformance.small import small
from rosetta.proof.script import draw, sensitive_parameters
from rosetta.tasks import Task, initial_parameters
from rosetta.tasks.forms import in_form
from rosetta_reference.optimisers import Adam

CHECKOUT = Path(__file__).parents[1]
PAGE = CHECKOUT / "docs" / "lessons.md"
_TEST = re.compile(r"`(tests/[^`:]+\.py::[^`]+)`")


def lessons(text: str) -> dict[str, list[str]]:
    """Title → the tests that it names."""
    _, *pieces = re.split(r"^### ", text, flags=re.MULTILINE)
    return {piece.splitlines()[0]: _TEST.findall(piece) for piece in pieces}


LESSONS = lessons(PAGE.read_text(encoding="utf-8"))


@functools.cache
def collected() -> frozenset[str]:
    """What pytest finds in the files that the page names, with and without parameters."""
    files = sorted({test.split("::")[0] for tests in LESSONS.values() for test in tests})
    there = [file for file in files if (CHECKOUT / file).is_file()]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *there],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert listed.returncode == 0, listed.stdout + listed.stderr
    tests = {line for line in listed.stdout.splitlines() if "::" in line}
    return frozenset(tests | {test.split("[")[0] for test in tests})


def missing(tests: list[str]) -> list[str]:
    return [test for test in tests if test not in collected()]


def test_there_are_lessons() -> None:
    assert len(LESSONS) >= 30


@pytest.mark.parametrize("title", LESSONS)
def test_every_lesson_names_tests_that_are_there(title: str) -> None:
    assert LESSONS[title], "a lesson without a test"
    assert missing(LESSONS[title]) == []


def test_a_test_that_has_gone_is_noticed() -> None:
    page = "### One\n\n- `tests/test_lessons.py::test_there_are_lessons`\n\n### Two\n\nNothing.\n"
    assert lessons(page) == {"One": ["tests/test_lessons.py::test_there_are_lessons"], "Two": []}
    assert missing(lessons(page)["One"]) == []
    assert missing(["tests/test_lessons.py::test_there_are_lesson"]) != []
    assert missing(["tests/rosetta_reference/test_gone.py::test_it"]) != []


def test_every_page_that_it_refers_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []


# --- what NumPy can show --------------------------------------------------------------------------


def test_one_minus_beta_is_another_number_in_single_precision() -> None:
    single = float(np.float32(1) - np.float32(0.999))
    assert abs(single / (1 - 0.999) - 1) == pytest.approx(1.3e-5, rel=0.05)
    held = float(np.float32(0.999))  # a beta that both can hold
    assert float(np.float32(1) - np.float32(held)) == 1 - held


def test_a_count_from_two_makes_adams_first_step_0744_times_as_long() -> None:
    def first_change(steps_before: int) -> float:
        weight = np.zeros(1)
        adam = Adam({"w": weight}, learning_rate=1.0, epsilon=0.0)
        adam._steps = steps_before
        adam.update({"w": np.ones(1)})
        return float(weight[0])

    assert first_change(1) / first_change(0) == pytest.approx(0.744, abs=5e-4)


def logits(task: Task, parameters: dict[str, np.ndarray]) -> np.ndarray:
    inputs, _ = draw(task, np.random.default_rng(1), 16)
    return rosetta_reference.Network(task.to_wire(), parameters, dropout=False).predict(inputs)


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_the_usual_initial_weights_hide_a_missing_bias(name: str) -> None:
    task = small(name)
    for parameters, is_hidden in (
        (initial_parameters(task, 1), True),
        (sensitive_parameters(task), False),
    ):
        biases = [key for key in parameters if ".bias" in key]
        without = {**parameters, **{key: np.zeros_like(parameters[key]) for key in biases}}
        same = np.array_equal(logits(task, parameters), logits(task, without))
        assert same == is_hidden


def test_the_usual_initial_weights_nearly_hide_the_form_of_the_gru() -> None:
    task = small("gru")

    def difference(parameters: dict[str, np.ndarray]) -> float:
        """Between the forms, with the state's bias zero, which the classic form hasn't."""
        both = {**parameters, "gru.bias_hh": np.zeros_like(parameters["gru.bias_hh"])}
        one = {key: values for key, values in both.items() if key != "gru.bias_hh"}
        one["gru.bias"] = one.pop("gru.bias_ih")
        classic = in_form(task, {"gru": "classic"})
        return float(np.abs(logits(task, both) - logits(classic, one)).max())

    hidden, shown = difference(initial_parameters(task, 1)), difference(sensitive_parameters(task))
    assert hidden < shown / 30
