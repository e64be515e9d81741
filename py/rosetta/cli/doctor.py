"""`rosetta doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from rosetta import doctor
from rosetta.cli import as_json, options

_STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


def command(json: as_json.Option = False) -> int:
    """Say what on this machine would spoil a benchmark, and what to do about it.

    Exit code 1 when there is a problem; warnings don't count.

    --json prints a list of {severity, subject, sentence}.
    """
    findings = doctor.examine()
    if json:
        as_json.write(findings)
    else:
        _show(findings)
    return 1 if any(finding.severity == "problem" for finding in findings) else 0


def _show(findings: Sequence[doctor.Finding]) -> None:
    table = Table(box=None, show_header=False)
    for finding in findings:
        style = _STYLES[finding.severity]
        table.add_row(
            f"[{style}]{finding.severity}[/]", escape(finding.subject), escape(finding.sentence)
        )
    options.output().print(table)
