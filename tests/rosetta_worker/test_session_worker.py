"""A worker's session: what it answers to each message, in each state; Python's and Julia's."""

from typing import Any

import msgpack
import numpy as np
import pytest

from rosetta_worker import wire

BUSY_NS = 20_000_000
"""How long a step of the tiny backend takes at least."""

PIXELS = {"kind": "pixels", "dtype": "uint8", "shape": [3]}
TOKENS = {"kind": "tokens", "dtype": "int32", "shape": [4], "vocabulary": 10}
PARAMETERS = [
    {"name": "w", "shape": [2, 3], "trainable": True},
    {"name": "mean", "shape": [2], "trainable": False},
]
TASK = {
    "name": "tiny",
    "layers": [],
    "parameters": PARAMETERS,
    "input": PIXELS,
    "classes": 2,
    "optimiser": {"kind": "sgd"},
}
VALUES = {"w": np.zeros((2, 3), np.float32), "mean": np.ones(2, np.float32)}
INPUTS = np.array([[0, 1, 2], [3, 4, 255]], np.uint8)
LABELS = np.array([0, 1], np.int32)
MISSING = object()


def message(kind: str, number: int, arrays: Any = None, **fields: Any) -> list[Any]:
    header = {"type": kind, "id": number} | fields
    header = {key: value for key, value in header.items() if value is not MISSING}
    return [bytes(memoryview(frame)) for frame in wire.encode(header, arrays or {})]


def setup(number: int = 1, arrays: Any = VALUES, **changes: Any) -> list[Any]:
    fields = {"task": TASK, "batch_size": 2, "seed": 1, "dropout": True, "threads": 1}
    return message("SETUP", number, arrays, **(fields | changes))


def batch(number: int = 2, **changes: Any) -> list[Any]:
    arrays = {"inputs": INPUTS, "labels": LABELS} | changes
    fields = {"step": 0} | {k: arrays.pop(k) for k in ("step", "learning_rate") if k in arrays}
    arrays = {name: array for name, array in arrays.items() if array is not MISSING}
    return message("BATCH", number, arrays, **fields)


WELCOME = message("WELCOME", 0, re=0, protocol="1.0", credit=2, reconnect_ns=0)
END = message("END", 50)


def summary(script: Any) -> list[Any]:
    """(type or error code, re) of each answer."""
    return [(header.get("code", header["type"]), header.get("re")) for header in script.said]


def test_a_learning_rate_holds_from_its_batch_on(play):
    script = play(setup(), batch(2), batch(3, learning_rate=0), batch(4), batch(5, learning_rate=2))
    assert summary(script)[1:] == [("RESULT", number) for number in (2, 3, 4, 5)]
    assert script.rates == [0.0, 2.0]


def test_a_session_from_greeting_to_farewell(play):
    script = play(
        setup(10), batch(11), message("PREDICT", 12, {"inputs": INPUTS}), message("PARAMETERS", 13),
        message("END", 14), message("BYE", 15),
    )  # fmt: skip
    kinds = ["READY", "RESULT", "PREDICTIONS", "VALUES", "ENDED", "BYE"]
    assert summary(script) == list(zip(kinds, range(10, 16), strict=True))
    assert script.status == 0
    ready, result = script.said[:2]
    assert ready["parameters"] == [{"name": p["name"], "shape": p["shape"]} for p in PARAMETERS]
    assert (ready["parameter_count"], ready["threads"]) == (6, 1)
    assert (result["step"], result["loss"]) == (0, 1.0)
    assert script.arrays[2]["logits"].dtype == np.float32
    assert script.arrays[2]["logits"].tolist() == [[0, 1], [3, 4]]
    assert {name: array.dtype.name for name, array in script.arrays[3].items()} == {
        "w": "float32",
        "mean": "float32",
    }
    assert script.setups[0] == {
        "task": TASK, "batch_size": 2, "seed": 1, "dropout": True, "threads": 1, "device": "cpu"
    }  # fmt: skip


def test_nothing_after_bye_is_answered_and_the_end_of_a_tape_is_an_end(play):
    assert summary(play(message("BYE", 1), setup(2))) == [("BYE", 1)]
    assert play().said == []


def test_welcome_says_how_long_to_wait_for_a_coordinator_that_went_away(play):
    assert play().reconnect_ns == 10**9


def test_times_cover_what_they_name(play):
    result = play(setup(), batch()).said[1]
    assert result["step_ns"] >= BUSY_NS
    ready, _, predictions = play(setup(), batch(), message("PREDICT", 9, {"inputs": INPUTS})).said
    times = [ready["setup_ns"], result["wait_ns"], result["copy_ns"]]
    times += [predictions[key] for key in ("wait_ns", "copy_ns", "predict_ns")]
    assert all(type(value) is int and value >= 0 for value in times)


