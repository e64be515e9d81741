"""Tasks: what is trained, on which data, with which optimiser, in which order."""

from rosetta.tasks.batches import Order
from rosetta.tasks.definition import Task, load, names, parameter_count
from rosetta.tasks.initial import initial_parameters

__all__ = ["Order", "Task", "initial_parameters", "load", "names", "parameter_count"]
