"""One colour a worker, the same in every chart of a page."""

from __future__ import annotations

COLOURS = (
    "#2f6fd0",
    "#c4561e",
    "#2c8a57",
    "#9256c8",
    "#a07400",
    "#14879b",
    "#c9437f",
    "#6f7f1c",
    "#5c6bd6",
    "#b0564e",
    "#3f8a86",
    "#8a6d5a",
)
"""Each is told from the light page and from the dark one: contrast 3 and more with both."""

HARNESS = "#7d8590"
"""For what measures the harness, and is no framework."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "pentagon", "hourglass")
DASHES = ("solid", "dash", "dot", "dashdot")


def colour(number: int, harness: bool = False) -> str:
    """The colour of the page's `number`-th worker, from 0."""
    return HARNESS if harness else COLOURS[number % len(COLOURS)]


def symbol(number: int) -> str:
    """What tells two workers apart where colours don't."""
    return SYMBOLS[number % len(SYMBOLS)]


def dash(number: int) -> str:
    """Workers that share a colour, since there are many, differ in this."""
    return DASHES[number // len(COLOURS) % len(DASHES)]
