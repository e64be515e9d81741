"""What every check gives."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    severity: Severity
    subject: str
    sentence: str
    """What was found, and unless all is well, what to do."""


def gigabytes(size_bytes: float) -> str:
    return f"{size_bytes / 1e9:.1f} GB"
