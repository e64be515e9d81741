"""The crew of a ceiling: real `null` workers on each data plane."""

from __future__ import annotations

import pytest

import tested_workers
from rosetta import workers
from rosetta.coordinator.session import CREDIT
from rosetta.harness.ceiling import Size, batches_of
from rosetta.harness.crew import TURN, Crew


@pytest.fixture(autouse=True)
def _environment():
    tested_workers.needed(workers.get("null"))


@pytest.mark.parametrize(
    ("plane", "credit"),
    [("shm", CREDIT["shm"]), ("inline_ipc", CREDIT["inline"]), ("inline_tcp", CREDIT["inline"])],
)
def test_each_plane_has_its_own_credit_and_every_worker_gets_every_batch(plane, credit, tmp_path):
    """Where arrays travel, two are under way; where only headers do, a whole turn may be."""
    task, batches = batches_of(Size("mlp", 8))
    with Crew(plane, 2, scratch=tmp_path, log=tmp_path / "log") as crew:
        crew.setup(task)
        assert [session.credit for session in crew.sessions] == [credit, credit]
        assert crew.carry(batches, TURN + 3, 2) > 0
        values = [session.parameters() for session in crew.sessions]
        assert [*values[0]] == [*values[1]], "both are there afterwards"
        assert crew.carry(batches, 1, 1) > 0


def test_what_is_asked_for_is_had(tmp_path):
    with Crew("shm", 1, scratch=tmp_path, log=tmp_path / "log", credit=3) as crew:
        assert crew.sessions[0].credit == 3
