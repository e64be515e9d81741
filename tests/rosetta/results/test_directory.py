"""The run directory: readable whenever the run stops, and never in somebody's way."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import msgspec
import pytest

from rosetta.errors import UserError
from rosetta.results import Run, RunDirectory, Step, Summary, read_summary
from rosetta.results.directory import new_run_id

RUN = Run(
    run="r",
    rosetta="0",
    protocol="1.0",
    started="now",
    command=["rosetta", "bench"],
    options={},
    tasks={},
    data={},
    workers={},
    environment={},
    machine={},
)


def a_step(number: int, loss: float | None = 1.5) -> Step:
    return Step(
        task="mlp",
        worker="numpy",
        step=number,
        phase="timed",
        block=1,
        loss=loss,
        wait_ns=1,
        copy_ns=2,
        step_ns=3,
    )


def test_a_new_directory_has_room_for_logs_and_steps(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "deep" / "one"
    with RunDirectory(path) as directory:
        assert directory.log("numpy") == path / "logs" / "numpy.log"
        directory.log("numpy").write_text("hello")
    assert (path / "steps.jsonl").read_bytes() == b""


def test_an_empty_directory_is_used(tmp_path: Path) -> None:
    with RunDirectory(tmp_path) as directory:
        assert directory.path == tmp_path


def test_the_files_appear_when_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunDirectory(path) as directory:
        directory.write_run(RUN)
        directory.write_summary(Summary(run="r", state="running"), "# Run ×\n")
        names = {entry.name for entry in path.iterdir()}
        assert names == {"logs", "steps.jsonl", "run.json", "summary.json", "summary.md"}
    assert json.loads((path / "run.json").read_text())["command"] == ["rosetta", "bench"]
    assert (path / "summary.md").read_text(encoding="utf-8") == "# Run ×\n"
    assert read_summary(path) == read_summary(path / "summary.json")
    assert read_summary(path).state == "running"


def test_a_summary_is_replaced_whole(tmp_path: Path) -> None:
    """A reader that never stops reading finds a whole summary every time."""
    path, stop, seen = tmp_path / "run", threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            seen.add(len(read_summary(path).notes))

    with RunDirectory(path) as directory:
        directory.write_summary(Summary(run="r", state="running"), "")
        reader = threading.Thread(target=read)
        reader.start()
        for notes in range(1, 200):
            directory.write_summary(Summary(run="r", state="running", notes=["n" * 99] * notes), "")
        stop.set()
        reader.join()
    assert seen
    assert seen <= set(range(200))
    assert not list(path.glob(".*")), "nothing half-written is left"


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as directory:
        (directory.path / "run.json").mkdir()
        with pytest.raises(UserError, match=r"can't write .*run\.json"):
            directory.write_run(RUN)
        assert not list(directory.path.glob(".*"))


def test_a_step_is_in_the_file_when_the_call_returns(tmp_path: Path) -> None:
    """While the run goes on, for anybody who looks."""
    with RunDirectory(tmp_path / "run") as directory:
        for number in range(3):
            directory.add_step(a_step(number))
            text = (tmp_path / "run" / "steps.jsonl").read_text()
            assert text.endswith("\n")
            lines = [msgspec.json.decode(line, type=Step) for line in text.splitlines()]
            assert lines == [a_step(n) for n in range(number + 1)]


def test_a_loss_that_is_not_a_number_is_null(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as directory:
        for loss in (None, float("nan"), float("inf")):
            directory.add_step(a_step(0, loss))
    lines = (tmp_path / "run" / "steps.jsonl").read_text().splitlines()
    assert [json.loads(line)["loss"] for line in lines] == [None] * 3


def test_a_directory_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(UserError, match="is not empty: choose another --out"):
        RunDirectory(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("place", ["/proc/run", "file", "file/run"])
def test_a_place_that_cannot_be_written_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"can't write the run directory .*{place}"):
        RunDirectory(tmp_path / place)


def test_run_ids_sort_by_time_and_do_not_collide() -> None:
    ids = [new_run_id() for _ in range(20)]
    assert len({name[-4:] for name in ids}) > 15
    assert sorted(name[:-5] for name in ids) == [name[:-5] for name in ids]
    assert all(len(name) == len("20240131-235959-abcd") for name in ids)


def test_a_missing_summary_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no summary at .*summary\.json: No such file"):
        read_summary(tmp_path)
    with pytest.raises(UserError, match=r"no summary at .*nowhere"):
        read_summary(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"run": "\xff", "state": "complete"}',
        b'{"run": "r"}',
        b'{"run": "r", "state": "finished"}',
        b'{"format": 2, "run": "r", "state": "complete"}',
        b'{"run": "r", "state": "complete", "rows": [{"worker": 1}]}',
        b'{"run": ' + b"[" * 100_000,
    ],
    ids=lambda content: content[:40].decode("ascii", "replace"),
)
def test_a_file_that_is_no_summary_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(UserError, match=r"summary\.json is not a summary: "):
        read_summary(tmp_path)
