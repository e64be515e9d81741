"""`rosetta doctor`."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from rosetta import doctor
from rosetta.cli import options

_STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


def command() -> int:
    """Say what on this machine would spoil a benchmark, and what to do about it.

    Exit code 1 when there is a problem; warnings don't count.
    """
    table = Table(box=None, show_header=False)
    findings = doctor.examine()
    for finding in findings:
        style = _STYLES[finding.severity]
        table.add_row(
            f"[{style}]{finding.severity}[/]", escape(finding.subject), escape(finding.sentence)
        )
    options.output().print(table)
    return 1 if any(finding.severity == "problem" for finding in findings) else 0
