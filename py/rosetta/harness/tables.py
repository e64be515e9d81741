"""The tables in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from rosetta.errors import one_line
from rosetta.harness.record import Ceiling, Goal, Harness

_WORDS = {True: "goal met", False: "not met"}


def goals_table(goals: list[Goal]) -> Table:
    """Every goal beside what was measured."""
    table = Table("measured", title="The harness and its goals", title_justify="left")
    for heading in ("value", "95 % interval", "goal"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for goal in goals:
        verdict = Text(_WORDS[goal.met], style="green" if goal.met else "red")
        cells = (goal.name, goal.value, goal.interval, goal.goal)
        table.add_row(*map(Text, cells), verdict)
    return table


def ceiling_tables(harness: Harness) -> list[Table]:
    """Batches a second of every plane and peer: peers that stream a block, and that answer."""
    titles = {
        False: "Batches/s that reach every worker; peers stream a block, and answer its last batch",
        True: "Batches/s that reach every worker; peers answer every batch, as workers do",
    }
    found = {answered: _peers(harness, answered) for answered in titles}
    return [
        _ceiling_table(harness, titles[answered], peers)
        for answered, peers in found.items()
        if peers or not answered
    ]


def _ceiling_table(harness: Harness, title: str, peers: list[str]) -> Table:
    table = Table("bytes", "workers", title=title, title_justify="left")
    for heading in (*harness.ceiling, *peers):
        table.add_column(Text(heading), justify="right")
    table.add_column("copies (shm)", justify="right")
    shm = harness.ceiling.get("shm", {})
    for size, by_workers in shm.items():
        for workers, best in by_workers.items():
            ours = [harness.ceiling[plane][size][workers] for plane in harness.ceiling]
            speeds = [c.batches_per_s for c in ours]
            speeds += [best.peers[name].batches_per_s for name in peers]
            cells = [f"{int(size):,}", workers, *(f"{speed:,.0f}" for speed in speeds)]
            table.add_row(*map(Text, cells), Text(f"{best.copies:.1f}"))
    return table


def sentences(harness: Harness) -> list[str]:
    """What must be said beside the tables."""
    absent = [f"absent: {what}: {why}" for what, why in harness.absent.items()]
    quick = ["--quick: the series are short, and the intervals wide"] if harness.quick else []
    return [one_line(sentence) for sentence in (*quick, *harness.notes, *absent)]


def _peers(harness: Harness, answered: bool) -> list[str]:
    leaves: list[Ceiling] = [
        leaf
        for by_bytes in harness.ceiling.values()
        for by_workers in by_bytes.values()
        for leaf in by_workers.values()
    ]
    return [n for n, peer in leaves[0].peers.items() if peer.answered == answered] if leaves else []
