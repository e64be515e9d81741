"""The proof: whether a worker's network is the reference's, before anything is timed."""

from rosetta.proof.measure import Measurement, Verdict
from rosetta.proof.prove import prove

__all__ = ["Measurement", "Verdict", "prove"]
