"""Tables for people: in the terminal and as Markdown, from the same columns."""

from rosetta.report.columns import notes
from rosetta.report.markdown import markdown
from rosetta.report.terminal import table

__all__ = ["markdown", "notes", "table"]
