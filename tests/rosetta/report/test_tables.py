"""The tables for people, in the terminal and as Markdown, from canned summaries."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from canned_results import MS, row, summary
from rosetta.report import markdown, notes, table
from rosetta.results import Evaluation, Summary

HOSTILE = {
    "rich markup": "[bold]loud[/bold] [/] [link=http://x]here[/link]",
    "an unbalanced tag": "could not [/red] start [",
    "pipes": "a | b || c",
    "newlines": "first\nsecond\r\nthird\u2028fourth",
    "a terminal's escapes": "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2Jgone \x9b31m",
    "HTML": "<script>alert('x')</script> &lt;b&gt; <!-- ",
    "Markdown": "![pixel](http://x/y.png) [a](b) `code` **strong** _emphasis_ ~~no~~ # h",
    "emoji codes": "error :boom: in a:b:c",
    "backslashes": "C:\\temp\\",
    "two backslashes": "\\\\host\\\\",
    "direction marks": "abc\u202edef\u2066",
    "a control character": "null\0 bell\a back\b",
}


def on_terminal(shown: Summary, width: int = 300, colours: bool = False) -> str:
    stream = io.StringIO()
    system = "truecolor" if colours else None
    console = Console(file=stream, width=width, force_terminal=colours, color_system=system)
    for task in dict.fromkeys(r.task for r in shown.rows):
        console.print(table(shown, task, width))
    return stream.getvalue()


def in_markdown(shown: Summary) -> str:
    """As a reader sees it: without the escapes, which HTML and Markdown would undo."""
    text = re.sub(r"\\([^\w\s])", r"\1", markdown(shown))
    return text.replace("&lt;", "<").replace("&amp;", "&")


@pytest.fixture(params=[on_terminal, in_markdown], ids=["terminal", "markdown"])
def shown(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_synthetic_data_is_said_in_the_table_and_beside_it(shown: Any) -> None:
    made = summary(row(data="synthetic"), row("torch", data="synthetic"))
    assert "mlp on synthetic" in shown(made)
    assert any("mlp: synthetic data" in note for note in notes(made))
    assert "synthetic data" in markdown(made)
    assert not any("synthetic" in note for note in notes(summary(row())))


def test_synthetic_data_is_said_on_a_narrow_terminal_too() -> None:
    narrow = " ".join(on_terminal(summary(row(data="synthetic")), width=40).split())
    assert "mlp on synthetic" in narrow


def test_a_row_says_whether_its_network_is_the_same(shown: Any) -> None:
    text = shown(
        summary(
            row("a", proof="same"),
            row("b", proof="unproved"),
            row("c", proof="different", proof_detail="fc1.bias deviates by 1.0"),
            row("d", proof="different"),
        )
    )
    assert "same network" in text
    assert "ok, unproved" in text
    assert "not the same network: fc1.bias deviates by 1.0" in text
    assert "None" not in text


def test_unproved_rows_are_explained_once() -> None:
    unproved = summary(row("a", proof="unproved"), row("b", proof="unproved"))
    assert len([note for note in notes(unproved) if "have not been compared" in note]) == 1
    skipped = row("c", status="skipped", proof="unproved")
    assert notes(summary(row(), skipped)) == []


@pytest.mark.parametrize("status", ["skipped", "failed", "crashed", "timeout", "interrupted"])
def test_a_row_without_a_result_says_why(status: str, shown: Any) -> None:
    text = shown(summary(row("a", status=status, reason="needs Python 3.9"), row("b")))
    assert f"{status}: needs Python 3.9" in text
    assert status in shown(summary(row("a", status=status)))


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("status", ["skipped", "failed", "crashed"])
def test_hostile_words_stay_text_on_one_line(kind: str, status: str, shown: Any) -> None:
    reason = HOSTILE[kind]
    text = shown(summary(row("victim", status=status, reason=f"BEGIN {reason} END")))
    line = next(line for line in text.splitlines() if "victim" in line and "BEGIN" in line)
    assert "END" in line
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
    words = ["[bold]loud[/bold]", "[/red]", "<script>", ":boom:", "a:b:c", "![pixel]", "&lt;b"]
    for word in (w for w in words if w in reason):
        assert word in line


def test_hostile_words_are_not_styled() -> None:
    text = on_terminal(summary(row("a", status="failed", reason=HOSTILE["rich markup"])), 300, True)
    assert "[bold]loud[/bold]" in text
    assert "\x1b]8;" not in text, "no link"


@pytest.mark.parametrize(
    ("hostile", "escaped"),
    [
        ("a | b", "a \\| b"),
        ("<script>", "&lt;script>"),
        ("&lt;", "&amp;lt;"),
        ("![x](y)", "!\\[x\\](y)"),
        ("a `b` *c* ~d~", "a \\`b\\` \\*c\\* \\~d\\~"),
        ("_x_ but weight_ih", "\\_x\\_ but weight_ih"),
        ("a\\", "a\\\\"),
        ("a\n# b", "a # b"),
    ],
)
def test_markdown_is_escaped(hostile: str, escaped: str) -> None:
    assert f"| failed: {escaped} |" in markdown(summary(row(status="failed", reason=hostile)))
    assert f"- {escaped}\n" in markdown(summary(row(), notes=[hostile]))


def test_what_a_worker_says_of_itself_cannot_break_a_heading(shown: Any) -> None:
    text = shown(summary(row("a" * 60, device="cpu\n\n# I win\x1b[1m", framework_version="1\n| 2")))
    assert not [line for line in text.splitlines() if line.startswith("# I win")]
    assert "cpu # I win" in text
    assert "\x1b" not in text


def test_columns_that_are_empty_are_left_out(shown: Any) -> None:
    bare = shown(summary(row()))
    full = shown(summary(row(), row("b", peak_memory_bytes=2**30, accuracy=0.5, ratio=1.0)))
    for heading in ("memory MB", "accuracy", "ratio"):
        assert heading not in bare.replace("accuracy on", "")
        assert heading in full
    for heading in ("samples/s", "step ms", "copy ms", "wait ms", "first ms", "loss", "version"):
        assert heading not in full


def test_the_harness_is_marked_and_has_no_ratio(shown: Any) -> None:
    text = shown(summary(row("torch", ratio=1.5), row("null", harness=True), baseline="torch"))
    assert "vs torch" in text
    line = next(line for line in text.splitlines() if "null" in line)
    assert "null (harness)" in line
    assert not re.search(r"\d\.\d\d", line)


def test_a_tuned_variant_is_marked(shown: Any) -> None:
    text = shown(summary(row("torch:compile"), row("torch:channels_last", tuned=True)))
    assert "torch:channels_last (tuned)" in text
    assert "torch:compile (" not in text


def test_an_incomplete_run_says_what_is_missing() -> None:
    interrupted = summary(row(), state="interrupted", missing=["cnn", "gru"])
    assert "interrupted: cnn, gru not finished" in notes(interrupted)
    assert "interrupted: cnn, gru not finished" in markdown(interrupted)
    killed = summary(row(), state="running", missing=["gru"])
    assert "running still, or its process was killed: gru not finished" in notes(killed)
    assert notes(summary(row())) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"samples_per_s": 123456.7}, "123,457"),
        ({"samples_per_s": 12.34}, "12.3"),
        ({"step_ns_median": 51 * MS, "step_ns_mad": MS // 2}, "51.00 ± 0.500"),
        ({"step_ns_median": 1234 * MS, "step_ns_mad": 0}, "1,234.0 ± 0.000"),
        ({"copy_ns_median": 0}, "0.000"),
        ({"wait_ns_median": 1500}, "0.002"),
        ({"first_step_ns": 99 * MS}, "99.00"),
        ({"first_step_ns": 2**64 - 2}, "18,446,744,073,709.6"),
        ({"peak_memory_bytes": 3 * 2**30}, "3,072"),
        ({"peak_device_memory_bytes": 5 * 2**30}, "5,120"),
        ({"final_loss": 2.302585}, "2.3026"),
        ({"accuracy": 0.98765}, "0.988"),
        ({"accuracy": 0.0}, "0.000"),
        ({"ratio": 1.23456}, "1.23"),
        ({"ratio": 1.0, "ratio_interval": [0.95, 1.049]}, "1.00 (0.95-1.05)"),
    ],
    ids=str,
)
def test_numbers_are_written_for_people(fields: dict[str, Any], words: str, shown: Any) -> None:
    text = shown(summary(row(**fields)))
    assert re.search(rf"(?:[|] |  ){re.escape(words)}(?: [|]|  )", text), text


def test_the_title_tells_sizes_that_the_rows_share(shown: Any) -> None:
    examined = [Evaluation(after_step=46, samples=5120, accuracy=0.5)]
    rows = (row("a", evaluations=examined, accuracy=0.5), row("b", timed_steps=0))
    text = " ".join(shown(summary(*rows)).split())
    assert "mlp on mnist: batch 64, 40 timed steps, 2 threads, cpu" in text
    assert "accuracy on 5,120 test samples" in text


def test_each_task_has_a_table(shown: Any) -> None:
    text = shown(summary(row(task="mlp"), row(task="cnn", data="cifar10"), row("b", task="mlp")))
    assert text.index("mlp on mnist") < text.index("cnn on cifar10")
    for title in ("mlp on mnist: batch 64, 40 timed", "cnn on cifar10: batch 64, 40 timed"):
        assert text.count(title) == 1


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80])
def test_a_narrow_terminal_does_not_crash(width: int) -> None:
    wide = row(
        samples_per_s=1e6,
        step_ns_median=MS,
        step_ns_mad=MS,
        copy_ns_median=1,
        final_loss=1.0,
        ratio=1.0,
        ratio_interval=(0.9, 1.1),
    )
    on_terminal(summary(wide, row("b", status="failed", reason="x" * 5000)), width)


def test_what_workers_say_of_themselves_is_in_the_summary() -> None:
    """Once, however many tasks they did; hostile words stay text."""
    told = {
        "framework": "PyTorch",
        "framework_version": "2.13.0",
        "language": "python",
        "language_version": "3.11.7",
        "forms": {"adam": "torch"},
        "disclosures": {"precision": "float32, TF32 off", "gru": "fused | <b>"},
    }
    text = markdown(summary(row("torch", **told), row("torch", task="gru", **told), row("null")))
    (line,) = [line for line in text.splitlines() if line.startswith("- **torch**")]
    assert line == (
        "- **torch**: PyTorch 2.13.0; python 3.11.7; adam: torch; precision: float32, TF32 off; "
        "gru: fused \\| &lt;b>"
    )
    assert "**null**" not in text


def test_a_small_table_as_markdown() -> None:
    made = summary(
        row(
            "numpy",
            data="synthetic",
            proof="unproved",
            samples_per_s=1254.0,
            step_ns_median=51 * MS,
            step_ns_mad=2 * MS,
            final_loss=0.5,
            ratio=1.0,
        ),
        row("caffe", data="synthetic", status="skipped", reason="needs Python 3.9 | x86"),
        run="20240131-120000-abcd",
        baseline="numpy",
    )
    assert markdown(made) == GOLDEN


GOLDEN = """\
# Run 20240131-120000-abcd

State: complete.

**mlp on synthetic: batch 64, cpu, 2 threads**

| worker | samples/s | vs numpy |
|---|---:|---:|
| numpy | 1,254 (unproved) | 1.00 |
| caffe | skipped |  |

- caffe: skipped: needs Python 3.9 \\| x86

## Details

**mlp on synthetic: batch 64, 40 timed steps, 2 threads, cpu**

| worker | data | samples/s | vs numpy | step ms | loss | status |
|---|---|---:|---:|---:|---:|---|
| numpy | synthetic | 1,254 | 1.00 | 51.00 ± 2.00 | 0.5000 | ok, unproved |
| caffe | synthetic |  |  |  |  | skipped: needs Python 3.9 \\| x86 |

- mlp: synthetic data, made from a seed in the shapes of the real set; times can be compared, \
accuracies mean nothing outside this table
- unproved: these rows have not been compared with the reference network
"""
