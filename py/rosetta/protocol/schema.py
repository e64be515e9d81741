"""JSON Schemas of everything that other languages read: made from the code, never by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from rosetta.protocol import messages

SCHEMA_FOLDER = Path(__file__).parents[3] / "protocol" / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: Any) -> dict[str, Any]:
    """JSON Schema (2020-12) of a msgspec type."""
    return {"$schema": DIALECT, **msgspec.json.schema(kind)}


def message_schemas() -> dict[str, dict[str, Any]]:
    """File name below `protocol/schema/` → schema, one a message type."""
    return {f"messages/{name.lower()}.json": schema_of(kind) for name, kind in messages.ALL.items()}


def text(schema: dict[str, Any]) -> str:
    """The exact content of a schema file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
