"""A worker's real process that has joined, and what every worker that is right must then do.

A worker's own test file inherits from `RightTasks` and `RightWorker`, and provides the fixture
`session`.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

import rosetta_reference
from rosetta import datasets, environments, tasks, workers
from rosetta.bench.launch import launch, variables
from rosetta.conformance.small import sensitive_parameters, small
from rosetta.coordinator import Deadlines, Router, Session, WorkerFailureError, prepare_batch
from rosetta.datasets import Split
from rosetta.proof import prove
from rosetta.tasks import Task
from rosetta.tasks.forms import complete
from rosetta.workers import PY_FOLDER, Worker

Parameters = dict[str, NDArray[np.float32]]


@contextlib.contextmanager
def joined(worker: Worker, folder: Path, *, device: str = "cpu") -> Iterator[Session]:
    """`worker`, started as a bench starts it, with its files in `folder`, and greeted."""
    router = Router()
    session = Session(router, worker.name, "test", device=device, deadlines=Deadlines(start=300))
    try:
        started = time.monotonic()
        launch(session, worker, name=worker.name, scratch=folder, log=folder / "log")
        session.await_hello(started)
        yield session
    finally:
        session.close()
        router.close()


@contextlib.contextmanager
def set_up(
    session: Session, task: Task, *, seed: int = 1, dropout: bool = False
) -> Iterator[Parameters]:
    """`task` under way in `session`; gives its initial parameters, with biases that are not 0."""
    parameters = sensitive_parameters(task)
    session.setup(task, parameters, seed=seed, dropout=dropout)
    yield parameters
    session.end()


def check_that_parameters_come_back(session: Session, task: Task) -> None:
    """To the bit, in the task's order."""
    with set_up(session, task) as parameters:
        found = session.parameters()
    assert list(found) == [p.name for p in task.parameters]
    for name, values in parameters.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def check_predictions(session: Session, task: Task) -> None:
    """They are the reference's, for any number of samples, and change nothing."""
    data = datasets.load("synthetic", task=task.to_wire()).train
    with set_up(session, task) as parameters:
        reference = rosetta_reference.Network(task.to_wire(), parameters, dropout=False)
        for size in (1, 7):
            (logits,) = session.predict([data.inputs[:size]], task.classes)
            expected = reference.predict(data.inputs[:size])
            assert logits.shape == (size, task.classes)
            np.testing.assert_allclose(logits, expected, atol=2e-6 * np.abs(expected).max())
        check_equal(session.parameters(), parameters)


def check_training(session: Session, task: Task) -> None:
    """Losses are the reference's, with batches of any size and a learning rate that changes."""
    data = datasets.load("synthetic", task=task.to_wire()).train
    rows = [slice(0, 5), slice(5, 6), slice(6, 18)]
    rates = [None, 3 * task.optimiser.learning_rate, None]
    with set_up(session, task) as parameters:
        assert session.hello is not None
        forms = complete(session.hello.forms)
        reference = rosetta_reference.Network(
            task.to_wire(),
            parameters,
            dropout=False,
            adam_form=forms["adam"],
            momentum_form=forms["momentum"],
        )
        found = train(session, data, rows, rates)
        for row, rate, loss in zip(rows, rates, found, strict=True):
            if rate is not None:
                reference.set_learning_rate(rate)
            expected = reference.train_step(data.inputs[row], data.labels[row])
            assert loss == pytest.approx(expected, rel=2e-5)
        trained = session.parameters()
    for name, values in trained.items():
        assert (values != parameters[name]).any(), name


def check_dropout(session: Session, task: Task) -> None:
    """Its masks come from the seed, and there are none without it."""
    data = datasets.load("synthetic", task=task.to_wire()).train
    losses = []
    for seed, dropout in ((1, True), (1, True), (2, True), (1, False)):
        with set_up(session, task, seed=seed, dropout=dropout):
            losses += train(session, data, [slice(0, 8)], [None])
    assert losses[0] == losses[1]
    assert len(set(losses)) == 3


def check_proof(session: Session, task: Task) -> None:
    """It is the same network. Small networks' steps are too short to look at its clock."""
    verdict = prove(session, task, clock=False)
    assert verdict.same, verdict.first_failure or verdict.unproved


def check_unknown_task(session: Session, task: Task) -> None:
    """It is refused, and the worker goes on."""
    stranger = msgspec.structs.replace(task, name="stranger")
    with pytest.raises(WorkerFailureError, match="no task") as caught:
        session.setup(stranger, tasks.initial_parameters(task, 3), seed=1, dropout=False)
    assert caught.value.status == "failed"
    check_that_parameters_come_back(session, task)


