"""What a run says, in sentences that can be quoted by themselves."""

from __future__ import annotations

from rosetta.errors import one_line
from rosetta.report.best import interval, is_proved
from rosetta.report.columns import tasks_of, worker_words
from rosetta.results import Row, Summary

MOST = 6
"""Sentences of a run; whoever wants more reads the tables."""


def sentences(summary: Summary, most: int = MOST) -> list[str]:
    """``torch is 1.31× [1.27, 1.36] as fast as tensorflow on cnn, 2 threads``, at most `most`.

    Of each worker against the baseline, the fastest first; where not all can be said, each task has
    its turn. Only of rows that were proved to be the same network, and whose ratio has a 95 %
    interval: a ratio without one, or of something unproved, isn't to be quoted.
    """
    of_tasks = [_of_task(summary, task) for task in tasks_of(summary)]
    longest = max(map(len, of_tasks), default=0)
    turns = [
        (n, task) for n in range(longest) for task, said in enumerate(of_tasks) if n < len(said)
    ]
    return [of_tasks[task][n] for n, task in sorted(turns[:most], key=lambda turn: turn[::-1])]


def _of_task(summary: Summary, task: str) -> list[str]:
    rows = [row for row in summary.rows if row.task == task and is_proved(row)]
    baseline = next((row for row in rows if row.worker == summary.baseline), None)
    if baseline is None:
        return []
    others = [row for row in rows if row is not baseline and row.ratio and row.ratio_interval]
    others.sort(key=lambda row: -(row.ratio or 0.0))
    return [one_line(_sentence(row, baseline)) for row in others]


def _sentence(row: Row, baseline: Row) -> str:
    low, high = interval(row, baseline.worker) or (0.0, 0.0)
    figure = f"{row.ratio:.2f}× [{low:.2f}, {high:.2f}]"
    if low <= 1 <= high:
        pair = f"{_name(row)} and {_name(baseline)}"
        return f"no difference between {pair} on {_where(row)}: {figure}"
    return f"{_name(row)} is {figure} as fast as {_name(baseline)} on {_where(row)}"


def _name(row: Row) -> str:
    """With the forms that make its network another one than the baseline's."""
    forms = f" ({', '.join(row.unusual_forms)})" if row.unusual_forms else ""
    return worker_words(row) + forms


def _where(row: Row) -> str:
    data = " (synthetic data)" if row.data.startswith("synthetic") else ""
    threads = f"{row.threads} thread{'s' * (row.threads != 1)}"
    return f"{row.task}{data}, {threads if row.device == 'cpu' else row.device}"
