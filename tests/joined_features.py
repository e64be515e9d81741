"""What every worker that is right must do with a task that goes forward only: see `joined`."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from joined import check_proof, check_that_parameters_come_back, set_up
from rosetta.conformance.small import sensitive_parameters, small
from rosetta.coordinator import Session, WorkerFailureError, prepare_batch
from rosetta.proof.script import draw
from rosetta.tasks import Task


class RightFeatures:
    """On a thin ResNet-50, which goes forward only."""

    def test_parameters_come_back_as_they_were_sent(self, session):
        check_that_parameters_come_back(session, small("resnet50"))

    def test_features_are_the_reference_s_and_it_is_proved(self, session):
        check_proof(session, small("resnet50"))

    def test_it_is_trained_by_nobody(self, session):
        check_that_it_is_not_trained(session, small("resnet50"))

    def test_batch_norm_and_strides_are_the_task_s(self, session):
        check_that_another_resnet_is_refused(session, small("resnet50"))


def check_that_it_is_not_trained(session: Session, task: Task) -> None:
    """A BATCH is refused, and the worker goes on."""
    inputs, labels = draw(task, np.random.default_rng(1), 2)
    with set_up(session, task):
        batch = prepare_batch(session.router.next_id(), 0, inputs, labels)
        with pytest.raises(WorkerFailureError, match="forward only"):
            session.train([batch], lambda result: None)


def check_that_another_resnet_is_refused(session: Session, task: Task) -> None:
    """With the stride in another place, or another epsilon, it would be another network."""
    for name, key, value in (
        ("bn1", "epsilon", 1e-3),
        ("pool1", "padding", 0),
        ("layer2.0", "stride", 1),
        ("layer1.1", "projection", True),
    ):
        content = task.to_wire()
        (layer,) = (layer for layer in content["layers"] if layer["name"] == name)
        layer[key] = value
        other = msgspec.convert(content, Task)
        with pytest.raises(WorkerFailureError, match=f"{name} has {key} = "):
            session.setup(other, sensitive_parameters(task), seed=1, dropout=False)
