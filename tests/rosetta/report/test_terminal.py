"""The terminal's tables: what a narrow one goes without, and where long reasons stand."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from canned_results import MS, row, summary
from rosetta.report import across, across_table, table
from rosetta.report.result_file import result_of
from rosetta.results import Row, Summary

NAMES = (
    *("numpy", "caffe2", "jax", "keras-tensorflow", "keras-jax", "keras-torch", "mxnet-gluon"),
    *("mxnet-module", "tensorflow", "torch", "julia", "juliacall"),
)
REASON = "juliacall could not find Julia 1.10: put julia on the PATH, or set PYTHON_JULIACALL_EXE"


def full(worker: str, **more: Any) -> Row:
    """A row with everything in it, and in the widest form."""
    fields: dict[str, Any] = {
        "data": "synthetic",
        "unusual_forms": ["adam: hat"],
        "framework_version": "2.13.0+cpu",
        "samples_per_s": 176_711.0,
        "ratio": 16.23,
        "ratio_interval": [11.75, 19.39],
        "step_ns_median": 410 * MS,
        "step_ns_mad": 36 * MS,
        "copy_ns_median": MS,
        "wait_ns_median": MS,
        "cpu_ns_per_step": MS,
        "peak_share": 0.14,
        "first_step_ns": 1290 * MS,
        "peak_memory_bytes": 2**29,
        "final_loss": 1.5,
        "accuracy": 0.715,
    }
    return row(worker, **{**fields, **more})


TWELVE = summary(*(full(name) for name in NAMES), baseline="numpy")


def lines(shown: Summary, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(table(shown, "mlp", width))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [100, 120, 150, 100_000])
def test_twelve_workers_have_a_line_each(width: int) -> None:
    shown = lines(TWELVE, width)
    of_workers = [[line for line in shown if line.startswith(f"{name} ")] for name in NAMES]
    assert [len(found) for found in of_workers] == [1] * len(NAMES)
    assert all("same network (adam: hat)" in found[0] for found in of_workers)
    assert max(map(len, shown)) <= width
    assert len(shown) == 1 + 2 + len(NAMES) + 1  # title, headings and a rule, an empty line


def test_the_wider_the_terminal_the_more_columns() -> None:
    headings = {width: lines(TWELVE, width)[1].split() for width in (100, 130, 100_000)}
    assert len(headings[100]) < len(headings[130]) < len(headings[100_000])
    for width in headings:
        assert {"samples/s", "vs", "step", "status"} <= set(headings[width])
    assert {"accuracy", "loss", "memory", "version", "data"} <= set(headings[100_000])


def test_a_long_reason_stands_below_the_table() -> None:
    failed = full("juliacall", status="skipped", reason=REASON, samples_per_s=None)
    shown = lines(summary(full("numpy"), failed), 100)
    (place,) = [n for n, line in enumerate(shown) if line.startswith("juliacall  ")]
    assert shown[place].rstrip().endswith("skipped")
    assert REASON in " ".join("\n".join(shown[place + 1 :]).split())


def test_a_short_reason_stands_in_its_row() -> None:
    shown = lines(summary(full("numpy"), row("a", status="skipped", reason="no GPU")), 100)
    assert [line for line in shown if line.startswith("a ") and "skipped: no GPU" in line]
    assert not [line for line in shown if line.startswith("a: ")]


def test_a_table_of_several_runs() -> None:
    runs = [
        result_of(name, summary(full("torch", threads=n)), None) for n, name in ((1, "a"), (2, "b"))
    ]
    stream = io.StringIO()
    for one in across(runs):
        Console(file=stream, width=100).print(across_table(one))
    shown = stream.getvalue().splitlines()
    assert shown[0].startswith("mlp on synthetic: ")
    assert shown[1].split()[-4:] == ["1", "thread", "2", "threads"]
    assert "176,711" in shown[3]
