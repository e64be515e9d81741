"""What makes a right message wrong, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rosetta.conformance import frames
from rosetta.conformance.frames import Header

Frames = list[bytes]
Change = Callable[[Header, Frames], None]
"""Makes a message wrong; its header and the frames of its arrays are changed in place."""


def described(name: str, **changes: Any) -> Change:
    """Changes the description of one array."""

    def change(header: Header, parts: Frames) -> None:
        next(a for a in header["arrays"] if a["name"] == name).update(changes)

    return change


def replaced(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Puts another array in the place of one, described as it is."""

    def change(header: Header, parts: Frames) -> None:
        position = next(i for i, a in enumerate(header["arrays"]) if a["name"] == name)
        old = header["arrays"][position]
        array = make(np.frombuffer(parts[position], old["dtype"]).reshape(old["shape"]))
        header["arrays"][position] = frames.described({name: array})[0]
        parts[position] = array.tobytes()

    return change


def field(name: str, value: Any) -> Change:
    """Gives a field of the header another value."""

    def change(header: Header, parts: Frames) -> None:
        header[name] = value

    return change


def without(name: str) -> Change:
    """Takes a field out of the header."""

    def change(header: Header, parts: Frames) -> None:
        del header[name]

    return change


def no_samples(header: Header, parts: Frames) -> None:
    """Leaves a batch of none."""
    for name in ("inputs", "labels"):
        replaced(name, lambda array: array[:0])(header, parts)


def first_twice(header: Header, parts: Frames) -> None:
    """Sends the first array twice."""
    header["arrays"].append(header["arrays"][0])
    parts.append(parts[0])


def in_task(*path: str | int, value: Any) -> Change:
    """Changes or adds something in the task of a SETUP."""

    def change(header: Header, parts: Frames) -> None:
        place = header["task"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def last_left_out(header: Header, parts: Frames) -> None:
    """Leaves out the last array, frame and description."""
    header["arrays"].pop()
    parts.pop()


def in_reverse(header: Header, parts: Frames) -> None:
    """Sends the arrays in reverse."""
    header["arrays"].reverse()
    parts.reverse()


def other_threads(header: Header, parts: Frames) -> None:
    """Asks for one thread more."""
    header["threads"] += 1


def first_replaced(make: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Puts another array in the place of the first parameter."""

    def change(header: Header, parts: Frames) -> None:
        replaced(header["arrays"][0]["name"], make)(header, parts)

    return change


def beyond_vocabulary(header: Header, parts: Frames) -> None:
    """Puts the first token that isn't one, of the small `gru`, in the place of the largest."""
    replaced("inputs", lambda tokens: np.where(tokens == tokens.max(), 300, tokens).astype("i4"))(
        header, parts
    )
