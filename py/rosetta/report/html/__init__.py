"""`report.html`: everything about a run in one file that needs no network."""

from rosetta.report.html.write import html, write_or_say, write_report

__all__ = ["html", "write_or_say", "write_report"]
