"""The numbers of a row, from canned steps."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from rosetta import tasks, workers
from rosetta.bench.participant import Participant, step_record
from rosetta.bench.plan import TaskPlan
from rosetta.bench.ratios import with_ratios
from rosetta.bench.schedule import phase
from rosetta.coordinator import WorkerFailureError
from rosetta.datasets import Dataset, Split
from rosetta.datasets.model import Source
from rosetta.protocol.messages import Ready, Result
from rosetta.results import Evaluation, Row

NULL = workers.get("null")
TORCH_LIKE = msgspec.structs.replace(NULL, name="torch", harness=False)
WARMUP = 2


def plan() -> TaskPlan:
    split = Split(np.zeros((64, 784), np.uint8), np.zeros(64, np.int32))
    data = Dataset("synthetic", split, split, 10, Source("synthetic", None, {}))
    return TaskPlan(
        task=tasks.load("mlp"),
        dataset=data,
        order=tasks.Order(64, 64, 1),
        steps=10,
        epochs=None,
        block=2,
        test_samples=64,
    )


def result(step: int, **more: Any) -> Result:
    fields = {"loss": 1.0, "wait_ns": 1, "copy_ns": 1, "step_ns": 1, **more}
    return Result(id=step, re=step, step=step, **fields)


def trained(*results: Result, worker: workers.Worker = TORCH_LIKE, block: int = 2) -> Participant:
    participant = Participant(worker)
    for given in results:
        record = step_record(
            "mlp",
            participant.name,
            given,
            block=given.step // block,
            phase=phase(given.step, WARMUP),
        )
        participant.add(record, given, opens_turn=given.step == 0)
    return participant


def row_of(participant: Participant) -> Row:
    return participant.row(plan(), "cpu", 2)


def test_only_timed_steps_are_in_the_times() -> None:
    """The first step and the warm-up take a second each; a timed one a few nanoseconds."""
    slow = [result(n, step_ns=10**9, copy_ns=10**8, wait_ns=10**7) for n in range(1 + WARMUP)]
    fast = [result(3 + n, step_ns=100 + n, copy_ns=10 + n, wait_ns=n) for n in range(5)]
    row = row_of(trained(*slow, *fast))
    assert (row.steps, row.timed_steps) == (8, 5)
    assert (row.step_ns_median, row.step_ns_mad) == (102, 1)
    assert (row.copy_ns_median, row.wait_ns_median) == (12, 2)
    assert row.first_step_ns == 10**9 + 10**8


def test_samples_per_second_count_copying_and_computing_but_no_waiting() -> None:
    steps = [result(n, copy_ns=2 * 10**6, step_ns=30 * 10**6, wait_ns=10**9) for n in range(8)]
    assert row_of(trained(*steps)).samples_per_s == pytest.approx(64 / 0.032)


def test_the_median_is_of_the_sums() -> None:
    """Not the sum of the medians: a step that is slow to copy may be quick to compute."""
    times = [(1, 100), (100, 1), (50, 60)]
    steps = [result(3 + n, copy_ns=c, step_ns=s) for n, (c, s) in enumerate(times)]
    assert row_of(trained(*steps)).samples_per_s == pytest.approx(64e9 / 101)


def test_without_a_timed_step_there_are_no_times() -> None:
    row = row_of(trained(result(0, step_ns=5), result(1)))
    assert (row.steps, row.timed_steps, row.first_step_ns) == (2, 0, 6)
    assert row.samples_per_s is row.step_ns_median is row.step_ns_mad is None
    assert row.wait_ns_median is row.copy_ns_median is None


def test_a_clock_that_saw_nothing_gives_no_speed() -> None:
    row = row_of(trained(*[result(n, copy_ns=0, step_ns=0) for n in range(9)]))
    assert row.step_ns_median == 0
    assert row.samples_per_s is None


def test_the_longest_times_that_the_protocol_allows_are_no_error() -> None:
    """A worker may send nonsense; it must not take the run down."""
    longest = 2**63 - 1
    steps = [result(n, copy_ns=longest, step_ns=longest, wait_ns=longest) for n in range(9)]
    participant = trained(*steps)
    row = row_of(participant)
    assert row.first_step_ns == 2 * longest
    assert row.samples_per_s == pytest.approx(64e9 / 2**64)
    assert msgspec.json.decode(msgspec.json.encode(row), type=Row) == row


def test_the_final_loss_is_that_of_the_last_step() -> None:
    losses = [2.0, 1.0, 0.5]
    assert row_of(trained(*[result(n, loss=x) for n, x in enumerate(losses)])).final_loss == 0.5


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_not_finite_is_none(loss: float) -> None:
    participant = trained(result(0), result(1, loss=loss))
    assert participant.final_loss is None
    record = step_record("mlp", "w", result(1, loss=loss), block=0, phase="timed")
    assert record.loss is None


def test_a_record_holds_what_the_worker_measured() -> None:
    measured = result(7, loss=0.5, wait_ns=1, copy_ns=2, step_ns=9, forward_ns=3, backward_ns=4)
    record = step_record("mlp", "torch", measured, block=3, phase="timed")
    assert (record.task, record.worker, record.step) == ("mlp", "torch", 7)
    assert (record.block, record.phase, record.loss) == (3, "timed", 0.5)
    assert (record.wait_ns, record.copy_ns, record.step_ns) == (1, 2, 9)
    assert (record.forward_ns, record.backward_ns) == (3, 4)


def test_a_worker_that_never_started_has_a_row() -> None:
    participant = Participant(TORCH_LIKE)
    participant.skipped("needs Python 3.9")
    row = row_of(participant)
    assert (row.status, row.reason) == ("skipped", "needs Python 3.9")
    assert (row.worker, row.task, row.data) == ("torch", "mlp", "synthetic")
    assert (row.device, row.threads, row.steps, row.batch_size) == ("cpu", 2, 0, 64)
    assert (row.language, row.framework) == ("python", None)
    assert not participant.running


@pytest.mark.parametrize("status", ["failed", "crashed", "timeout"])
def test_a_worker_that_failed_keeps_what_it_did(status: Any) -> None:
    participant = trained(*[result(n, step_ns=9) for n in range(6)])
    participant.failed(WorkerFailureError(status, "no such\nkernel\x1b[0m"))
    row = row_of(participant)
    assert (row.status, row.reason) == (status, "no such kernel")
    assert (row.steps, row.timed_steps, row.step_ns_median) == (6, 3, 9)


def test_a_worker_that_did_not_finish_is_interrupted() -> None:
    assert row_of(trained(result(0))).status == "interrupted"


def test_accuracy_is_that_of_the_last_evaluation() -> None:
    participant = trained(result(0))
    for after, accuracy in ((10, 0.5), (20, 0.75)):
        participant.evaluations.append(Evaluation(after_step=after, samples=64, accuracy=accuracy))
    row = row_of(participant)
    assert row.accuracy == 0.75
    assert [e.after_step for e in row.evaluations] == [10, 20]


def test_threads_and_setup_are_those_that_the_worker_reports() -> None:
    participant = Participant(TORCH_LIKE)
    participant.ready = Ready(id=1, re=1, parameter_count=0, parameters=[], threads=7, setup_ns=123)
    row = row_of(participant)
    assert (row.threads, row.setup_ns) == (7, 123)


def test_the_harness_is_marked() -> None:
    assert row_of(Participant(NULL)).harness
    assert not row_of(Participant(TORCH_LIKE)).harness


def test_nonsense_times_get_a_ratio_like_any_other() -> None:
    quick = trained(*[result(n, copy_ns=0, step_ns=0) for n in range(12)])
    quick.status = "ok"
    assert with_ratios([row_of(quick)], [quick], "torch")[0].ratio == 1.0


def test_the_first_step_is_the_median_of_the_repeats() -> None:
    participant = Participant(TORCH_LIKE)
    for repeat, time in enumerate((900, 500, 700), 1):
        given = result(0, step_ns=time, copy_ns=0)
        record = step_record("mlp", "torch", given, block=0, phase="first", repeat=repeat)
        participant.add(record, given, opens_turn=True)
    assert row_of(participant).first_step_ns == 700


def test_accuracy_is_that_of_the_last_repeat() -> None:
    participant = Participant(TORCH_LIKE)
    for accuracy in (0.25, 0.5):
        participant.begins()
        participant.evaluations.append(Evaluation(after_step=9, samples=64, accuracy=accuracy))
        participant.ends()
    assert [e.accuracy for e in row_of(participant).evaluations] == [0.5]
