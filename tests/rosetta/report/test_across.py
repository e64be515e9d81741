"""Tables of one task across several runs: what shares a table, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from canned_results import record, row, summary, timed
from rosetta.report import across
from rosetta.report.across import Across, notes_of
from rosetta.report.markdown import tables
from rosetta.report.result_file import RunResult, result_of
from rosetta.results import Row

ROWS = (timed("numpy", 100, 1.0), timed("torch", 150, 1.5, 1.4, 1.6))


def run(name: str = "a", rows: tuple[Row, ...] = ROWS, **more: Any) -> RunResult:
    made = summary(*rows, run=name, baseline="numpy", notes=more.pop("notes", []))
    return result_of(name, made, record(**more))


def without_record(name: str = "a") -> RunResult:
    return result_of(name, summary(*ROWS, run=name, baseline="numpy"), None)


def only(*runs: RunResult, figures: tuple[str, ...] = ()) -> Across:
    (table,) = across(runs, figures)
    return table


def texts(table: Across) -> dict[str, list[str]]:
    return {name: [cell.text for cell in cells] for name, cells in table.rows}


def test_machines_are_columns_and_workers_are_rows() -> None:
    other = (timed("torch", 1500, 1.0), timed("jax", 1800, 1.2, 1.1, 1.3))
    table = only(run(), run("b", other, cpu="AMD EPYC 7B13 Processor"))
    assert table.title == "mlp on mnist: batch 64, cpu, 2 threads, samples/s"
    assert table.headings == ["Intel Xeon 2.20GHz", "AMD EPYC 7B13"]
    assert texts(table) == {"numpy": ["100", ""], "torch": ["150", "1,500"], "jax": ["", "1,800"]}


def test_one_run_has_its_ratios_too() -> None:
    table = only(run())
    assert table.title == "mlp on mnist: batch 64, Intel Xeon 2.20GHz, cpu, 2 threads"
    assert table.headings == ["samples/s", "vs numpy"]
    assert texts(table) == {"numpy": ["100", "1.00"], "torch": ["150", "1.50 (1.40-1.60)"]}


def test_the_fastest_of_each_column_is_bold_where_that_is_sure() -> None:
    close = (timed("numpy", 100, 1.0), timed("torch", 101, 1.01, 0.9, 1.1))
    table = only(run(), run("b", close, cpu="other"))
    assert [[cell.best for cell in cells] for _, cells in table.rows] == [
        [False, False],
        [True, False],
    ]
    assert any(note.startswith("bold: the fastest of its column") for note in table.notes)
    page = tables([run(), run("b", close, cpu="other")])
    assert "| torch | **150** | 101 |" in page
    assert not any(note.startswith("bold") for note in only(run("b", close)).notes)


@pytest.mark.parametrize(
    ("more", "rows", "heading", "note"),
    [
        ({"batch_size": 8}, {"batch_size": 8}, "batch 8", "different batch sizes"),
        ({"digest": "2"}, {}, "data ", "different digests of the data"),
        ({}, {"data": "synthetic"}, "synthetic", "different data sets"),
        ({"rate": 0.1}, {}, "task ", "different definitions of the task"),
    ],
)
def test_other_experiments_have_a_column_of_their_own_and_a_note(
    more: dict[str, Any], rows: dict[str, Any], heading: str, note: str
) -> None:
    others = tuple(timed(r.worker, 9, 1.0, **rows) for r in ROWS)
    table = only(run(), run("b", others, **more))
    assert table.headings[1].startswith(heading)
    assert table.headings[0] != table.headings[1]
    assert [len(cells) for _, cells in table.rows] == [2, 2]
    (said,) = [n for n in table.notes if "different experiments" in n]
    assert said.startswith(note)


def test_other_threads_are_in_the_heading_and_the_same_experiment() -> None:
    others = tuple(timed(r.worker, 9, 1.0, threads=1) for r in ROWS)
    table = only(run(), run("b", others))
    assert table.headings == ["2 threads", "1 thread"]
    assert not [note for note in table.notes if "experiment" in note]


def test_epochs_and_the_steps_of_a_bench_make_no_other_experiment() -> None:
    later = record()
    later.tasks["mlp"]["content"]["training"]["epochs"] = 1
    later.tasks["mlp"]["content"]["bench"]["steps"] = 7
    table = only(run(), result_of("b", summary(*ROWS, run="b"), later))
    assert table.headings == ["a", "b"], "nothing but their names tells them apart"
    assert not [note for note in table.notes if "experiment" in note]


def test_what_cannot_be_told_is_said() -> None:
    table = only(run(), without_record("b"))
    assert any("without run.json it can't be told" in note for note in table.notes)
    assert not any("run.json" in note for note in only(without_record()).notes)


def test_versions_that_differ_are_said() -> None:
    rows = [(timed("torch", 1, 1.0, framework_version=version),) for version in ("2.12", "2.13")]
    table = only(run("a", rows[0], cpu="x"), run("b", rows[1], cpu="y"))
    assert list(texts(table)) == ["torch"]
    assert "torch: versions differ: 2.12 (x), 2.13 (y)" in table.notes
    assert list(texts(only(run("a", rows[0]), run("b", rows[0])))) == ["torch 2.12"]
    revisions = only(run(), run("b", revision="def")).notes
    assert "measured with different versions of Rosetta: abc, def" in revisions


@pytest.mark.parametrize(
    ("more", "cell", "note"),
    [
        ({"status": "skipped", "reason": "needs Python 3.9"}, "skipped", "needs Python 3.9"),
        ({"status": "crashed"}, "crashed", "crashed"),
        (
            {"proof": "different", "proof_detail": "fc1.bias: 1", "samples_per_s": 9.0},
            "not the same network",
            "fc1.bias: 1",
        ),
        ({"proof": "unproved", "samples_per_s": 9.0}, "9.0 (unproved)", ""),
    ],
)
def test_rows_without_a_figure_to_compare_say_why(
    more: dict[str, Any], cell: str, note: str
) -> None:
    table = only(run(rows=(*ROWS, row("caffe", **more))))
    assert texts(table)["caffe"] == [cell, ""]
    assert not note or any(n.startswith("caffe: ") and note in n for n in table.notes)


def test_the_harness_and_what_is_tuned_are_marked() -> None:
    rows = (timed("null", 9e9, 1.0, harness=True), timed("torch:x", 1, 1.0, tuned=True))
    names = list(texts(only(run(rows=rows))))
    assert names == ["null (harness)", "torch:x (tuned)"]


def test_other_figures_can_be_asked_for() -> None:
    rows = (timed("torch", 1, 1.0, accuracy=0.5, peak_memory_bytes=2**30),)
    table = only(run(rows=rows), figures=("memory", "accuracy"))
    assert table.headings == ["memory MB", "accuracy"]
    assert texts(table) == {"torch": ["1,024", "0.500"]}
    both = only(run(rows=rows), run("b", rows, cpu="y"), figures=("memory", "accuracy"))
    assert both.headings[3] == "y: accuracy"


def test_a_task_that_trains_nothing_has_images_and_no_accuracy() -> None:
    rows = (timed("torch", 20, 1.0, task="resnet50", forward_only=True),)
    assert only(run(rows=rows)).headings[0] == "images/s"
    assert across([run(rows=rows)], ("accuracy",)) == []


def test_what_several_runs_say_is_said_once() -> None:
    runs = [
        run("a", notes=["all", "some"]),
        run("b", notes=["all", "some"]),
        run("c", notes=["all"]),
    ]
    assert notes_of(runs) == ["all", "a, b: some"]


def test_hostile_words_stay_text() -> None:
    page = tables([run("a|b", cpu="x | y\n# z"), run("`b`")])
    assert "x \\| y # z" in page
    assert not [line for line in page.splitlines() if line.startswith("#")]
