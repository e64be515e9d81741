"""What a run leaves behind: its directory, its rows, and the numbers in them."""

from rosetta.results.directory import RunDirectory, read_run, read_summary
from rosetta.results.records import Evaluation, Phase, Row, Run, Step, Summary
from rosetta.results.statistics import Ratio, median_and_mad, quantile, ratio_of_blocks

__all__ = [
    "Evaluation",
    "Phase",
    "Ratio",
    "Row",
    "Run",
    "RunDirectory",
    "Step",
    "Summary",
    "median_and_mad",
    "quantile",
    "ratio_of_blocks",
    "read_run",
    "read_summary",
]
