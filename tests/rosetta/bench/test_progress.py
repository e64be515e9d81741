"""What a run tells while it goes on, recorded on a console."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from rosetta.bench import progress
from rosetta.bench.progress import LiveReporter, PlainReporter, Reporter, reporter
from rosetta.results import Row, Step

HOSTILE = [
    "[bold]loud[/bold]",
    "[/red] [",
    "a\nb\r\nc",
    "\x1b[31mred\x1b]0;title\x07",
    ":boom:",
    "back\\",
    "{task.fields[words]}",
    "\u202eright to left",
]


def plain() -> Console:
    return Console(file=io.StringIO(), width=60)


def live() -> Console:
    return Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def lines(console: Console) -> list[str]:
    return text(console).splitlines()


def a_step(number: int, loss: float | None = 0.5) -> Step:
    return Step(
        task="mlp",
        worker="torch",
        step=number,
        phase="timed",
        block=1,
        loss=loss,
        wait_ns=1,
        copy_ns=1,
        step_ns=1,
    )


def a_row(status: Any = "ok", reason: str | None = None) -> Row:
    row = {"worker": "torch", "task": "mlp", "data": "d", "device": "cpu", "threads": 1}
    return Row(**row, status=status, reason=reason)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time that the reporters see."""
    now = SimpleNamespace(value=0.0)
    canned = SimpleNamespace(monotonic=lambda: now.value)
    monkeypatch.setattr(progress, "time", canned)
    return lambda value: setattr(now, "value", value)


def test_bars_are_for_terminals_and_lines_for_everything_else() -> None:
    assert isinstance(reporter(live()), LiveReporter)
    assert isinstance(reporter(plain()), PlainReporter)


def test_plain_lines_tell_what_happens() -> None:
    console = plain()
    tells = PlainReporter(console)
    tells.note("mlp runs on synthetic data")
    tells.begin("mlp", "synthetic", ["torch", "numpy"], 3)
    tells.state("torch", "building the network")
    tells.end([a_row(), a_row("crashed", "was killed by SIGKILL"), a_row("failed")])
    assert lines(console) == [
        "mlp runs on synthetic data",
        "mlp on synthetic: torch, numpy, 3 steps each",
        "  torch: building the network",
        "  torch: crashed: was killed by SIGKILL",
        "  torch: failed: see its log",
    ]


def test_a_plain_line_is_not_wrapped() -> None:
    """Whoever greps a log wants a sentence on a line."""
    console = plain()
    PlainReporter(console).note("word " * 100)
    assert len(lines(console)) == 1


def test_steps_are_told_every_ten_seconds_and_at_the_end(clock: Callable[[float], None]) -> None:
    console = plain()
    tells = PlainReporter(console)
    tells.begin("mlp", "synthetic", ["torch"], 31)
    for number in range(31):
        clock(number)
        tells.step("torch", a_step(number), 1234.5)
    assert lines(console)[1:] == [
        "  torch: step 11/31, loss 0.5000, 1,234 samples/s, 20 s left",
        "  torch: step 21/31, loss 0.5000, 1,234 samples/s, 10 s left",
        "  torch: step 31/31, loss 0.5000, 1,234 samples/s, 0 s left",
    ]


def test_each_worker_and_each_task_has_its_own_ten_seconds(clock: Callable[[float], None]) -> None:
    console = plain()
    tells = PlainReporter(console)
    for task in ("mlp", "cnn"):
        tells.begin(task, "synthetic", ["a", "b"], 100)
        clock(0)
        tells.step("a", a_step(0), 1)
        clock(9)
        tells.step("b", a_step(0), 1)
        clock(11)
        tells.step("a", a_step(1), 1)
        tells.step("b", a_step(1), 1)
    told = [line.split(":")[0].strip() for line in lines(console) if "step 2/" in line]
    assert told == ["a", "a"]


def test_a_single_step_is_told() -> None:
    console = plain()
    tells = PlainReporter(console)
    tells.begin("mlp", "synthetic", ["torch"], 1)
    tells.step("torch", a_step(0), 1)
    assert lines(console)[-1] == "  torch: step 1/1, loss 0.5000, 1 samples/s, 0 s left"


def test_a_loss_that_is_not_a_number_is_said_in_words() -> None:
    for console in (plain(), live()):
        tells = reporter(console)
        tells.begin("mlp", "synthetic", ["torch"], 1)
        tells.step("torch", a_step(0, loss=None), 1)
        tells.end([])
        assert "loss not finite" in text(console)


def test_a_live_bar_shows_the_worker_its_steps_and_its_loss() -> None:
    console = live()
    tells = LiveReporter(console)
    tells.begin("mlp", "synthetic", ["torch", "numpy"], 4)
    tells.state("torch", "building the network")
    assert "building the network" in text(console)
    for number in range(4):
        tells.step("torch", a_step(number), 1234.5)
    tells.end([a_row()])
    torch = [line for line in lines(console) if "torch   " in line]
    numpy = [line for line in lines(console) if "numpy   " in line]
    assert "4/4" in torch[-1]
    assert "loss 0.5000  1,234 samples/s" in torch[-1]
    assert "0/4 starting" in numpy[-1]


def test_a_live_reporter_takes_what_comes_at_odd_times() -> None:
    """Before a task, after it, and about workers that it doesn't know."""
    tells = LiveReporter(live())
    tells.state("torch", "words")
    tells.step("torch", a_step(0), 1)
    tells.end([])
    tells.begin("mlp", "synthetic", [], 4)
    tells.state("stranger", "words")
    tells.step("stranger", a_step(0), 1)
    tells.end([])
    tells.end([])


def everything(tells: Reporter, words: str) -> None:
    tells.note(words)
    tells.begin("mlp", words, [words, "torch"], 2)
    tells.state(words, "busy")
    tells.state("torch", words)
    tells.step(words, a_step(0), 1)
    tells.end([a_row("failed", words)])


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("kind", [plain, live])
def test_hostile_words_stay_text(words: str, kind: Callable[[], Console]) -> None:
    console = kind()
    everything(reporter(console), f"BEGIN {words} END")
    shown = text(console)
    for literal in ("[bold]loud[/bold]", "[/red] [", ":boom:", "{task.fields[words]}"):
        assert (literal in shown) is (literal in words)
    assert "\x1b[31m" not in shown
    assert "\x1b]0;" not in shown
    assert "\u202e" not in shown
    if kind is plain:
        assert all(re.fullmatch(r"[\x20-\x7e]*", line) for line in lines(console))
        assert len(lines(console)) == 5
