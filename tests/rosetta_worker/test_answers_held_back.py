"""Answers to short steps are sent together, while other batches are there already (SPEC section 7).

Both runtimes, Python's and Julia's.
"""

import pytest

from .test_session_worker import END, INPUTS, MISSING, batch, message, setup, summary

SHORT = {"at_once": True, "step_ns": 1_000, "held_ns": 10**12}
"""However slow the machine is."""
LONG = {"at_once": True, "step_ns": 25_000_000}


def batches(count):
    return [batch(number, step=number - 2) for number in range(2, 2 + count)]


@pytest.mark.parametrize(
    ("credit", "sent_after"),
    [
        (1, [1, 2, 3, 4, 5, 6]),
        (2, [1, 2, 3, 4, 5, 6]),
        (3, [2, 2, 4, 4, 6, 6]),
        (4, [2, 2, 4, 4, 6, 6]),
        (6, [3, 3, 3, 6, 6, 6]),
        (8, [4, 4, 4, 4, 6, 6]),
        (32, [6, 6, 6, 6, 6, 6]),
    ],
)
def test_at_most_half_of_the_credit_is_kept_waiting(play, credit, sent_after):
    """The coordinator has to send the next batches in time. The last ones go when none is left."""
    script = play(setup(), *batches(6), credit=credit, **SHORT)
    assert summary(script) == [("READY", 1), *(("RESULT", n) for n in range(2, 8))]
    assert [result["step"] for result in script.said[1:]] == list(range(6))
    assert script.steps_before == [0, *sent_after]


def test_nothing_is_kept_waiting_while_a_batch_is_waited_for(play):
    script = play(setup(), *batches(3), credit=32, step_ns=1_000_000)
    assert script.steps_before == [0, 1, 2, 3]


def test_long_steps_are_answered_one_by_one(play):
    """None would be sent within 20 ms if it waited for the next one."""
    script = play(setup(), *batches(3), credit=32, **LONG)
    assert script.steps_before == [0, 1, 2, 3]


def test_what_is_old_does_not_wait_for_another_step(play):
    """Four milliseconds each: the fifth step would end 20 ms after the first."""
    script = play(setup(), *batches(8), credit=32, at_once=True, step_ns=4_000_000)
    waited = [after - number for number, after in enumerate(script.steps_before[1:], 1)]
    assert 1 <= max(waited) <= 5


@pytest.mark.parametrize(
    "last",
    [END, message("PARAMETERS", 50), message("PREDICT", 50, {"inputs": INPUTS})],
    ids=["END", "PARAMETERS", "PREDICT"],
)
def test_they_go_before_anything_else_is_answered(play, last):
    script = play(setup(), *batches(3), last, credit=32, **SHORT)
    assert [re for _, re in summary(script)] == [1, 2, 3, 4, 50]


def test_they_go_before_the_coordinator_ends_it_all(play):
    fatal = message("ERROR", 50, code="x", message="out of time", fatal=True)
    script = play(setup(), *batches(2), fatal, credit=32, **SHORT)
    assert summary(script) == [("READY", 1), ("RESULT", 2), ("RESULT", 3)]


def test_they_go_before_an_error(play):
    script = play(setup(), *batches(2), batch(9, labels=MISSING), batch(10), credit=32, **SHORT)
    assert summary(script) == [
        ("READY", 1),
        ("RESULT", 2),
        ("RESULT", 3),
        ("bad_frames", 9),
        ("RESULT", 10),
    ]


def test_what_fails_answers_for_itself(play):
    script = play(setup(), *batches(3), credit=32, failing="train_step", **SHORT)
    assert summary(script) == [("READY", 1), ("backend", 2), ("bad_state", 3), ("bad_state", 4)]


def test_who_has_a_batch_already_has_not_waited_for_it(play):
    script = play(setup(), *batches(4), credit=32, pause_ns=30_000_000, **SHORT)
    assert [result["wait_ns"] for result in script.said[2:]] == [0, 0, 0]


def test_what_can_not_be_read_keeps_its_place(play):
    broken = [b"\xc1"]
    script = play(setup(), batch(2), broken, batch(3), credit=32, **SHORT)
    kinds = [("READY", 1), ("RESULT", 2), ("bad_header", None), ("RESULT", 3)]
    assert summary(script) == kinds


def test_what_follows_another_message_is_taken_in_when_that_one_is_answered(play):
    """A WELCOME tells where arrays lie, and a SETUP what a BATCH is checked against."""
    script = play(setup(1), batch(2), batch(3), END, setup(4), batch(5), credit=32, **SHORT)
    kinds = ["READY", "RESULT", "RESULT", "ENDED", "READY", "RESULT"]
    assert [kind for kind, _ in summary(script)] == kinds
    assert script.left_before == [5, 2, 2, 2, 1, 0]


def test_no_more_than_32_are_taken_in_at_once(play):
    script = play(setup(), *batches(40), credit=2, **SHORT)
    assert script.left_before == [40, *([8] * 32), *([0] * 8)]


def test_a_message_that_can_not_be_read_ends_what_is_taken_in(play):
    script = play(setup(), batch(2), [b"\xc1"], batch(3), credit=2, **SHORT)
    assert script.left_before == [3, 1, 1, 0]
