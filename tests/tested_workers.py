"""Which workers a run of the tests is about: `make test WORKERS=all`, or a few of them by name."""

from __future__ import annotations

import os

import pytest

from rosetta import environments
from rosetta.environments import EnvironmentStatus, EnvironmentUnavailable, NotInstalled
from rosetta.workers import Worker

VARIABLE = "ROSETTA_TEST_WORKERS"


def all_are_tested() -> bool:
    """Whether everything is, and not only the core or a few workers more."""
    asked = os.environ.get(VARIABLE)
    return asked is None or "all" in asked.split(",")


def needed(worker: Worker) -> EnvironmentStatus:
    """The environment of `worker`; the test is skipped where this run isn't about this worker.

    Where it is, an environment that Rosetta can't make is a failure. Without the variable (a file
    of tests that is run by hand) whatever has an environment is tested.
    """
    asked = os.environ.get(VARIABLE)
    names = {worker.name, worker.folder.name, worker.environment_name, "all"}
    if asked is not None and not names & set(asked.split(",")):
        pytest.skip(f"only in make test WORKERS={worker.folder.name} or WORKERS=all")
    if asked is None and not environments.status(worker).ready:
        pytest.skip(f"no environment: rosetta env create {worker.name}")
    try:
        return environments.ensure(worker)
    except NotInstalled as error:
        pytest.skip(str(error))
    except EnvironmentUnavailable as error:
        pytest.fail(str(error))