def test_the_parts_of_a_step_are_timed_where_the_network_tells_them(play):
    for result in play(setup(), batch(2), batch(3), tells_parts=True).said[1:]:
        forward_ns, backward_ns = result["forward_ns"], result["backward_ns"]
        assert min(forward_ns, backward_ns) >= BUSY_NS // 2
        assert forward_ns + backward_ns <= result["step_ns"]
    untold = play(setup(), batch(2)).said[1]
    assert not {"forward_ns", "backward_ns"} & {*untold}


def test_wait_is_the_time_until_the_batch_is_there(play):
    assert play(setup(), batch(), pause_ns=BUSY_NS).said[1]["wait_ns"] >= BUSY_NS


def test_values_are_copies_that_later_steps_do_not_change(play):
    script = play(setup(), message("PARAMETERS", 2), batch(3), message("PARAMETERS", 4))
    assert [script.arrays[i]["w"][0, 0] for i in (1, 3)] == [0, 1]


def test_a_batch_may_be_smaller_than_the_usual_one(play):
    small = batch(inputs=INPUTS[:1], labels=LABELS[:1])
    assert play(setup(), small).said[1]["loss"] == 0.5


def test_after_end_another_task_can_be_set_up(play):
    script = play(setup(1), END, setup(2, seed=9), batch(3))
    assert summary(script) == [("READY", 1), ("ENDED", 50), ("READY", 2), ("RESULT", 3)]
    assert [s["seed"] for s in script.setups] == [1, 9]


# --- out of turn ----------------------------------------------------------------------------------


def test_setup_before_welcome_is_refused(play):
    script = play(setup(1), WELCOME, setup(2), welcome=False)
    assert summary(script) == [("bad_state", 1), ("READY", 2)]


def test_a_welcome_that_is_refused_changes_nothing(play):
    """Its shared memory can't be mapped; then there has been no WELCOME."""
    nowhere = message("WELCOME", 1, shm={"path": "/nowhere", "size_bytes": 64})
    script = play(nowhere, setup(2), WELCOME, setup(3), welcome=False)
    assert summary(script) == [("unsupported", 1), ("bad_state", 2), ("READY", 3)]


@pytest.mark.parametrize(
    "question",
    [batch(1), message("PREDICT", 1, {"inputs": INPUTS}), message("PARAMETERS", 1)],
    ids=["BATCH", "PREDICT", "PARAMETERS"],
)
def test_questions_need_a_task_that_is_set_up(play, question):
    assert summary(play(question)) == [("bad_state", 1)]
    assert summary(play(setup(0), END, question))[2:] == [("bad_state", 1)]


def test_a_forward_only_task_is_not_trained(play):
    forward = setup(1, task=task(optimiser=MISSING))
    script = play(forward, batch(2), message("PREDICT", 3, {"inputs": INPUTS}))
    assert summary(script) == [("READY", 1), ("bad_state", 2), ("PREDICTIONS", 3)]


def test_a_second_setup_without_end_is_refused_and_the_first_task_goes_on(play):
    assert summary(play(setup(1), setup(2), batch(3))) == [
        ("READY", 1), ("bad_state", 2), ("RESULT", 3)
    ]  # fmt: skip


def test_end_without_a_task_is_answered_all_the_same(play):
    assert summary(play(END, END)) == [("ENDED", 50)] * 2


# --- wrong content --------------------------------------------------------------------------------


def task(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (TASK | changes).items() if value is not MISSING}


def lacking(described: dict[str, Any], key: str) -> dict[str, Any]:
    return task(input={k: v for k, v in described.items() if k != key})


