"""Notes speak of code that is there."""

from __future__ import annotations

import pytest

from rosetta import stone, workers
from rosetta.errors import UserError
from rosetta.workers import Worker

WORKERS = [worker for worker in workers.catalogue().values() if not worker.harness]


def untrue(worker: Worker) -> list[str]:
    """What a worker's notes name and its code doesn't have: `part: code`."""
    column = stone.column(worker)
    wrong = []
    for part, note in stone.read_notes(worker).by_part.items():
        code = " ".join(" ".join(s.text for s in column.entries[part].snippets).split())
        names = stone.code_in(note)
        wrong += [f"{part}: {name}" for name in names if " ".join(name.split()) not in code]
        if not code:
            wrong.append(f"{part}: there is no such part")
    return wrong


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_every_note_speaks_of_code_that_is_in_its_part(worker: Worker) -> None:
    assert untrue(worker) == []


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_every_worker_says_what_differs(worker: Worker) -> None:
    """Layout, or what it does itself; and how it knows that a step has been done."""
    said = stone.read_notes(worker).by_part
    trains = set(worker.tasks) != {"resnet50"}
    assert {"layout", "train_step"} & set(said) if trains else said


def test_a_note_of_code_that_has_gone_is_untrue(made) -> None:
    backend = "def start(device, threads):\n    return {}\n"
    notes = '[notes]\nstart = "`threads` and `processes`."\ngru = "None."\n'
    worker = made(**{"backend.py": backend, "notes.toml": notes})
    assert untrue(worker) == ["start: processes", "gru: there is no such part"]


def test_an_unknown_part_is_refused(made) -> None:
    worker = made(**{"backend.py": "", "notes.toml": '[notes]\nlayuot = "NHWC."\n'})
    with pytest.raises(UserError, match=r"notes\.toml: unknown part 'layuot': did you mean layout"):
        stone.read_notes(worker)


def test_an_unknown_key_is_refused(made) -> None:
    worker = made(**{"backend.py": "", "notes.toml": 'note = "NHWC."\n'})
    with pytest.raises(UserError, match=r"notes\.toml: .*note"):
        stone.read_notes(worker)


def test_workers_of_one_folder_have_notes_in_common_and_of_their_own() -> None:
    on_jax = stone.read_notes(workers.get("keras-jax")).by_part["train_step"]
    on_torch = stone.read_notes(workers.get("keras-torch")).by_part["train_step"]
    assert on_jax.split(".")[0] == on_torch.split(".")[0]
    assert "jax.jit" in on_jax
    assert "jax.jit" not in on_torch
