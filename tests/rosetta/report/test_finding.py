"""Which runs paths mean, and what a result file keeps of them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from canned_results import record, row, summary, timed
from rosetta.errors import UserError
from rosetta.protocol.schema import SCHEMA_FOLDER
from rosetta.report import ResultFile, find, is_sweep
from rosetta.results import Run, RunDirectory, Summary

HOME = "needs /home/somebody/julia/bin/julia 1.10 (see http://x/y/z and ~/opt/lib/q.so)"


def write(folder: Path, run: Run | None = None, made: Summary | None = None) -> Path:
    with RunDirectory(folder) as directory:
        directory.write_summary(made or summary(timed("numpy", 1, 1.0), run=folder.name), "")
        if run:
            directory.write_run(run)
    return folder


def names(*paths: Path) -> list[str]:
    return [result.name for result in find(paths)]


def test_a_directory_its_summary_and_a_folder_of_runs(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    for name in ("batch_64-1_thread", "batch_8-2_threads", "batch_8-1_thread"):
        write(sweep / name, record())
    assert names(sweep / "batch_64-1_thread") == ["batch_64-1_thread"]
    assert names(sweep / "batch_64-1_thread" / "summary.json") == ["batch_64-1_thread"]
    assert names(sweep) == ["batch_8-1_thread", "batch_8-2_threads", "batch_64-1_thread"]
    assert is_sweep(sweep)
    assert not is_sweep(sweep / "batch_8-1_thread")
    assert not is_sweep(tmp_path / "nothing")


def test_a_run_named_twice_is_there_once(tmp_path: Path) -> None:
    run = write(tmp_path / "a", record())
    assert names(run, run / "summary.json", write(tmp_path / "b")) == ["a", "b"]


def test_a_summary_by_another_name_is_a_run_without_a_record(tmp_path: Path) -> None:
    run = write(tmp_path / "a", record())
    alone = tmp_path / "xeon.json"
    alone.write_bytes((run / "summary.json").read_bytes())
    (result,) = find([alone])
    assert (result.name, result.machine, result.tasks) == ("xeon", None, {})


def test_a_result_file_is_read_again(tmp_path: Path) -> None:
    found = find([write(tmp_path / "a", record()), write(tmp_path / "b", record(cpu="AMD EPYC"))])
    file = tmp_path / "both.json"
    file.write_bytes(msgspec.json.encode(ResultFile(runs=found)))
    assert find([file]) == found
    assert [result.machine and result.machine["cpu_model"] for result in found][1] == "AMD EPYC"
    schema = json.loads((SCHEMA_FOLDER / "results" / "results.json").read_text())
    Draft202012Validator(schema).validate(json.loads(file.read_text()))


def test_a_result_file_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    told = {"status": "skipped", "proof_detail": HOME, "disclosures": {"library": HOME}}
    made = summary(row("knet", reason=HOME, **told), notes=[HOME])
    (result,) = find([write(tmp_path / "a", record(), made)])
    text = msgspec.json.encode(result).decode()
    assert "somebody" not in text
    assert "/opt" not in text
    kept = "needs …/julia 1.10 (see http://x/y/z and …/q.so)"
    assert result.summary.rows[0].reason == result.summary.notes[0] == kept


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no summary at"),
        ("{", "is neither a summary nor a result file"),
        ('{"kind": "results", "runs": 3}', "is not a result file"),
        ('{"rows": 3}', "is not a summary"),
    ],
)
def test_what_is_no_result_gets_one_line(content: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UserError, match=words):
        find([file])
    with pytest.raises(UserError, match="no summary at"):
        find([tmp_path])
