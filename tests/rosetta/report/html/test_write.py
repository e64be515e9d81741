"""`report.html` in its place, and what happens where it can't be written."""

import os
from pathlib import Path

import pytest

from canned_run import row, steps, write
from rosetta.errors import UserError
from rosetta.report.html import write_or_say, write_report


@pytest.fixture
def run(tmp_path):
    return write(tmp_path / "run", [row()], steps({"numpy": 1}))


def test_the_page_lies_in_the_run_directory(run):
    assert write_report(run) == run / "report.html"
    assert (run / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in run.iterdir()} == {
        "run.json",
        "steps.jsonl",
        "summary.json",
        "report.html",
    }


def test_or_where_it_is_asked_for(run, tmp_path):
    assert write_report(run, out=tmp_path / "x.html") == tmp_path / "x.html"
    assert not (run / "report.html").exists()


def test_where_it_cannot_be_written_one_line_says_so(run, tmp_path):
    with pytest.raises(UserError, match="choose another --out"):
        write_report(run, out=tmp_path / "none" / "x.html")


def test_what_is_no_file_is_never_replaced_by_one(run, tmp_path):
    """A device, for whoever may: the machine would miss it."""
    os.mkfifo(tmp_path / "pipe")
    for out in (tmp_path / "pipe", tmp_path, Path()):
        with pytest.raises(UserError, match="is no regular file: choose another --out"):
            write_report(run, out=out)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("file", "content"),
    [("steps.jsonl", "nonsense\n"), ("run.json", "{}"), ("summary.json", "[" * 100_000)],
)
def test_at_the_end_of_a_run_it_never_costs_the_results(run, file, content):
    (run / file).write_text(content)
    said = []
    assert write_or_say(run, said.append) is None
    (sentence,) = said
    assert sentence.startswith("no report was written: ")
    assert "rosetta report" in sentence
    assert not (run / "report.html").exists()


def test_a_folder_in_its_place_costs_nothing_either(run):
    (run / "report.html").mkdir()
    said = []
    assert write_or_say(run, said.append) is None
    assert len(said) == 1
    assert not list(run.glob(".*")), "nothing half-written"
