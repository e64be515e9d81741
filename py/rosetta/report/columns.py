"""The columns of every table, and the words in its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rosetta.errors import one_line
from rosetta.results import Row, Summary

MS = 1e6


@dataclass(frozen=True)
class Column:
    """A heading and the text of a row's cell."""

    heading: str
    cell: Callable[[Row], str]
    numeric: bool = True
    essential: bool = True
    """Shown on a narrow terminal too."""

    def text(self, row: Row) -> str:
        """A row's cell on one line, whatever foreign programs have put into it."""
        return one_line(self.cell(row))


def columns(summary: Summary, rows: Sequence[Row]) -> list[Column]:
    """The columns that hold something for one of `rows`, in order."""
    ratio = one_line(f"vs {summary.baseline}") if summary.baseline else "ratio"
    known = [
        Column("worker", _worker, numeric=False),
        Column("version", lambda row: row.framework_version or "", numeric=False, essential=False),
        Column("data", lambda row: row.data, numeric=False, essential=False),
        Column("samples/s", lambda row: _number(row.samples_per_s)),
        Column(ratio, _ratio),
        Column("step ms", _step),
        Column("copy ms", lambda row: _ms(row.copy_ns_median), essential=False),
        Column("wait ms", lambda row: _ms(row.wait_ns_median), essential=False),
        Column("cpu ms", lambda row: _ms(row.cpu_ns_per_step), essential=False),
        Column("of peak", _peak_share, essential=False),
        Column("first ms", lambda row: _ms(row.first_step_ns), essential=False),
        Column("memory MB", _memory, essential=False),
        Column("loss", lambda row: "" if row.final_loss is None else f"{row.final_loss:.4f}"),
        Column("accuracy", _accuracy),
        Column("status", _status, numeric=False),
    ]
    return [column for column in known if any(column.text(row) for row in rows)]


def tasks_of(summary: Summary) -> list[str]:
    """Task names in the order of the rows."""
    return list(dict.fromkeys(row.task for row in summary.rows))


def title(summary: Summary, task: str) -> str:
    """Heading of a task's table: the task, its data, and the sizes that all its rows share."""
    rows = [row for row in summary.rows if row.task == task]
    first = rows[0]
    steps = max(row.timed_steps // row.repeats for row in rows)
    repeats = max(row.repeats for row in rows)
    examined = {e.samples for row in rows for e in row.evaluations}
    parts = [
        f"batch {first.batch_size}",
        f"{repeats} × {steps} timed steps" if repeats > 1 else f"{steps} timed steps",
        f"{first.threads} threads",
        first.device,
        *(f"accuracy on {samples:,} test samples" for samples in sorted(examined)),
    ]
    return one_line(f"{task} on {first.data}: {', '.join(parts)}")


def notes(summary: Summary) -> list[str]:
    """What must be said beside the tables."""
    said = list(summary.notes)
    synthetic = [t for t in tasks_of(summary) if _is_synthetic(summary, t)]
    if synthetic:
        said.append(
            f"{', '.join(synthetic)}: synthetic data, made from a seed in the shapes of the real "
            "set; times can be compared, accuracies mean nothing outside this table"
        )
    if any(row.proof == "unproved" and row.status == "ok" for row in summary.rows):
        said.append("unproved: these rows have not been compared with the reference network")
    if summary.resumed:
        said.append(f"resumed after an interruption: {', '.join(summary.resumed)}")
    if summary.state == "interrupted":
        said.append(f"interrupted: {', '.join(summary.missing) or 'nothing'} not finished")
    if summary.state == "running":
        missing = ", ".join(summary.missing) or "nothing"
        said.append(f"running still, or its process was killed: {missing} not finished")
    return [one_line(sentence) for sentence in said]


def _is_synthetic(summary: Summary, task: str) -> bool:
    return any(row.data.startswith("synthetic") for row in summary.rows if row.task == task)


def _worker(row: Row) -> str:
    marks = [word for word, marked in (("harness", row.harness), ("tuned", row.tuned)) if marked]
    return f"{row.worker} ({', '.join(marks)})" if marks else row.worker


def _status(row: Row) -> str:
    if row.status == "ok":
        if row.proof == "different":
            return _because("not the same network", row.proof_detail)
        words = "same network" if row.proof == "same" else "ok, unproved"
        return f"{words} ({', '.join(row.unusual_forms)})" if row.unusual_forms else words
    return _because(row.status, row.reason)


def _because(words: str, reason: str | None) -> str:
    return f"{words}: {reason}" if reason else words


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return ""
    if row.ratio_interval is None:
        return f"{row.ratio:.2f}"
    low, high = row.ratio_interval
    return f"{row.ratio:.2f} ({low:.2f}-{high:.2f})"


def _step(row: Row) -> str:
    if row.step_ns_median is None:
        return ""
    return f"{_ms(row.step_ns_median)} ± {_ms(row.step_ns_mad)}"


def _peak_share(row: Row) -> str:
    return "" if row.peak_share is None else f"{100 * row.peak_share:.0f} %"


def _accuracy(row: Row) -> str:
    if row.accuracy is None:
        return ""
    return f"{row.accuracy:.3f}"


def _memory(row: Row) -> str:
    return "" if row.peak_memory_bytes is None else f"{row.peak_memory_bytes / 2**20:,.0f}"


def _ms(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return ""
    value = nanoseconds / MS
    return f"{value:,.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
