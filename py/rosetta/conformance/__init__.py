"""Conformance: whether a worker does what protocol/SPEC.md says, message by message."""

from rosetta.conformance.check import Outcome, Report
from rosetta.conformance.listing import listing
from rosetta.conformance.suite import CHECKS, conform, names
from rosetta.conformance.worker_under_test import Subject

__all__ = ["CHECKS", "Outcome", "Report", "Subject", "conform", "listing", "names"]
