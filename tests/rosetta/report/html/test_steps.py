"""`steps.jsonl` read into columns."""

import msgspec
import numpy as np
import pytest

from canned_run import MS, row, steps, write
from rosetta.errors import UserError
from rosetta.report.html.steps import UNTOLD, read_steps


def test_steps_keep_the_order_in_which_all_workers_computed_them(tmp_path):
    write(tmp_path, [row()], steps({"a": 1, "b": 2}, total=8, block=4))
    found = read_steps(tmp_path / "steps.jsonl")["mlp"]
    assert list(found["a"].order) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert list(found["b"].order) == [4, 5, 6, 7, 12, 13, 14, 15]
    assert list(found["a"].block) == [0] * 4 + [1] * 4
    assert found["a"].timed.tolist() == [4, 5, 6, 7]
    assert found["a"].blocks()[1, 1].tolist() == [
        MS // 10 + round(MS * (1 + 0.01 * (step % 5))) for step in (4, 5, 6, 7)
    ]


def test_a_turn_is_opened_by_the_first_step_of_a_block(tmp_path):
    write(tmp_path, [row()], steps({"a": 1, "b": 2}, total=6, block=3, repeats=2))
    opens = read_steps(tmp_path / "steps.jsonl")["mlp"]["b"].opens_turn
    assert np.flatnonzero(opens).tolist() == [0, 3, 6, 9]


def test_of_a_task_begun_anew_only_the_last_attempt_counts(tmp_path):
    done = [
        *steps({"a": 1, "gone": 1}, total=8),
        *steps({"a": 1}, task="cnn", total=4),
        *steps({"a": 9}, total=4, attempt=2),
    ]
    write(tmp_path, [row()], done)
    found = read_steps(tmp_path / "steps.jsonl")
    assert set(found["mlp"]) == {"a"}
    assert list(found["mlp"]["a"].order) == [0, 1, 2, 3]
    assert min(found["mlp"]["a"].step_ns) == 9 * MS
    assert len(found["cnn"]["a"].step) == 4, "kept from before the interruption"


def test_what_was_not_told_is_kept_as_such(tmp_path):
    (one,) = steps({"a": 1}, total=1, loss=None)
    write(tmp_path, [row()], [one])
    series = read_steps(tmp_path / "steps.jsonl")["mlp"]["a"]
    assert list(series.forward_ns) == [UNTOLD]
    assert np.isnan(series.loss[0])


def test_a_last_line_cut_short_is_left_out_and_others_are_refused(tmp_path):
    whole = msgspec.json.encode(steps({"a": 1}, total=1)[0])
    file = tmp_path / "steps.jsonl"
    file.write_bytes(whole + b"\n" + whole[:20])
    assert len(read_steps(file)["mlp"]["a"].step) == 1
    file.write_bytes(whole[:20] + b"\n" + whole + b"\n")
    with pytest.raises(UserError, match="line 1, is no step"):
        read_steps(file)
    with pytest.raises(UserError, match="no steps at"):
        read_steps(tmp_path / "none.jsonl")


def test_a_run_without_steps_is_empty(tmp_path):
    write(tmp_path, [], [])
    assert read_steps(tmp_path / "steps.jsonl") == {}
