"""From a template to a folder that starts, greets and answers; only the network is missing."""

from __future__ import annotations

import re
import shutil
import string
from pathlib import Path
from typing import Literal

from rosetta import workers
from rosetta.errors import UserError
from rosetta.workers import PY_FOLDER

Language = Literal["python", "julia", "other"]
LANGUAGES: dict[Language, Path] = {
    "python": workers.WORKERS_FOLDERS[0],
    "julia": workers.WORKERS_FOLDERS[1],
    "other": Path("examples"),
}
"""Language → where its workers live; `examples` is relative to the present folder."""

_TEMPLATES = Path(__file__).with_name("templates")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")

_STEPS: dict[Language, tuple[str, ...]] = {
    "python": (
        "name the framework in {folder}/requirements.in and, for the tables, as `framework` in "
        "worker.toml; then: rosetta env lock {worker}",
        "predict: the forward pass. Then this passes: "
        "rosetta conform {worker} --check training.mlp.predictions",
        "train_step: loss, backward, update. Replay a recorded session and compare the losses: "
        "rosetta worker {worker} --tape protocol/golden/1.0/tapes/mlp.tape",
        "the whole protocol: rosetta conform {worker}",
        "the proof, at the task's own size: rosetta prove {worker} --task mlp",
        "the other tasks (`tasks` in worker.toml and in start), README.md, and a test of its own "
        "(tests/workers/)",
        "rosetta bench --quick --worker numpy,{worker}",
    ),
}
_STEPS["julia"] = (
    "a framework needs a Project.toml in {folder}, named as `project` in worker.toml, and its "
    "package as `package`; plain Julia needs nothing",
    *_STEPS["python"][1:],
)
_STEPS["other"] = (
    "write the program that {folder}/worker.toml names: protocol/SPEC.md says what it does, and "
    "protocol/golden/ holds every kind of message as bytes, with what it means",
    "start with a tape, which needs no sockets: protocol/golden/1.0/tapes/mlp.tape",
    "the whole protocol: rosetta conform {worker}",
    "the proof, at the task's own size: rosetta prove {worker} --task mlp",
    "rosetta bench --quick --worker numpy,{worker}",
)


def make(name: str, language: Language, title: str | None = None, into: Path | None = None) -> Path:
    """Make the folder of the worker `name` and return it.

    It lies in `into`, or where workers in that language live. Raises UserError where the name is
    taken or is none, and when the folder can't be written.
    """
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} is no name for a worker: lower-case letters, digits, - and _, beginning "
            "with a letter"
        )
    found = workers.catalogue()
    if name in found or name in found.errors:
        raise UserError(f"there is a worker called {name}: choose another name")
    folder = (into or LANGUAGES[language]) / name
    values = {"name": name, "title": title or name.capitalize()}
    if any(c in '"\\$%' or not c.isprintable() for c in values["title"]):
        raise UserError(f"--title {values['title']!r}: without quotes, backslashes, $ and %")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{folder} exists already") from None
    except OSError as error:
        raise UserError(f"can't write {folder}: {error.strerror}") from error
    try:
        for file in sorted((_TEMPLATES / language).iterdir()):
            text = string.Template(file.read_text(encoding="utf-8")).substitute(values)
            (folder / file.name).write_text(text, encoding="utf-8")
        if language == "python":  # pinned as for the worker that needs the same packages
            shutil.copy(PY_FOLDER / "workers" / "numpy" / "requirements.lock", folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UserError(f"can't write {folder}: {error.strerror}") from error
    return folder


def next_steps(name: str, language: Language, folder: Path) -> list[str]:
    """What is to be done now, in order."""
    where = LANGUAGES[language] / name
    known = language != "other" and folder.resolve() == where.resolve()
    worker = name if known else str(folder) if folder.is_absolute() else f"./{folder}"
    return [step.format(name=name, worker=worker, folder=folder) for step in _STEPS[language]]
