"""Julia files taken apart by where definitions begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosetta.stone.definitions import Source
from rosetta.stone.julia_code import take_apart
from rosetta.workers import CHECKOUT

TEXT = '''\
# A file.
# It begins so.

using Libdl

"""
    Dense

Multiplies.
"""
struct Dense
    w
end

Dense(p::Dict) = Dense(p["w"])

"Applies it."
(l::Dense)(x) = l.w * x

function forward!(
    layer::Dense, x,
)
    y = scale(x)
    return y
end

scale(x) = 2x  # unlike "scaled"

const TABLE = Dict(
    "dense" => Dense,
)

struct Network
    layers
end

predict(net::Network, x) = foldl((x, l) -> l(x), net.layers; init = x)

train_step!(net::Network, batch) = 0.0
'''


def source(text: str, is_main: bool = True) -> Source:
    return Source(Path("backend.jl"), "backend.jl", "julia", is_main, text)


def test_a_layers_methods_belong_to_the_layer() -> None:
    groups = [(d.name, d.group) for d in take_apart(source(TEXT)).definitions]
    assert groups == [
        ("Dense", "Dense"),
        ("Dense", "Dense"),
        ("Dense", "Dense"),
        ("forward!", "Dense"),
        ("scale", "scale"),
        ("TABLE", "TABLE"),
        ("Network", "Network"),
        ("predict", "predict"),
        ("train_step!", "train_step!"),
    ]


def test_a_definition_has_its_docstring_its_lines_and_its_names() -> None:
    dense, _, call, forward, *_ = take_apart(source(TEXT)).definitions
    assert dense.text.startswith('"""\n    Dense\n\nMultiplies.\n"""\nstruct Dense')
    assert dense.text.endswith("end")
    assert TEXT.splitlines()[dense.line - 1] == '"""'
    assert call.text == '"Applies it."\n(l::Dense)(x) = l.w * x'
    assert "scale" in forward.uses
    assert "Multiplies" not in dense.uses  # what a docstring says is no code


def test_what_defines_nothing_is_the_preamble() -> None:
    assert take_apart(source(TEXT)).preamble == "# A file.\n# It begins so.\nusing Libdl"


def test_another_files_first_comment_goes_with_its_first_definition() -> None:
    code = take_apart(source("# Of windows.\n\nf(x) = x\n", is_main=False))
    assert code.preamble == ""
    assert code.definitions[0].text == "# Of windows.\n\nf(x) = x"


FILES = sorted([*(CHECKOUT / "julia/workers").rglob("*.jl"), *CHECKOUT.glob("py/workers/*/*.jl")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CHECKOUT)))
def test_no_line_of_code_is_lost(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    code = take_apart(source(text))
    found = "\n".join([code.preamble, *(definition.text for definition in code.definitions)])
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("# ---")]
    kept = [line for line in found.splitlines() if line.strip()]
    assert set(lines) - set(kept) <= {"end"}
    assert len(lines) - len(kept) <= 1  # the `end` of a module
