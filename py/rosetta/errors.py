"""The error that a user can do something about, and how foreign words get into its one line."""

import re


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
