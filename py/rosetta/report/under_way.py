"""How far a run has come that isn't complete."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from rosetta.errors import one_line
from rosetta.results import Step, Summary


def under_way(directory: Path, summary: Summary) -> list[str]:
    """A sentence for the task that an incomplete run was in, where its steps can be read.

    Of the last attempt and the last repeat: what came before them is not under way any more.
    """
    file = directory / "steps.jsonl"
    if summary.state == "complete" or not file.is_file():
        return []
    counts: dict[tuple[str, int, int], dict[str, int]] = defaultdict(dict)
    for line in file.read_bytes().splitlines():
        try:
            step = msgspec.json.decode(line, type=Step)
        except msgspec.DecodeError:  # the last line, which is being written
            continue
        counts[step.task, step.attempt, step.repeat][step.worker] = step.step + 1
    for task in summary.missing:
        tried = max((key for key in counts if key[0] == task), default=None)
        if tried:
            done = ", ".join(f"{worker} {steps} steps" for worker, steps in counts[tried].items())
            return [one_line(f"{task}: {done} so far")]
    return []
