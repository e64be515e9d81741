"""The table of a task that trains nothing: images, and neither loss nor accuracy."""

from __future__ import annotations

import re
from typing import Any

from canned_results import MS, row, summary
from rosetta.report import markdown, notes
from rosetta.report.columns import columns, title
from rosetta.results import Row, Summary


def features(worker: str, **more: Any) -> Row:
    fields: dict[str, Any] = {
        "task": "resnet50",
        "data": "synthetic",
        "forward_only": True,
        "batch_size": 32,
        "samples_per_s": 25.0,
        "step_ns_median": 1280 * MS,
        "step_ns_mad": MS,
        "copy_ns_median": MS,
        "first_step_ns": 3000 * MS,
        "peak_memory_bytes": 2**30,
        "peak_share": 0.5,
        "ratio": 1.0,
    }
    return row(worker, **{**fields, **more})


def one(**more: Any) -> Summary:
    return summary(
        features("torch"), features("numpy", samples_per_s=2.0, **more), baseline="torch"
    )


def test_the_columns_are_those_of_feature_extraction() -> None:
    made = one()
    assert [c.heading for c in columns(made, made.rows)] == [
        *("worker", "data", "images/s", "vs torch", "s per 1000 images", "first batch ms"),
        *("peak memory MB", "of peak", "status"),
    ]
    cells = [column.text(made.rows[0]) for column in columns(made, made.rows)]
    assert cells[2:8] == ["25.0", "1.00", "40.0", "3,000.0", "1,024", "50 %"]
    assert columns(made, made.rows)[4].text(made.rows[1]) == "500.0"


def test_loss_and_accuracy_are_never_shown() -> None:
    made = one(final_loss=1.0, accuracy=0.5)
    text = markdown(made)
    assert not re.search("loss|accurac", text)
    assert title(made, "resnet50").startswith("resnet50 on synthetic: batch 32, 40 timed batches")


def test_a_skipped_row_does_not_change_the_table() -> None:
    made = summary(row("null", task="resnet50", status="skipped"), features("torch"))
    assert any(column.heading == "images/s" for column in columns(made, made.rows))


def test_synthetic_images_are_said_without_accuracies() -> None:
    (said,) = notes(one())
    assert said.startswith("resnet50: synthetic data")
    assert "accuracies" not in said
    both = notes(summary(features("torch"), row(data="synthetic")))
    assert [note.partition(":")[0] for note in both] == ["mlp", "resnet50"]
