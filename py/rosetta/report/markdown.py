"""Tables as GitHub-flavoured Markdown, and `summary.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rosetta.errors import one_line
from rosetta.report.across import Across, Cell, across, notes_of
from rosetta.report.best import fastest
from rosetta.report.columns import Column, columns, notes, tasks_of, title
from rosetta.report.result_file import RunResult, result_of
from rosetta.report.sentences import sentences
from rosetta.results import Row, Run, Summary

_MARKUP = re.compile(r"[\\|`*\[\]~]|\b_|_\b")


def markdown(summary: Summary, run: Run | None = None) -> str:
    """`summary.md`: a table a task, what it says in sentences, and all the details."""
    result = result_of(summary.run, summary, run)
    parts = [f"# Run {_escape(one_line(summary.run))}", f"State: {summary.state}."]
    parts += _across_parts([result])
    parts += _list(sentences(summary))
    if summary.rows:
        parts.append("## Details")
    parts += _details_parts(summary)
    computed = _what_computes(summary)
    if computed:
        parts += ["## What computes", computed]
    return _joined(parts)


def tables(runs: Sequence[RunResult], figures: Sequence[str] = ()) -> str:
    """What `rosetta table` prints: a table a task, and what must be known of the runs."""
    return _joined([*_across_parts(runs, figures), *_list(notes_of(runs))])


def details(runs: Sequence[RunResult]) -> str:
    """Every run's tables with all their columns, one run after the other."""
    parts = []
    for result in runs:
        if len(runs) > 1:
            parts.append(f"## {_escape(one_line(result.name))}")
        parts += _details_parts(result.summary)
    return _joined(parts)


def _details_parts(summary: Summary) -> list[str]:
    parts = []
    for task in tasks_of(summary):
        rows = [row for row in summary.rows if row.task == task]
        best = fastest(rows, summary.baseline)
        parts += [f"**{_escape(title(summary, task))}**"]
        parts += [_table(rows, columns(summary, rows), best)]
    return parts + _list(notes(summary))


def _across_parts(runs: Sequence[RunResult], figures: Sequence[str] = ()) -> list[str]:
    parts = []
    for table in across(runs, figures):
        parts += [f"**{_escape(table.title)}**", _across_table(table), *_list(table.notes)]
    return parts


def _across_table(table: Across) -> str:
    head = [Cell("worker"), *map(Cell, table.headings)]
    lines = [_line(head), "|---|" + "---:|" * len(table.headings)]
    lines += [_line([Cell(name), *cells]) for name, cells in table.rows]
    return "\n".join(lines)


def _table(rows: Sequence[Row], shown: Sequence[Column], best: Row | None) -> str:
    lines = [
        _line([Cell(column.heading) for column in shown]),
        "|" + "|".join("---:" if column.numeric else "---" for column in shown) + "|",
    ]
    for row in rows:
        cells = (Cell(c.text(row), row is best and c.figure == "speed") for c in shown)
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: Iterable[Cell]) -> str:
    texts = (f"**{_escape(c.text)}**" if c.best else _escape(c.text) for c in cells)
    return "| " + " | ".join(texts) + " |"


def _list(said: Iterable[str]) -> list[str]:
    """As one part of a page; none where nothing is said."""
    items = [f"- {_escape(one_line(sentence))}" for sentence in said]
    return ["\n".join(items)] if items else []


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


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
