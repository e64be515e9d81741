"""The columns of every table, and the words in its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rosetta.errors import one_line
from rosetta.results import Row, Summary

MS = 1e6
FIGURES = ("speed", "ratio", "step", "first", "memory", "peak", "loss", "accuracy")


@dataclass(frozen=True)
class Column:
    """A heading and the text of a row's cell."""

    heading: str
    cell: Callable[[Row], str]
    numeric: bool = True
    rank: int = 0
    """0: always shown; the higher it is, the sooner a narrow terminal goes without it."""
    figure: str = ""
    """Its name where it can stand in a table of several runs: one of `FIGURES`."""

    def text(self, row: Row) -> str:
        """A row's cell on one line, whatever foreign programs have put into it."""
        return one_line(self.cell(row))


def columns(summary: Summary, rows: Sequence[Row]) -> list[Column]:
    """The columns that hold something for one of a task's `rows`, in order."""
    known = all_columns(summary, rows)
    return [column for column in known if any(column.text(row) for row in rows)]


def all_columns(summary: Summary, rows: Sequence[Row]) -> list[Column]:
    """The columns that a task of this kind can have."""
    forward = any(row.forward_only for row in rows)
    return _forward_columns(summary) if forward else _training_columns(summary)


def _training_columns(summary: Summary) -> list[Column]:
    return [
        Column("worker", worker_words, numeric=False),
        Column("version", _version, numeric=False, rank=7),
        Column("data", lambda row: row.data, numeric=False, rank=9),
        Column("samples/s", _speed, figure="speed"),
        Column(ratio_heading(summary), _ratio, figure="ratio"),
        Column("step ms", _step, figure="step"),
        Column("copy ms", lambda row: _ms(row.copy_ns_median), rank=5),
        Column("wait ms", lambda row: _ms(row.wait_ns_median), rank=8),
        Column("cpu ms", lambda row: _ms(row.cpu_ns_per_step), rank=6),
        Column("of peak", _peak_share, rank=4, figure="peak"),
        Column("first ms", lambda row: _ms(row.first_step_ns), rank=3, figure="first"),
        Column("memory MB", _memory, rank=3, figure="memory"),
        Column("device MB", _device_memory, rank=3),
        Column(
            "loss",
            lambda row: "" if row.final_loss is None else f"{row.final_loss:.4f}",
            rank=2,
            figure="loss",
        ),
        Column("accuracy", _accuracy, rank=1, figure="accuracy"),
        Column("status", status_words, numeric=False),
    ]


def _forward_columns(summary: Summary) -> list[Column]:
    """Of a task that trains nothing: there is no loss and no accuracy."""
    return [
        Column("worker", worker_words, numeric=False),
        Column("version", _version, numeric=False, rank=7),
        Column("data", lambda row: row.data, numeric=False, rank=9),
        Column("images/s", _speed, figure="speed"),
        Column(ratio_heading(summary), _ratio, figure="ratio"),
        Column("s per 1000 images", _per_thousand, rank=1, figure="step"),
        Column("first batch ms", lambda row: _ms(row.first_step_ns), rank=3, figure="first"),
        Column("peak memory MB", _memory, rank=2, figure="memory"),
        Column("device MB", _device_memory, rank=3),
        Column("of peak", _peak_share, rank=4, figure="peak"),
        Column("status", status_words, numeric=False),
    ]


def ratio_heading(summary: Summary) -> str:
    """What the ratios refer to."""
    return one_line(f"vs {summary.baseline}") if summary.baseline else "ratio"


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
    timed = "timed batches" if any(row.forward_only for row in rows) else "timed steps"
    parts = [
        f"batch {first.batch_size}",
        f"{repeats} × {steps} {timed}" if repeats > 1 else f"{steps} {timed}",
        f"{first.threads} thread{'s' * (first.threads != 1)}",
        first.device,
        *(f"accuracy on {samples:,} test samples" for samples in sorted(examined)),
    ]
    return one_line(f"{task} on {first.data}: {', '.join(parts)}")


def notes(summary: Summary) -> list[str]:
    """What must be said beside the tables."""
    said = list(summary.notes)
    if summary.unwritten:
        said.append(summary.unwritten)
    synthetic = [row for row in summary.rows if row.data.startswith("synthetic")]
    trained = dict.fromkeys(row.task for row in synthetic if not row.forward_only)
    if trained:
        said.append(
            f"{', '.join(trained)}: synthetic data, made from a seed in the shapes of the real "
            "set; times can be compared, accuracies mean nothing outside this table"
        )
    forward = dict.fromkeys(row.task for row in synthetic if row.task not in trained)
    if forward:
        said.append(
            f"{', '.join(forward)}: synthetic data, made from a seed in the shapes of the real "
            "set; times can be compared"
        )
    if any(
        row.proof == "unproved" and row.status == "ok" and not row.harness for row in summary.rows
    ):
        said.append("unproved: these rows have not been compared with the reference network")
    if summary.resumed:
        said.append(f"resumed after an interruption: {', '.join(summary.resumed)}")
    if summary.state == "interrupted":
        said.append(f"interrupted: {', '.join(summary.missing) or 'nothing'} not finished")
    if summary.state == "running":
        missing = ", ".join(summary.missing) or "nothing"
        said.append(f"running still, or its process was killed: {missing} not finished")
    return [one_line(sentence) for sentence in said]


def worker_words(row: Row) -> str:
    """The worker, and what it is besides a framework's own idiom."""
    marks = [word for word, marked in (("harness", row.harness), ("tuned", row.tuned)) if marked]
    return f"{row.worker} ({', '.join(marks)})" if marks else row.worker


def status_words(row: Row) -> str:
    """What became of the row, with the reason."""
    if row.status == "ok":
        if row.proof == "different":
            return _because("not the same network", row.proof_detail)
        words = "same network" if row.proof == "same" else "ok, unproved"
        return f"{words} ({', '.join(row.unusual_forms)})" if row.unusual_forms else words
    return _because(row.status, row.reason)


def _version(row: Row) -> str:
    return row.framework_version or ""


def _speed(row: Row) -> str:
    return _number(row.samples_per_s)


def _per_thousand(row: Row) -> str:
    if not row.samples_per_s:
        return ""
    seconds = 1000 / row.samples_per_s
    return (
        f"{seconds:,.1f}"
        if seconds >= 10
        else f"{seconds:.2f}"
        if seconds >= 1
        else f"{seconds:.3f}"
    )


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
    return _megabytes(row.peak_memory_bytes)


def _device_memory(row: Row) -> str:
    return _megabytes(row.peak_device_memory_bytes)


def _megabytes(size_bytes: int | None) -> str:
    return "" if size_bytes is None else f"{size_bytes / 2**20:,.0f}"


def _ms(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return ""
    value = nanoseconds / MS
    return f"{value:,.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
