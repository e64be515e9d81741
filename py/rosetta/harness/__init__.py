"""The harness benchmark: what Rosetta itself costs, measured like everything else.

A benchmark, not a test: it says how far the goals are met and never fails for it.
"""

from rosetta.harness.extent import FULL, PARTS, QUICK, Extent
from rosetta.harness.record import Harness
from rosetta.harness.run import Choices, run, with_environment

__all__ = ["FULL", "PARTS", "QUICK", "Choices", "Extent", "Harness", "run", "with_environment"]
