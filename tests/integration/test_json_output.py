"""`--json`: standard output is one document and nothing else; the exit code is the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

RESULTS = Path(__file__).parents[2] / "protocol" / "schema" / "results"
TINY = (
    *("--task", "mlp", "--worker", "null", "--data", "synthetic", "--threads", 1, "--no-proof"),
    *("--steps", 30, "--warmup", 1, "--test-samples", 50),
)

Run = Callable[..., tuple[Any, int]]


@pytest.fixture
def document(rosetta: Callable[..., subprocess.Popen[str]]) -> Run:
    """Runs a command with --json; returns what it printed, decoded, and its exit code."""

    def go(*arguments: object, schema: str | None = None) -> tuple[Any, int]:
        process = rosetta(*arguments, "--json")
        output, errors = process.communicate(timeout=150)
        assert "Traceback" not in errors
        content = json.loads(output)
        if schema:
            whole = json.loads((RESULTS / f"{schema}.json").read_text(encoding="utf-8"))
            Draft202012Validator(whole).validate(content)
        return content, process.returncode

    return go


def test_bench_and_what_is_read_from_its_directory(document: Run, tmp_path: Path) -> None:
    out = tmp_path / "a"
    summary, code = document("bench", *TINY, "--out", out, schema="summary")
    assert code == 0
    assert summary == json.loads((out / "summary.json").read_text())
    assert document("show", out, schema="summary") == (summary, 0)
    results, code = document("table", out, schema="results")
    assert (code, [run["name"] for run in results["runs"]]) == (0, ["a"])
    rows, code = document("compare", out, out)
    assert code == 0
    assert [(r["task"], r["worker"], r["verdict"]) for r in rows] == [
        ("mlp", "null", "no difference")
    ]
    assert rows[0]["ratio"]["value"] == 1


def test_a_run_without_a_good_row_has_its_exit_code(
    document: Run, silent: Path, tmp_path: Path
) -> None:
    asked = ("--task", "mlp", "--worker", silent, "--data", "synthetic", "--steps", 1)
    summary, code = document(
        *("bench", *asked, "--out", tmp_path / "a", "--start-deadline", 0.5), schema="summary"
    )
    assert code == 1
    assert [row["status"] for row in summary["rows"]] == ["timeout"]


def test_sweep(document: Run, tmp_path: Path) -> None:
    results, code = document(
        "sweep", *TINY, "--batch-size", "8,16", "--out", tmp_path / "s", schema="results"
    )
    assert (code, [run["name"] for run in results["runs"]]) == (
        0,
        ["batch_8-1_thread", "batch_16-1_thread"],
    )
    assert document("show", tmp_path / "s", schema="results") == (results, 0)


def test_prove(document: Run) -> None:
    (outcome,), code = document("prove", "null", "--task", "mlp", "--threads", 1)
    assert code == 1
    assert (outcome["worker"], outcome["task"], outcome["proof"]) == ("null", "mlp", "different")
    logits = next(m for m in outcome["measurements"] if m["quantity"] == "logits")
    assert not logits["passed"]
    assert logits["deviation"] > logits["tolerance"]
    assert outcome["detail"].startswith("logits")


def test_conform(document: Run) -> None:
    report, code = document("conform", "null", "--check", "greeting.hello")
    assert code == (0 if report["passed"] else 1)
    assert report["checks"]


def test_workers(document: Run) -> None:
    content, code = document("workers")
    assert code == (1 if content["errors"] else 0)
    (null,) = [worker for worker in content["workers"] if worker["name"] == "null"]
    assert null["ready"] is True
    assert null["tasks"]


def test_doctor(document: Run) -> None:
    findings, code = document("doctor")
    assert {"severity", "subject", "sentence"} == set(findings[0])
    assert code == (1 if any(f["severity"] == "problem" for f in findings) else 0)


def test_data(document: Run, tmp_path: Path) -> None:
    sets, code = document("data", "--data-dir", tmp_path)
    assert code == 0
    assert next(one for one in sets if one["name"] == "synthetic")["place"] == "made"


def test_env_size(document: Run) -> None:
    sizes, code = document("env", "size", "null")
    assert code == 0
    assert sizes["null"] > 2**20


def test_harness(document: Run, tmp_path: Path) -> None:
    asked = ("--part", "round_trip", "--quick", "--threads", 1, "--out", tmp_path / "h")
    content, code = document("harness", *asked, schema="harness")
    assert code == 0
    assert content == json.loads((tmp_path / "h" / "harness.json").read_text())


def test_tape_record(document: Run, tmp_path: Path) -> None:
    asked = ("--task", "mlp", "--data", "synthetic", "--steps", 3, "--threads", 1)
    content, code = document("tape", "record", "numpy", tmp_path / "t.tape", *asked)
    assert (code, content["worker"], len(content["losses"])) == (0, "numpy", 3)
    assert Path(content["tape"]).is_file()


def test_a_mistake_prints_no_document(rosetta: Callable[..., subprocess.Popen[str]]) -> None:
    process = rosetta("show", "nothing-here", "--json")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (2, "")
    assert "no summary at nothing-here" in errors
