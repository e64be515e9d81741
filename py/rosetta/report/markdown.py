"""`summary.md`."""

from __future__ import annotations

import re

from rosetta.errors import one_line
from rosetta.report.columns import Column, columns, notes, tasks_of, title
from rosetta.results import Row, Summary

_MARKUP = re.compile(r"[\\|`*\[\]~]|\b_|_\b")


def markdown(summary: Summary) -> str:
    """The summary as GitHub-flavoured Markdown: a table a task, and what must be known of them."""
    parts = [f"# Run {_escape(one_line(summary.run))}", f"State: {summary.state}."]
    for task in tasks_of(summary):
        rows = [row for row in summary.rows if row.task == task]
        parts += [f"## {_escape(title(summary, task))}", _table(rows, columns(summary, rows))]
    parts += [f"- {_escape(sentence)}" for sentence in notes(summary)]
    computed = _what_computes(summary)
    if computed:
        parts += ["## What computes", computed]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Row], shown: list[Column]) -> str:
    lines = [
        "| " + " | ".join(_escape(column.heading) for column in shown) + " |",
        "|" + "|".join("---:" if column.numeric else "---" for column in shown) + "|",
    ]
    for row in rows:
        lines.append("| " + " | ".join(_escape(column.text(row)) for column in shown) + " |")
    return "\n".join(lines)


def _what_computes(summary: Summary) -> str:
    """What each worker says of itself, an item each; of several tasks once, if it is the same."""
    said: dict[str, list[str]] = {}
    for row in summary.rows:
        if row.framework is None:
            continue
        language = f"{row.language} {row.language_version or ''}".strip()
        parts = [f"{row.framework} {row.framework_version or ''}".strip(), language]
        parts += [f"{name}: {text}" for name, text in sorted(row.forms.items())]
        parts += [f"{name}: {text}" for name, text in row.disclosures.items()]
        sentence = _escape(one_line("; ".join(parts)))
        lines = said.setdefault(row.worker, [])
        if sentence not in lines:
            lines.append(sentence)
    return "\n".join(f"- **{_escape(one_line(w))}**: {s}" for w, all_ in said.items() for s in all_)


def _escape(text: str) -> str:
    """Text that can't end a cell or start markup: reasons quote foreign programs."""
    safe = _MARKUP.sub(r"\\\g<0>", text)
    return safe.replace("&", "&amp;").replace("<", "&lt;")
