"""The records: the keys that design section 9 names, and the schema that they fulfil."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from rosetta.results import Evaluation, Row, Run, Step, Summary

# Design section 9, word for word.
ROW_KEYS = {
    *("worker", "task", "data", "device", "threads", "status", "reason", "proof", "proof_detail"),
    *("samples_per_s", "step_ns_median", "step_ns_mad", "wait_ns_median", "copy_ns_median"),
    *("first_step_ns", "setup_ns", "accuracy", "final_loss", "peak_memory_bytes"),
    "framework_version",
}
STATUSES = ["ok", "skipped", "failed", "crashed", "timeout", "interrupted"]

SKIPPED = Row(
    worker="caffe",
    task="cnn",
    data="cifar10",
    device="cpu",
    threads=2,
    status="skipped",
    reason="needs Python 3.9",
)
TRAINED = Row(
    worker="numpy",
    task="mlp",
    data="mnist",
    device="cpu",
    threads=2,
    status="ok",
    proof="same",
    steps=46,
    timed_steps=40,
    batch_size=64,
    samples_per_s=1234.5,
    step_ns_median=51_000_000,
    step_ns_mad=1_000,
    wait_ns_median=10,
    copy_ns_median=20,
    first_step_ns=2**64 - 2,
    setup_ns=30,
    ratio=1.25,
    ratio_interval=(1.1, 1.4),
    accuracy=0.5,
    evaluations=[Evaluation(after_step=46, samples=512, accuracy=0.5)],
    final_loss=0.25,
    peak_memory_bytes=10**9,
    framework="NumPy",
    framework_version="2.0",
    language="python",
    language_version="3.11",
    forms={"adam": "torch"},
    disclosures={"blas": "openblas"},
)


def validate(record: Any) -> Any:
    """Encode a record, check it against the schema of its type, and return what a reader gets."""
    content = json.loads(msgspec.json.encode(record))
    jsonschema.validate(content, msgspec.json.schema(type(record)))
    return content


@pytest.mark.parametrize("row", [SKIPPED, TRAINED], ids=lambda row: row.status)
def test_a_row_has_every_key_of_the_design(row: Row) -> None:
    content = validate(row)
    assert content.keys() >= ROW_KEYS


@pytest.mark.parametrize("interval", [[], [1.0], [1.0, 1.1, 1.2]])
def test_an_interval_has_two_ends(interval: list[float]) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"length 2"):
        msgspec.convert({**msgspec.to_builtins(TRAINED), "ratio_interval": interval}, Row)


def test_a_summary_holds_rows_and_says_what_is_missing() -> None:
    summary = Summary(
        run="r", state="interrupted", missing=["gru"], notes=["n"], rows=[SKIPPED, TRAINED]
    )
    content = validate(summary)
    assert [row["worker"] for row in content["rows"]] == ["caffe", "numpy"]
    assert content["missing"] == ["gru"]
    assert content["format"] == 1
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary


@pytest.mark.parametrize("status", STATUSES)
def test_a_row_has_one_of_six_statuses(status: str) -> None:
    validate(msgspec.structs.replace(SKIPPED, status=status))


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"proof": "probably"},
        {"steps": -1},
        {"step_ns_median": -1},
        {"step_ns_median": 1.5},
        {"threads": "two"},
        {"ratio_interval": ["low", "high"]},
        {"evaluations": [{"after_step": 1, "samples": 0, "accuracy": 0.5}]},
        {"evaluations": [{"after_step": 1, "samples": 1, "accuracy": 1.5}]},
    ],
    ids=str,
)
def test_the_schema_and_the_reader_refuse_the_same(change: dict[str, Any]) -> None:
    content = {**json.loads(msgspec.json.encode(TRAINED)), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, msgspec.json.schema(Row))
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(content, Row)


def test_times_are_whole_nanoseconds_and_sizes_bytes() -> None:
    """By their suffix, everywhere."""
    for kind in (Row, Step):
        for field in msgspec.structs.fields(kind):
            if field.name.rpartition("_")[0] and field.name.endswith(("_s", "_ms", "_mb")):
                assert field.name == "samples_per_s"
    properties = msgspec.json.schema(Step)["$defs"]["Step"]["properties"]
    for name in ("wait_ns", "copy_ns", "step_ns"):
        assert properties[name]["type"] == "integer"


def test_a_step_is_one_line_with_its_times() -> None:
    step = Step(
        task="mlp",
        worker="a\nb",
        step=0,
        phase="first",
        block=0,
        loss=None,
        wait_ns=1,
        copy_ns=2,
        step_ns=2**63 - 1,
    )
    content = validate(step)
    assert b"\n" not in msgspec.json.encode(step)
    assert content["loss"] is None
    assert content["step_ns"] == 2**63 - 1
    assert {"forward_ns", "backward_ns"} <= content.keys()


def test_a_run_holds_what_is_needed_to_repeat_it() -> None:
    run = Run(
        run="r",
        rosetta="0.1",
        protocol="1.0",
        started="2024-01-31T12:00:00+00:00",
        command=["rosetta", "bench"],
        options={"seed": 1, "out": None},
        tasks={"mlp": {"sha256": "0" * 64}},
        data={"mlp": {"name": "mnist"}},
        workers={"numpy": {"status": "living"}},
        environment={"OMP_NUM_THREADS": "2"},
        machine={"logical_cores": 2},
    )
    content = validate(run)
    assert content["options"]["seed"] == 1
    assert content["revision"] is None