NO_DEVICES = ["cuda:99", "cuda:-1", "cuda:", "cudafoo", "gpu", "tpu", "cpu:0", "CPU", ""]

_REFUSALS = """\
import json, sys
from rosetta_worker import backends

backend = backends.load(sys.argv[1])
for arguments in json.load(sys.stdin):
    try:
        backend.start(*arguments)
    except ValueError as error:
        print("refused:", json.dumps(str(error)))
    else:
        print("refused:", json.dumps(None))
"""


def refusals(worker: Worker, starts: list[list[object]]) -> list[str | None]:
    """What a Python backend's `start` refuses each of these arguments with; None: it starts.

    In one process for all of them, since importing a framework takes seconds.
    """
    interpreter = environments.status(worker).interpreter
    assert interpreter is not None
    done = subprocess.run(
        [interpreter, "-c", _REFUSALS, worker.folder],
        input=json.dumps(starts),
        env={**variables(1, worker), "PYTHONPATH": str(PY_FOLDER)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition("refused: ")[2] for line in done.stdout.splitlines()]
    return [json.loads(line) for line in lines if line]


def check_devices(worker: Worker) -> None:
    """What is neither `cpu` nor a GPU that is there is refused, in one sentence that names it."""
    variant = [worker.variant] if worker.variant else []
    found = refusals(worker, [[device, 1, *variant] for device in NO_DEVICES])
    for device, sentence in zip(NO_DEVICES, found, strict=True):
        assert sentence is not None, device
        assert sentence.startswith(f"device {device!r} is not available: "), sentence
        assert "\n" not in sentence


def check_variants(worker: Worker, known: list[str]) -> None:
    """Any other is refused, in one sentence that says which there are."""
    (sentence,) = refusals(worker, [["cpu", 1, "theano"]])
    assert sentence == f"no variant 'theano'; there are: {', '.join(known)}"


IDLE_S = 5.0


def check_sleep(session: Session, task: Task) -> None:
    """All workers are alive while one computes: between batches it takes under 1 % of a core."""
    data = datasets.load("synthetic", task=task.to_wire()).train
    with set_up(session, task):
        train(session, data, [slice(0, 64)] * 3, [None] * 3)
        assert session.process is not None
        time.sleep(0.5)  # what the step has left behind may be put away
        before = _processor_time(session.process.pid)
        time.sleep(IDLE_S)
        assert _processor_time(session.process.pid) - before < 0.01 * IDLE_S


def _processor_time(pid: int) -> float:
    """Seconds that a process and all that it has started have computed."""
    process = psutil.Process(pid)
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def train(
    session: Session, data: Split, rows: list[slice], rates: list[float | None]
) -> list[float]:
    """The losses of steps on these `rows` of `data`, each with its learning rate if it has one."""
    losses: list[float] = []
    session.train(
        [
            prepare_batch(session.router.next_id(), step, data.inputs[row], data.labels[row], rate)
            for step, (row, rate) in enumerate(zip(rows, rates, strict=True))
        ],
        lambda result: losses.append(result.loss),
    )
    return losses


def check_equal(found: Parameters, expected: Parameters) -> None:
    """The same arrays under the same names."""
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("name", ["mlp", "cnn", "gru"])
class RightTasks:
    """On the small network of each task."""

    def test_parameters_come_back_as_they_were_sent(self, session, name):
        check_that_parameters_come_back(session, small(name))

    def test_predictions_are_the_reference_s(self, session, name):
        check_predictions(session, small(name))

    def test_training_is_the_reference_s_with_batches_of_any_size(self, session, name):
        check_training(session, small(name))

    def test_it_is_proved(self, session, name):
        check_proof(session, small(name))


class RightWorker:
    """What isn't about one task."""

    def test_dropout_and_its_seed_are_obeyed(self, session):
        check_dropout(session, small("cnn"))

    def test_an_unknown_task_is_refused(self, session):
        check_unknown_task(session, small("mlp"))

    def test_it_sleeps_between_batches(self, session):
        check_sleep(session, small("cnn"))

    @pytest.mark.parametrize("device", ["cuda:99", "tpu"])
    def test_a_device_that_is_not_there_skips_the_worker(self, session, device, tmp_path):
        with (
            pytest.raises(WorkerFailureError, match=device) as caught,
            joined(workers.get(session.name), tmp_path, device=device),
        ):
            pass
        assert caught.value.status == "skipped"
