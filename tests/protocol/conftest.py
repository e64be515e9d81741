"""What the tests of golden tapes share."""

from __future__ import annotations

import pytest

from protocol import doctored
from protocol.doctored import Play, play_in_python


@pytest.fixture(params=["python", "julia"])
def play(request: pytest.FixtureRequest) -> Play:
    """Runs the worker of each runtime from a tape: `numpy` and plain Julia."""
    if request.param == "python":
        return play_in_python
    driver = request.getfixturevalue("driver")
    return lambda tape: doctored.play_in_julia(driver, tape)
