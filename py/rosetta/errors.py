"""The error that a user can do something about, and how its one line is worded."""

import difflib
import re
from collections.abc import Iterable

_CUTOFF = 0.6
"""Above it lie two letters exchanged or a few missing (``resnet``), below it other words."""


class UserError(Exception):
    """A mistake or a shortage that the user can mend.

    The message is one line: what is wrong, where, and what to do. The command line prints it and
    exits with code 2; nothing has been written when it is raised.
    """


# ECMA-48: control sequences (colours, cursor), operating system commands (titles, links), others.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")


def without_escapes(text: str) -> str:
    """`text` without a terminal's escape sequences."""
    return _ESCAPES.sub("", text)


def one_line(text: str) -> str:
    """`text` on one line: no escape sequences, only printable characters and single spaces."""
    printable = "".join(c if c.isprintable() else " " for c in without_escapes(text))
    return " ".join(printable.split())


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """What is said of a `name` that is none of the `known` ones: the nearest ones, or else all.

    ``unknown task 'cmn': did you mean cnn?``, ``unknown task 'x': there are mlp, cnn, gru``.
    """
    choices = list(known)
    by_lower = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=_CUTOFF)
    if near:
        hint = f"did you mean {' or '.join(by_lower[lower] for lower in near)}?"
    else:
        hint = f"there are {', '.join(choices) or 'none'}"
    return f"unknown {kind} {name!r}: {hint}"
