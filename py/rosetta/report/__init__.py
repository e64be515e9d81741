"""Tables and sentences for people: in the terminal and as Markdown, from the same columns."""

from rosetta.report.across import across, notes_of
from rosetta.report.columns import FIGURES, notes
from rosetta.report.finding import find, is_sweep, run_folders
from rosetta.report.markdown import details, markdown, tables
from rosetta.report.result_file import ResultFile, RunResult
from rosetta.report.sentences import sentences
from rosetta.report.terminal import across_table, table
from rosetta.report.under_way import under_way

__all__ = [
    "FIGURES",
    "ResultFile",
    "RunResult",
    "across",
    "across_table",
    "details",
    "find",
    "is_sweep",
    "markdown",
    "notes",
    "notes_of",
    "run_folders",
    "sentences",
    "table",
    "tables",
    "under_way",
]
