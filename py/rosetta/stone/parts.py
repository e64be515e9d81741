"""The parts of a worker's code, and by which names they are found.

Every backend has the same names for the same things (docs/adding-a-worker.md), so a definition
finds its part by its name. What has a name of its own, such as `GruCell`, goes where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from rosetta import tasks
from rosetta.stone import julia_code, python_code
from rosetta.stone.definitions import Definition, Source
from rosetta.stone.sources import other_variants, sources, take_apart
from rosetta.workers import Worker


@dataclass(frozen=True)
class Part:
    """One row of the page: its key in links and notes, its title, what it holds, and its names.

    `names` is a pattern for a whole name without underscores around it, a Julian ``!`` behind it,
    and ``make_`` before it.
    """

    key: str
    title: str
    about: str
    names: str


PARTS = (
    Part("imports", "Imports", "What the code is made of.", r"(?!)"),
    Part(
        "start",
        "Start and device",
        "Threads, device and precision are set, and what computes is told.",
        r"start|(?!to_|inputs_to_)\w+_device",
    ),
    Part(
        "layout",
        "Data layout",
        "Batches come as bytes of N,C,H,W or as tokens; parameters as OIHW, (out, in), and gates "
        "in the order reset, update, new. Here they become what the framework wants, and back.",
        r"(inputs_)?to_device|parameters|(to|from)_canonical|scaled(_pixels)?",
    ),
    Part("mlp", "Network: mlp", "784 → 128 → ReLU → 10.", r"mlp"),
    Part(
        "cnn",
        "Network: cnn",
        "Four 3×3 convolutions, two max-pools, dropout, two dense layers.",
        r"cnn",
    ),
    Part("gru", "Network: gru", "Embedding, GRU, its last output, a dense layer.", r"gru"),
    Part(
        "resnet50",
        "Network: resnet50",
        "Forward only, version 1.5 (the stride in the 3×3), up to the global average pool.",
        r"\w*resnet50\w*|bottleneck\w*",
    ),
    Part(
        "build",
        "Network and its weights",
        "The task's network is made, and holds the coordinator's initial parameters.",
        r"build|network",
    ),
    Part(
        "optimiser",
        "Loss and optimiser",
        "Softmax cross-entropy, the mean of the batch; SGD with momentum, or Adam.",
        r"optimiser|set_learning_rate|(softmax_)?cross_entropy|mean_loss",
    ),
    Part(
        "train_step",
        "Training step",
        "What is timed: forward, loss, backward, update, and the device has finished.",
        r"train_step|tells_parts|synchronise",
    ),
    Part("predict", "Prediction", "Logits, with dropout off.", r"predict"),
)
"""In the order of the page."""

TASK_PARTS = ("mlp", "cnn", "gru", "resnet50")
_BY_KEY = {part.key: part for part in PARTS}

# Who comes first to take what several parts use, and has no part by its own name.
_CLAIMS = ("layout", *TASK_PARTS, "optimiser", "train_step", "predict", "build", "start")


_ELSEWHERE = ""
"""Where the code of another worker of the same folder is, and what only that one uses."""


@dataclass(frozen=True)
class Snippet:
    """A piece of code as the page shows it; `line` is where it begins, from 1."""

    source: Source
    line: int
    text: str


@dataclass(frozen=True)
class Anatomy:
    """A worker's code by part, and the definitions that found none."""

    parts: Mapping[str, Sequence[Snippet]]
    homeless: Sequence[Definition]


def anatomy(worker: Worker) -> Anatomy:
    """The code of a worker, part by part. UserError where its files can't be read."""
    codes = [take_apart(source) for source in sources(worker)]
    definitions = [definition for code in codes for definition in code.definitions]
    variants = tuple(f"_{variant}" for variant in other_variants(worker))
    others = {d.group for d in definitions if variants and d.name.endswith(variants)}
    homes = _homes(definitions, others)
    parts: dict[str, list[Snippet]] = {part.key: [] for part in PARTS}
    for code in codes:
        if code.preamble and code.source.path.parent == worker.folder:
            parts["imports"].append(Snippet(code.source, 1, code.preamble))
    for definition in _named_files_first(definitions, homes):
        if homes.get(definition.group, _ELSEWHERE) != _ELSEWHERE:
            snippet = Snippet(definition.source, definition.line, definition.text)
            parts[homes[definition.group]].append(snippet)
    parts["optimiser"] = [*_losses(definitions, homes), *parts["optimiser"]]
    homeless = [d for d in definitions if d.group not in homes]
    return Anatomy({key: _joined(snippets) for key, snippets in parts.items()}, homeless)


