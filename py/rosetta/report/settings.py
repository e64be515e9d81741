"""What a run was measured with, in the words of titles and headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rosetta.report.result_file import RunResult
from rosetta.results import Row

Settings = dict[str, str]
"""What is set → its words, in the order in which they are shown; empty where it isn't known."""

EXPERIMENT = {
    "batch size": "batch sizes",
    "data set": "data sets",
    "data digest": "digests of the data",
    "task digest": "definitions of the task",
}
"""What makes a run another experiment, of which figures can't be compared → in the plural."""

_DIGESTS = ("data digest", "task digest")
_DIGITS = 8
"""Hexadecimal digits that tell two digests apart."""

_TRADE_WORDS = re.compile(r"\((?:R|TM|tm)\)|\bCPU\b|\bProcessor\b|@")


def settings_of(result: RunResult, task: str, rows: Sequence[Row]) -> Settings:
    """Of the run's `rows` on `task`, which share them."""
    first = rows[0]
    batch_size = max(row.batch_size for row in rows)
    trained = result.tasks.get(task)
    return {
        "data set": first.data,
        "batch size": f"batch {batch_size}" if batch_size else "",
        "machine": _machine(result.machine or {}, first.device),
        "device": first.device,
        "threads": f"{first.threads} thread{'s' * (first.threads != 1)}",
        "data digest": f"data {trained.data_sha256[:_DIGITS]}" if trained else "",
        "task digest": f"task {trained.network_sha256[:_DIGITS]}" if trained else "",
    }


def varying(all_settings: Sequence[Settings]) -> list[str]:
    """What isn't the same in all of them, as far as it is known."""
    names = dict.fromkeys(name for settings in all_settings for name in settings)
    return [n for n in names if len({s.get(n) for s in all_settings} - {"", None}) > 1]


def shared(all_settings: Sequence[Settings]) -> list[str]:
    """The words that hold for all, besides the data set; digests say nothing to a reader."""
    different = varying(all_settings)
    hidden = (*different, *_DIGESTS, "data set")
    words: Settings = {}
    for settings in all_settings:
        words |= {n: text for n, text in settings.items() if text and n not in hidden}
    return list(words.values())


def headings(all_settings: Sequence[Settings], names: Sequence[str]) -> list[str]:
    """A heading for each: what tells it apart, and the run's name where that isn't enough.

    Of a single one it is empty, since everything is in the title.
    """
    if len(all_settings) < 2:
        return [""] * len(all_settings)
    different = varying(all_settings)
    words = [", ".join(s[n] for n in different if s.get(n)) for s in all_settings]
    often = Counter(words)
    return [
        text if text and often[text] == 1 else f"{text} ({name})" if text else name
        for text, name in zip(words, names, strict=True)
    ]


def _machine(machine: dict[str, Any], device: str) -> str:
    """The processor or GPU that computed, without its maker's trade words."""
    gpus = machine.get("gpus") or []
    number = device.rpartition(":")[2] if ":" in device else "0"
    if device.startswith("cuda") and number.isdecimal() and int(number) < len(gpus):
        name = str(gpus[int(number)])
    else:
        name = str(machine.get("cpu_model") or "")
    return " ".join(_TRADE_WORDS.sub(" ", name).split())
