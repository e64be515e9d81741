"""Turns in a real run: those that take part are first equally often, whoever is absent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rosetta import datasets, environments, tasks, workers
from rosetta.bench import Plan, run
from rosetta.bench.plan import plan_task
from rosetta.bench.progress import PlainReporter
from rosetta.results import Step
from rosetta.workers import Worker

BLOCKS = 9


@pytest.fixture(scope="module")
def chosen() -> list[Worker]:
    """Two that can do the task, and one between them that can't."""
    null, numpy = workers.get("null"), workers.get("numpy")
    for worker in (null, numpy):
        environments.ensure(worker)
    absent = msgspec.structs.replace(null, name="absent", tasks=("gru",))
    return [null, absent, numpy]


def test_an_absent_worker_does_not_make_another_one_first_more_often(
    chosen: list[Worker], tmp_path: Path
) -> None:
    task = tasks.load("mlp").override(batch_size=8)
    data = datasets.load("synthetic", task=task.to_wire())
    more = {"seed": 1, "epochs": None, "quick": False, "warmup": 0, "block": 1}
    plan = Plan(
        tasks=[plan_task(task, data, steps=BLOCKS, test_samples=8, **more)],
        workers=chosen,
        joining=frozenset({"absent"}),
        out=tmp_path / "run",
        run="test",
        started="now",
        seed=1,
        threads=1,
        device="cpu",
        prove=False,
    )
    summary = run(plan, PlainReporter(Console(stderr=True)))
    assert [row.status for row in summary.rows] == ["ok", "skipped", "ok"]
    recorded = (tmp_path / "run" / "steps.jsonl").read_bytes().splitlines()
    first: dict[int, str] = {}
    for line in recorded:
        step = msgspec.json.decode(line, type=Step)
        first.setdefault(step.block, step.worker)
    counts = Counter(first.values())
    assert len(first) == BLOCKS + 1
    assert counts == {"null": 5, "numpy": 5}
