"""Python files taken apart by Python's own parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosetta.stone.definitions import Source
from rosetta.stone.python_code import loss_statements, take_apart
from rosetta.workers import CHECKOUT, PY_FOLDER

TEXT = '''\
"""A worker."""

import os

import torch.nn.functional as F

os.environ["NAME"] = "value"  # read at the import

SIZE = 3
"""How many."""


# Above the decorator.
@F.cached
def helper(x):
    own = F.relu(x)
    return other(own) + SIZE


class Network:
    """It trains."""

    kind = "network"

    def __init__(self, setup):
        self.model = Mlp()

    # What a step is.
    def train_step(self, batch):
        # Of logits.
        loss = F.cross_entropy(
            self.model(batch), batch
        )
        return loss
'''


def source(text: str) -> Source:
    return Source(Path("backend.py"), "backend.py", "python", True, text)


def test_a_definition_has_its_comments_its_line_and_its_names() -> None:
    size, helper, network, step = take_apart(source(TEXT)).definitions
    assert size.text == 'SIZE = 3\n"""How many."""'
    assert helper.text.startswith("# Above the decorator.\n@F.cached\ndef helper")
    assert TEXT.splitlines()[helper.line - 1] == "# Above the decorator."
    assert helper.uses == {"F", "other", "SIZE"}  # neither what is its own nor what is F's
    assert network.text.startswith('class Network:\n    """It trains."""')
    assert network.text.endswith("self.model = Mlp()")
    assert step.text.startswith("# What a step is.\ndef train_step")


def test_what_defines_nothing_is_the_preamble() -> None:
    preamble = take_apart(source(TEXT)).preamble
    assert preamble.splitlines()[-1] == 'os.environ["NAME"] = "value"  # read at the import'
    assert preamble.startswith('"""A worker."""\n\nimport os\n\nimport torch')


def test_the_statement_of_the_loss_is_whole() -> None:
    *_, step = take_apart(source(TEXT)).definitions
    ((line, text),) = loss_statements(step)
    assert text == "# Of logits.\nloss = F.cross_entropy(\n    self.model(batch), batch\n)"
    assert TEXT.splitlines()[line - 1].strip() == "# Of logits."


FILES = sorted([*PY_FOLDER.glob("workers/*/*.py"), *PY_FOLDER.glob("rosetta_reference/*.py")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CHECKOUT)))
def test_no_line_of_code_is_lost(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    code = take_apart(source(text))
    found = "\n".join([code.preamble, *(definition.text for definition in code.definitions)])
    kept = {line.strip() for line in found.splitlines()}
    lines = {line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")}
    assert lines - kept - {""} == set()