def parameters(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (VALUES | changes).items() if value is not MISSING}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (setup(task=task(name="resnet50")), "unknown_task"),
        (setup(task=task(name=MISSING)), "unknown_task"),
        (setup(task=MISSING), "bad_header"),
        (setup(batch_size="2"), "bad_header"),
        (setup(batch_size=0), "bad_header"),
        (setup(dropout=1), "bad_header"),
        (setup(seed=True), "bad_header"),
        *[(setup(seed=seed), "bad_header") for seed in (-1, 2**31)],
        (setup(task=task(layers=MISSING)), "bad_header"),
        (setup(task=task(parameters=[{"name": "w"}])), "bad_header"),
        (setup(task=task(parameters=[5])), "bad_header"),
        *[(setup(task=lacking(PIXELS, key)), "bad_header") for key in PIXELS],
        (setup(task=lacking(TOKENS, "vocabulary")), "bad_header"),
        (setup(threads=2), "unsupported"),
        (setup(arrays={}), "bad_shape"),
        (setup(arrays=parameters(mean=MISSING)), "bad_shape"),
        (setup(arrays=parameters(extra=VALUES["mean"])), "bad_shape"),
        (setup(arrays=parameters(w=VALUES["w"].T)), "bad_shape"),
        (setup(arrays=dict(reversed(VALUES.items()))), "bad_shape"),
        (setup(arrays=parameters(w=VALUES["w"].astype(np.float64))), "bad_dtype"),
    ],
)  # fmt: skip
def test_a_setup_that_can_not_be_built_is_refused_and_the_next_one_works(play, wrong, code):
    assert summary(play(wrong, setup(9))) == [(code, 1), ("READY", 9)]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"inputs": MISSING}, "bad_frames"),
        ({"inputs": INPUTS.astype(np.float32)}, "bad_dtype"),
        ({"inputs": INPUTS[:, :2]}, "bad_shape"),
        ({"inputs": INPUTS[0]}, "bad_shape"),
        ({"inputs": INPUTS[:0], "labels": LABELS[:0]}, "bad_shape"),
        ({"labels": MISSING}, "bad_frames"),
        ({"labels": LABELS.astype(np.int64)}, "bad_dtype"),
        ({"labels": LABELS[:1]}, "bad_shape"),
        ({"labels": LABELS[:, None]}, "bad_shape"),
        ({"labels": LABELS + 1}, "bad_value"),
        ({"labels": LABELS - 1}, "bad_value"),
        *[({"learning_rate": r}, "bad_header") for r in ("0.1", -1, True, float("nan"), 1e7)],
        *[({"step": step}, "bad_header") for step in (MISSING, "0", -1, True, 1.5, None)],
    ],
)
def test_a_wrong_batch_is_refused_and_the_next_one_works(play, changes, code):
    assert summary(play(setup(), batch(2, **changes), batch(3)))[1:] == [(code, 2), ("RESULT", 3)]


@pytest.mark.parametrize(("token", "answer"), [(0, "RESULT"), (9, "RESULT"), (10, "bad_value"),
                                               (-1, "bad_value")])  # fmt: skip
def test_tokens_lie_inside_the_vocabulary(play, token, answer):
    inputs = np.array([[0, 0, 0, token]] * 2, np.int32)
    script = play(setup(task=task(name="words", input=TOKENS)), batch(inputs=inputs))
    assert summary(script)[1] == (answer, 2)


def test_unknown_messages_are_ignored_and_unknown_keys_too(play):
    later = [*message("COMPRESS", 1), b"frames by rules of a later version"]
    script = play(later, setup(2, mood="good"), message("END", 3, later=[1]))
    assert summary(script) == [("READY", 2), ("ENDED", 3)]


def test_what_can_not_be_read_is_answered_and_the_session_goes_on(play):
    header = msgpack.packb({"type": "BATCH", "id": 7, "arrays": []})
    script = play(setup(1), [b"\xc1"], [], [header, b"?"], batch(3))
    answers = [("bad_header", None), ("bad_frames", None), ("bad_frames", 7), ("RESULT", 3)]
    assert summary(script)[1:] == answers
    for error in script.said[1:4]:
        assert error["fatal"] is False and error["message"]
    assert "re" not in script.said[1]


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["build", "train_step", "predict"])
def test_a_backend_that_raises_loses_its_task_and_not_its_session(play, failing):
    questions = [setup(1), batch(2), message("PREDICT", 3, {"inputs": INPUTS})]
    asked = ["build", "train_step", "predict"].index(failing)
    script = play(*questions[: asked + 1], batch(8), setup(9), batch(10), failing=failing)
    assert summary(script)[asked:] == [
        ("backend", asked + 1), ("bad_state", 8), ("READY", 9), ("RESULT", 10)
    ]  # fmt: skip
    assert script.said[asked]["message"] in ("RuntimeError: out of memory", "out of memory")
    assert "Traceback" in script.log or "Stacktrace" in script.log


def test_a_worker_that_is_refused_leaves_with_status_1(play):
    refuse = message("REFUSE", 0, re=0, code="bad_key", reason="not expected")
    script = play(refuse, setup(1), welcome=False)
    assert (script.said, script.status) == ([], 1)
    assert "not expected" in script.log


def test_a_fatal_error_of_the_coordinator_ends_the_session_with_status_1(play):
    error = message("ERROR", 1, code="bad_header", message="no", fatal=True)
    assert play(error, setup(2)).status == 1
    harmless = message("ERROR", 1, code="bad_header", message="no", fatal=False)
    script = play(harmless, setup(2))
    assert (summary(script), script.status) == ([("READY", 2)], 0)
