"""All checks as a table: what docs/conformance.md lists."""

from __future__ import annotations

from rosetta.conformance.suite import CHAPTERS


def listing() -> str:
    """A Markdown table of every check, chapter by chapter."""
    rows = ["| check | SPEC | what is expected |", "|---|---|---|"]
    for chapter in CHAPTERS:
        for check in chapter.checks:
            only = "" if check.required else " (recommended)"
            rows.append(f"| `{check.name}` | {check.section} | {check.expected}{only} |")
    return "\n".join(rows) + "\n"