def _named_files_first(
    definitions: Sequence[Definition], homes: Mapping[str, str]
) -> list[Definition]:
    """Of a part's files those first that hold what it is named for, and helpers' files last."""
    named = _named(definitions)
    files = {(d.source, named[d.group]) for d in definitions if d.group in named}
    return sorted(definitions, key=lambda d: (d.source, homes.get(d.group)) not in files)


def part_by_name(name: str) -> str | None:
    """The key of the part that a definition of this name belongs to, whoever uses it."""
    plain = name.strip("_").rstrip("!").lower().removeprefix("make_")
    return next((part.key for part in PARTS if re.fullmatch(part.names, plain)), None)


def _homes(definitions: Sequence[Definition], others: Set[str]) -> dict[str, str]:
    """Group → key of its part; `others` are groups of another worker's of this folder."""
    homes = _named(definitions) | dict.fromkeys(others, _ELSEWHERE)
    for key in (*_CLAIMS, _ELSEWHERE):
        _claim(key, definitions, homes)
    return homes


def _named(definitions: Sequence[Definition]) -> dict[str, str]:
    """Group → key of the part that it has by its name, its file, or the task's layers."""
    homes: dict[str, str] = dict(_layers(definitions))
    for definition in definitions:
        key = part_by_name(definition.group) or _part_by_file(definition.source)
        if key:
            homes[definition.group] = key
    return homes


def _part_by_file(source: Source) -> str | None:
    return "resnet50" if "resnet50" in source.path.stem.lower() else None


def _claim(key: str, definitions: Sequence[Definition], homes: dict[str, str]) -> None:
    """Give the part whatever its code uses, directly or not, and no other part has yet."""
    groups = {definition.name: definition.group for definition in definitions}
    groups |= {definition.group: definition.group for definition in definitions}
    grown = True
    while grown:
        used = {
            groups[name]
            for definition in definitions
            if homes.get(definition.group) == key
            for name in definition.uses
            if name in groups
        }
        new = used - homes.keys()
        homes |= dict.fromkeys(new, key)
        grown = bool(new)


def _layers(definitions: Sequence[Definition]) -> Iterator[tuple[str, str]]:
    """(group, part) of the layers of a worker without a framework.

    It has no function for a network: it makes any from the task's layers, by a table `KINDS`. A
    task's part is then the layers that it is the first to need.
    """
    tables = [d for d in definitions if d.name.strip("_") == "KINDS"]
    if not tables:
        return
    groups = {definition.name: definition.group for definition in definitions}
    taken: set[str] = set()
    for task in TASK_PARTS:
        for kind in _kinds(task):
            entry = re.search(rf'^\s*"{kind}"\s*(?:=>|:)(.*)$', tables[0].text, re.MULTILINE)
            for name in re.findall(r"\w+", entry[1]) if entry else ():
                if name in groups and name not in taken:
                    taken.add(name)
                    yield groups[name], task


def _kinds(task: str) -> list[str]:
    """The kinds of a task's layers, in their order, each once."""
    return list(dict.fromkeys(layer["kind"] for layer in tasks.load(task).to_wire()["layers"]))


def _losses(definitions: Sequence[Definition], homes: Mapping[str, str]) -> Iterator[Snippet]:
    """The statement that names the loss, where the worker has no definition of its own for it."""
    if any("cross_entropy" in definition.name for definition in definitions):
        return
    for definition in definitions:
        if homes.get(definition.group) in ("start", "optimiser"):
            continue
        module = python_code if definition.source.language == "python" else julia_code
        for line, text in module.loss_statements(definition):
            yield Snippet(definition.source, line, text)


def _joined(snippets: Sequence[Snippet]) -> list[Snippet]:
    """Pieces that stand one behind the other in their file, as one."""
    joined: list[Snippet] = []
    for snippet in snippets:
        last = joined[-1] if joined else None
        between = _between(last, snippet) if last else None
        if last and between is not None:
            text = last.text + "\n" * (between + 1) + snippet.text
            joined[-1] = Snippet(last.source, last.line, text)
        else:
            joined.append(snippet)
    return joined


def _between(first: Snippet, second: Snippet) -> int | None:
    """How many lines there are between two pieces of a file; None if any of them isn't blank."""
    if first.source != second.source:
        return None
    lines = first.source.text.splitlines()
    end = first.line + len(first.text.splitlines()) - 1
    gap = lines[end : second.line - 1]
    return len(gap) if end < second.line and not any(line.strip() for line in gap) else None
