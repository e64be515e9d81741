"""Every check fails for a worker that is wrong in the one way that the check is about."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rosetta.conformance import CHECKS, Report, Subject, conform
from rosetta.coordinator import Deadlines

pytestmark = pytest.mark.exhaustive

WRONG = Path(__file__).with_name("wrong")
OF_THE_PROOF = Path(__file__).parents[1] / "proof" / "wrong"
PATIENT = Deadlines(start=90, setup=60, first_step=60, step=60, end=30)
IMPATIENT = Deadlines(start=90, setup=60, first_step=5, step=5, end=5)

# What is said where the message is refused that the check makes.
REFUSED = [
    check.name
    for check in CHECKS
    if check.expected.startswith("ERROR")
    and check.name not in ("planes.shm_not_there", "errors.other_gru")
]

CAUGHT = [
    # behaviour, the checks that catch it, what came
    ("has another key", "greeting.hello", "exited with 1"),
    ("speaks protocol 2", "greeting.hello", "protocol 2.0 is not spoken here"),
    ("says something before HELLO", "greeting.hello", "isn't a HELLO"),
    ("computes with other threads", "greeting.conditions", "7 threads where"),
    ("leaves with status 3 without a word", "greeting.conditions", "not a word"),
    ("has not inline", "greeting.planes", "planes ['shm']"),
    ("has float16", "greeting.dtypes", "float16"),
    ("has no routing id", "greeting.routing_id", "none"),
    ("has a short routing id", "greeting.routing_id_length", "2 bytes"),
    ("needs no WELCOME", "greeting.before_welcome", "READY"),
    ("dies of a strange WELCOME", "greeting.welcome", "exited with 7"),
    ("answers WELCOME", "greeting.welcome", "ENDED"),
    ("leaves with status 0", "greeting.refused endings.fatal", "status 0"),
    ("leaves without a word", "greeting.refused greeting.other_major", "not a word"),
    ("takes any connection file", "greeting.other_major greeting.missing_key", "HELLO"),
    ("has every device", "greeting.no_device", "HELLO"),
    ("leaves for keys", "greeting.encrypted", "status 0, not status 1"),
    ("counts wrongly", "training.mlp.ready", "parameter_count 827, not 826"),
    ("forgets a parameter", "training.gru.ready", "6 of 7 parameters"),
    ("claims other threads when ready", "training.mlp.ready", "7 threads, not 1"),
    ("rounds its values", "training.mlp.values training.gru.values", "has other values"),
    ("predicts in float64", "training.mlp.predictions", "logits float64"),
    ("predicts with dropout", "training.mlp.predictions", "other logits for the same"),
    ("predictions train", "training.mlp.predictions", "after PREDICT"),
    ("loses the loss", "training.mlp.results", "loss nan"),
    ("counts the steps itself", "training.mlp.numbered", "for the BATCH of step"),
    ("ignores END", "training.mlp.end", "RESULT"),
    ("goes on with its steps", "training.mlp.again", "losses 4, 5, 6 where 1, 2, 3 came first"),
    ("remembers its values", "training.mlp.again", "has other values"),
    ("has no seed", "training.seed", "losses 0."),
    ("dies of unknown keys", "headers.unknown_keys", "exited with 7"),
    ("dies of unknown types", "headers.unknown_types", "exited with 7"),
    ("answers unknown types", "headers.unknown_types", "ERROR unknown_type"),
    ("knows short forms only", "headers.widths", "ERROR bad_header"),
    ("has lower bounds", "headers.largest headers.most_frames", "ERROR bad_"),
    ("has higher bounds", "headers.too_deep headers.too_large headers.too_many_frames", "VALUES"),
    ("dies of what is wrong", " ".join(REFUSED), "exited with 7"),
    ("dies of what is wrong", "errors.other_gru planes.shm_not_there", "exited with 7"),
    ("has other codes", "headers.no_id errors.unknown_dtype", "ERROR oops"),
    ("has fatal errors", "headers.no_id errors.array_twice errors.setup_twice", "fatal"),
    ("does not say what was wrong", "errors.array_twice errors.no_task", "re "),
    ("trains on what it refuses", "errors.large_label planes.not_agreed", "has other values"),
    ("checks nothing", "errors.large_label errors.no_samples errors.large_token", "RESULT"),
    ("loses its network when something is wrong", "errors.nine_axes", "ERROR bad_state"),
    ("answers ERROR", "errors.from_coordinator", "ENDED"),
    ("answers twice", "credit.one credit.two credit.many credit.mixed", "RESULT re"),
    ("sends values of later", "credit.values", "other values than before the steps"),
    ("answers out of order", "credit.two credit.many credit.mixed", "was due"),
    ("reads the next place", "planes.shm", "other logits"),
    ("keeps what was shared", "planes.shm_reused", "isn't there any more"),
    ("keeps the parameters where they were", "planes.shm_parameters", "aren't what SETUP told"),
    ("times too much", "numbers.times", "of which only"),
    ("does not time the wait", "numbers.times", "wait_ns 0"),
    ("writes long waits as floats", "numbers.long_wait", "Expected `int`, got `float`"),
    ("counts in 32 bits", "numbers.long_wait", "wait_ns "),
    ("has parts that are longer", "numbers.times", "forward_ns and backward_ns"),
    ("none", "numbers.mlp.any_size", "whose logits make"),
    ("keeps its learning rate", "numbers.mlp.rate_zero", "has other values"),
    ("none", "numbers.mlp.proof numbers.mlp.full_proof", "logits"),
    ("leaves with status 5", "endings.bye endings.bye_idle", "status 5, not status 0"),
    ("leaves a child", "endings.nothing_left", "(sleep 60)"),
    ("leaves a daemon", "endings.nothing_left", "(sleep 60)"),
    ("leaves a file", "endings.nothing_left", "file core in its working folder"),
    ("leaves a socket", "endings.nothing_left", "socket here in its working folder"),
    ("leaves shared memory", "endings.nothing_left", "shared memory /dev/shm/rosetta-test"),
    ("heeds no SIGTERM", "endings.sigterm", "still runs"),
    ("leaves when its connection breaks", "endings.coordinator_gone", "it didn't wait"),
    ("leaves when its connection breaks", "endings.reconnection", "exited with 1"),
    ("greets anew", "endings.reconnection", "broke the protocol"),
    ("numbers nothing", "endings.ids", "id 0 twice"),
]

# Nothing comes, and for that one has to wait.
MISSED = [
    ("stays after REFUSE", "greeting.refused", "still runs"),
    ("never answers END", "training.mlp.end", "no ENDED re"),
    ("takes small frames only", "planes.large", "no PREDICTIONS re"),
    ("takes any shared memory", "planes.shm_not_there", "no ERROR re"),
    ("does not answer BYE", "endings.bye endings.bye_idle", "exited with 0"),
    ("stays after BYE", "endings.bye endings.bye_idle", "still runs"),
    ("heeds no fatal ERROR", "endings.fatal", "still runs"),
    ("has no routing id", "endings.reconnection", "still runs"),
    ("outlives its coordinator", "endings.coordinator_gone", "still runs"),
    ("keeps the last answers back", "credit.one credit.two", "no RESULT within"),
    ("hangs in a step", "training.mlp.results", "no RESULT re"),
    ("hangs in a step", "endings.deadlines", "no answer in time in training.mlp.results"),
]

WRONG_NETWORKS = [
    # what is wrong in tests/rosetta/proof/wrong, the check that catches it, what came
    ("a bias missing", "numbers.mlp.proof", "logits"),
    ("a bias missing", "numbers.gru.proof", "logits"),
    ("no dropout", "numbers.cnn.proof", "repeats of one batch"),
    ("loss summed", "numbers.mlp.any_size", "whose logits make"),
    ("clock stopped early", "numbers.clock", "gone after a pause"),
]


def subject(behaviour: str, deadlines: Deadlines = PATIENT) -> Subject:
    argv = [sys.executable, str(WRONG), behaviour, "{connection_file}"]
    return Subject(argv, dict(os.environ), deadlines=deadlines)


def asked(names: str) -> Callable[[str], bool]:
    """These checks, and what those among them need that look back."""
    wanted = set(names.split())
    if wanted & {"endings.deadlines", "endings.ids"}:
        wanted.add("training.mlp.results")
    return lambda name: name in wanted


def check_caught(report: Report, names: str, came: str) -> None:
    """All of these checks are red, and say so."""
    found = {outcome.name: outcome for outcome in report.checks}
    for name in names.split():
        assert found[name].status == "wrong", found[name]
        assert came in found[name].came, found[name]


@pytest.fixture(autouse=True)
def _shared_memory() -> Iterator[None]:
    """What the worker that leaves it behind leaves behind."""
    yield
    Path("/dev/shm", f"rosetta-test-{os.getpid()}").unlink(missing_ok=True)


@pytest.mark.parametrize(("behaviour", "names", "came"), CAUGHT)
def test_a_check_fails_for_who_is_wrong(behaviour, names, came):
    report = conform(subject(behaviour), only=asked(names), full=True)
    check_caught(report, names, came)
    recommended = all(not o.required for o in report.checks if o.status == "wrong")
    assert report.passed is recommended


@pytest.mark.parametrize(("behaviour", "names", "came"), MISSED)
def test_a_check_fails_for_who_says_nothing(behaviour, names, came):
    report = conform(subject(behaviour, IMPATIENT), only=asked(names))
    check_caught(report, names, came)
    assert not report.passed


@pytest.mark.parametrize(("wrong", "name", "came"), WRONG_NETWORKS)
def test_a_check_fails_for_another_network(wrong, name, came):
    argv = [sys.executable, "-m", "rosetta_worker", str(OF_THE_PROOF), "--connect"]
    variables = {**os.environ, "ROSETTA_WRONG": wrong, "OPENBLAS_NUM_THREADS": "1"}
    report = conform(Subject(argv, variables, deadlines=PATIENT), only=asked(name))
    check_caught(report, name, came)


def test_every_check_is_in_one_of_these_tables():
    listed = " ".join(names for _, names, _ in [*CAUGHT, *MISSED, *WRONG_NETWORKS]).split()
    general = {name.replace(".mlp.", ".TASK.") for name in listed}
    assert {check.name for check in CHECKS} <= general
