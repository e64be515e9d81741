"""A run: plan it, drive the sessions block by block, record what comes back."""

from rosetta.bench.plan import Plan, TaskPlan
from rosetta.bench.run import run

__all__ = ["Plan", "TaskPlan", "run"]
