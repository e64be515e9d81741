"""What a file of code is taken apart into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Language = Literal["python", "julia"]

SPLIT_CLASS = "Network"
"""The class whose methods are definitions of their own: each answers one call of the runtime."""


@dataclass(frozen=True)
class Source:
    """A file of a worker's: where it lies, as a reader would type it, and what is in it."""

    path: Path
    shown: str
    language: Language
    is_main: bool
    text: str


@dataclass(frozen=True)
class Definition:
    """A function, a class, a constant or a method of `Network`, with the comments above it.

    `name` is what other code calls it. `group` is what it belongs to: a layer's methods in Julia
    go where the layer goes. `line` counts from 1. `uses` are the names in its code.
    """

    name: str
    group: str
    source: Source
    line: int
    text: str
    uses: frozenset[str]


@dataclass(frozen=True)
class Code:
    """A file taken apart: what comes before everything, and its definitions in their order."""

    source: Source
    preamble: str
    definitions: Sequence[Definition]
