"""Words of foreign programs, made fit for a sentence."""

from __future__ import annotations

import re

# ECMA-48: control sequences (colours, cursor), operating system commands (titles, links), others.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")


def without_escapes(text: str) -> str:
    """`text` without a terminal's escape sequences."""
    return _ESCAPES.sub("", text)


def one_line(text: str) -> str:
    """`text` on one line: no escape sequences, only printable characters and single spaces."""
    printable = "".join(c if c.isprintable() else " " for c in without_escapes(text))
    return " ".join(printable.split())
