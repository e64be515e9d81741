"""What tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from julia_worker import julia_process


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
