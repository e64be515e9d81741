"""`--json`: one document on standard output, and nothing else there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

Option = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else (see above)")
]
"""Of every command that prints data; its help says what the document holds."""


def write(value: Any) -> None:
    """Print `value`: records, dataclasses, paths, plain values. What is no number becomes null."""
    encoded = msgspec.json.encode(value, enc_hook=_plain)
    print(msgspec.json.format(encoded, indent=2).decode())


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")
