"""Every row's speed relative to the baseline's, over the blocks that both trained."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rosetta.bench.participant import Participant
from rosetta.results import Row, ratio_of_blocks


def with_ratios(
    rows: Sequence[Row],
    participants: Sequence[Participant],
    baseline: str | None,
    *,
    paired: bool = True,
) -> list[Row]:
    """`rows` with `ratio` and `ratio_interval`.

    Blocks that aren't `paired`, since the workers were trained at different times, have no
    interval: it would leave out how the machine changed from one to the other.

    Rows that aren't `ok`, networks that aren't the same, and workers that measure the harness take
    no part. Without a baseline row there are no ratios.
    """
    timed = {
        p.name: p.work_ns
        for p in participants
        if p.status == "ok" and p.proof != "different" and p.work_ns and not p.worker.harness
    }
    reference = timed.get(baseline) if baseline else None
    if reference is None:
        return list(rows)
    numbers = sorted(reference)
    result = []
    for row in rows:
        blocks = timed.get(row.worker)
        ratio = blocks and ratio_of_blocks(
            [reference[n] for n in numbers],
            [blocks.get(n, ()) for n in numbers],
            repeats=[repeat for repeat, _ in numbers],
        )
        if row.worker == baseline:
            row = msgspec.structs.replace(row, ratio=1.0)
        elif ratio:
            interval = ratio.interval if paired else None
            row = msgspec.structs.replace(row, ratio=ratio.value, ratio_interval=interval)
        result.append(row)
    return result


def why_no_ratios(rows: Sequence[Row], baseline: str | None) -> list[str]:
    """A sentence where the baseline has no row to compare with, though others have."""
    if baseline is None or len([row for row in rows if row.status == "ok"]) == 0:
        return []
    return [
        f"{row.task}: no ratios, since the baseline {baseline} is "
        + (row.status if row.status != "ok" else "not the same network")
        for row in rows
        if row.worker == baseline and (row.status != "ok" or row.proof == "different")
    ]
