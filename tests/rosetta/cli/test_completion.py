"""What the shell is offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosetta import workers
from rosetta.cli import completion


def test_workers_and_tasks_by_their_beginning() -> None:
    assert completion.worker("nu") == ["null", "numpy"]
    assert completion.worker("") == list(workers.catalogue())
    assert completion.task("c") == ["cnn"]
    assert completion.data("i") == ["imdb"]
    assert completion.worker("nobody") == completion.task("x") == []


def test_behind_a_comma_begins_the_next() -> None:
    assert completion.tasks("mlp,") == ["mlp,cnn", "mlp,gru", "mlp,resnet50"]
    assert completion.workers("torch,jax,nump") == ["torch,jax,numpy"]
    assert completion.workers("numpy,nump") == [], "each once"


def test_runs_are_directories_with_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("runs/b", "runs/a", "runs/sweep/batch_8", "elsewhere/c", "elsewhere/notes"):
        (tmp_path / name).mkdir(parents=True)
        if not name.endswith("notes"):
            (tmp_path / name / "summary.json").touch()
    monkeypatch.chdir(tmp_path)
    assert completion.runs("") == ["runs/a", "runs/b", "runs/sweep", "elsewhere", "runs"]
    assert completion.runs("runs/s") == ["runs/sweep"]
    assert completion.runs("runs/sweep/") == ["runs/sweep/batch_8"]
    assert completion.runs("elsewhere/") == ["elsewhere/c"]
    assert completion.runs("nowhere/x") == []


def test_broken_workers_offer_nothing_and_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise completion.UserError("no folder of workers")

    monkeypatch.setattr(workers, "catalogue", broken)
    assert completion.worker("") == []
