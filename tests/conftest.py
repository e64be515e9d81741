"""What tests of several packages share."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

import quiet
import tested_workers
from julia_worker import julia_process
from rosetta.datasets import DIRECTORY_VARIABLE


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "exhaustive: long, or many repetitions of one thing; only with WORKERS=all"
    )
    config.addinivalue_line("markers", "alone: looks at a clock; no other test runs meanwhile")
    if os.environ.get(DIRECTORY_VARIABLE):  # tests start programs in folders of their own
        named = os.environ[DIRECTORY_VARIABLE].split(os.pathsep)
        os.environ[DIRECTORY_VARIABLE] = os.pathsep.join(str(Path(n).absolute()) for n in named)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What waits here has not begun: no timeout runs."""
    with quiet.room(alone=item.get_closest_marker("alone") is not None):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if tested_workers.all_are_tested():
        return
    skip = pytest.mark.skip(reason="long, or many repetitions: only in make test WORKERS=all")
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def julia() -> str:
    """Path of a Julia; without one, the test is skipped."""
    found = julia_process.find()
    if found is None:
        pytest.skip("no Julia: neither JULIA nor the PATH names one, and Rosetta has made none")
    return found


@pytest.fixture(scope="session")
def driver(julia: str) -> Iterator[julia_process.Driver]:
    """The Julia runtime in one process, for all tests."""
    driver = julia_process.Driver(julia)
    yield driver
    driver.stop()
