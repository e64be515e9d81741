"""Reads the pickles of CIFAR-10 and of Keras's IMDB without being able to run anything.

A pickle is a program for a small stack machine, and the machine of Python's `pickle` can call
whatever can be imported. This one is another machine with the same instruction set less everything
that isn't needed: it builds numbers, strings, lists, tuples, dictionaries and NumPy arrays, knows
six globals, and calls nothing at all (`ndarray` and `dtype` are descriptions here, from which an
array is made only after they have been checked). Python's own `Unpickler` with a restricted
`find_class` would still hand hostile bytes to NumPy's `__setstate__`, and allocates as many memo
slots as the file asks for (64 GB for ten bytes); here each opcode costs memory in proportion to
its own bytes.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable
from typing import Any

from rosetta.datasets.model import DamagedError
from rosetta.datasets.pickled_arrays import ALLOWED, ArrayValue, DtypeValue, Global, describe

MAX_OPCODES = 4_000_000  # without integers; a CIFAR-10 batch has 40,000 and half of IMDB 150,000
_MAX_LINE_BYTES = 1_000


__all__ = ["ArrayValue", "loads"]


def loads(data: bytes) -> Any:
    """The object in the pickle `data`: a number, string, list, tuple, dict, array, bool or None.

    Strings of Python 2 come as bytes, arrays as `ArrayValue`. Raises `DamagedError` for anything
    that is cut off, malformed or asks for more than that; a refused global is named.
    """
    return _Machine(data).run()


class _Machine:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []  # heights of the stack
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        for _ in range(MAX_OPCODES):
            opcode = self.take(1)
            if opcode == b".":
                return self.pop()
            if opcode in b"KMJ":
                self.at -= 1
                self.integers()
                continue
            handler = _HANDLERS.get(opcode)
            if handler is None:
                raise DamagedError(f"the pickle instruction {_opcode_name(opcode)} is refused")
            handler(self)
        raise DamagedError(f"a pickle of more than {MAX_OPCODES:,} instructions")

    # Input

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        end = self.at + size
        if end > len(self.data):
            raise DamagedError("a pickle that is cut off")
        chunk = self.data[self.at : end]
        self.at = end
        return chunk

    def number(self, form: str) -> int:
        value: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def sized(self, form: str) -> bytes:
        """A length in `form`, and as many bytes."""
        size = self.number(form)
        if size < 0:
            raise DamagedError("a negative length in a pickle")
        return self.take(size)

    def line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + _MAX_LINE_BYTES)
        if end < 0:
            raise DamagedError("a pickle that is cut off")
        text = self.take(end - self.at).decode("latin-1")
        self.at += 1
        return text

    def integers(self) -> None:
        """A run of small integers: all of IMDB is made of these, hence a tight loop for them."""
        data, at, push, end = self.data, self.at, self.stack.append, len(self.data)
        try:
            while at < end:
                opcode = data[at]
                if opcode == 75:  # K: one byte
                    push(data[at + 1])
                    at += 2
                elif opcode == 77:  # M: two bytes
                    push(data[at + 1] | data[at + 2] << 8)
                    at += 3
                elif opcode == 74:  # J: four bytes, signed
                    push(struct.unpack_from("<i", data, at + 1)[0])
                    at += 5
                else:
                    break
        except (IndexError, struct.error):
            raise DamagedError("a pickle that is cut off") from None
        self.at = at

    # Stack

    def floor(self) -> int:
        """The height below which nothing may be taken: the last mark."""
        return self.marks[-1] if self.marks else 0

    def pop(self) -> Any:
        if len(self.stack) <= self.floor():
            raise DamagedError("a pickle that takes more than it has put")
        return self.stack.pop()

    def top(self, kind: type) -> Any:
        if len(self.stack) <= self.floor() or not isinstance(self.stack[-1], kind):
            raise DamagedError(f"a pickle without the {kind.__name__} that it adds to")
        return self.stack[-1]

    def mark(self) -> None:
        self.marks.append(len(self.stack))

    def popmark(self) -> list[Any]:
        """Everything since the last mark."""
        if not self.marks:
            raise DamagedError("a pickle without the mark that it goes back to")
        height = self.marks.pop()
        items = self.stack[height:]
        del self.stack[height:]
        return items

    def poptuple(self, size: int) -> tuple[Any, ...]:
        return tuple(reversed([self.pop() for _ in range(size)]))

    # What opcodes do

    def extend(self, items: list[Any]) -> None:
        self.top(list).extend(items)

    def update(self, items: list[Any]) -> None:
        keys, values = items[::2], items[1::2]
        # Only flat keys: the hash of a tuple nested a million deep overflows the C stack.
        if len(keys) != len(values) or not all(type(key) in (str, bytes, int) for key in keys):
            raise DamagedError("a dictionary whose keys aren't strings or integers")
        self.top(dict).update(zip(keys, values, strict=True))

    def find(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise DamagedError("a global whose name isn't a string")
        wanted = Global(module, name)
        if wanted not in ALLOWED:
            shown = ascii(f"{module}.{name}"[:80])[1:-1]
            raise DamagedError(
                f"it asks for {shown}, which is no part of an array: refused, nothing ran"
            )
        self.stack.append(wanted)

    def reduce(self) -> None:
        arguments = self.pop()
        function = self.pop()
        if not isinstance(arguments, tuple):
            raise DamagedError("a call without arguments")
        self.stack.append(describe(function, arguments))

    def build(self) -> None:
        state = self.pop()
        target = self.pop()
        if not isinstance(target, (DtypeValue, ArrayValue)):
            raise DamagedError(f"a state for a {type(target).__name__}")
        target.build(state)
        self.stack.append(target)

    def put(self, index: int) -> None:
        if not self.stack:
            raise DamagedError("a pickle that takes more than it has put")
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise DamagedError("a pickle that refers to what it hasn't made")
        self.stack.append(self.memo[index])


def _opcode_name(opcode: bytes) -> str:
    known = pickletools.code2op.get(opcode.decode("latin-1"))  # type: ignore[attr-defined]
    return str(known.name) if known else ascii(opcode)[1:]


def _push(make: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    def handler(machine: _Machine) -> None:
        machine.stack.append(make(machine))

    return handler


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


_HANDLERS: dict[bytes, Callable[[_Machine], Any]] = {
    b"\x80": lambda m: m.take(1),  # PROTO
    b"\x95": lambda m: m.take(8),  # FRAME
    b"(": lambda m: m.mark(),
    b"0": lambda m: m.pop(),
    b"1": lambda m: m.popmark(),
    b"N": _push(lambda m: None),
    b"\x88": _push(lambda m: True),
    b"\x89": _push(lambda m: False),
    b"\x8a": _push(lambda m: int.from_bytes(m.sized("<B"), "little", signed=True)),
    b"G": _push(lambda m: struct.unpack(">d", m.take(8))[0]),
    b"U": _push(lambda m: m.sized("<B")),  # strings of Python 2
    b"T": _push(lambda m: m.sized("<i")),
    b"C": _push(lambda m: m.sized("<B")),  # bytes of Python 3
    b"B": _push(lambda m: m.sized("<I")),
    b"\x8e": _push(lambda m: m.sized("<Q")),
    b"\x8c": _push(lambda m: _utf8(m.sized("<B"))),
    b"X": _push(lambda m: _utf8(m.sized("<I"))),
    b"\x8d": _push(lambda m: _utf8(m.sized("<Q"))),
    b")": _push(lambda m: ()),
    b"\x85": _push(lambda m: m.poptuple(1)),
    b"\x86": _push(lambda m: m.poptuple(2)),
    b"\x87": _push(lambda m: m.poptuple(3)),
    b"t": _push(lambda m: tuple(m.popmark())),
    b"]": _push(lambda m: []),
    b"l": _push(lambda m: m.popmark()),
    b"a": lambda m: m.extend([m.pop()]),
    b"e": lambda m: m.extend(m.popmark()),
    b"}": _push(lambda m: {}),
    b"s": lambda m: m.update(list(m.poptuple(2))),
    b"u": lambda m: m.update(m.popmark()),
    b"q": lambda m: m.put(m.number("<B")),
    b"r": lambda m: m.put(m.number("<I")),
    b"\x94": lambda m: m.put(len(m.memo)),
    b"h": lambda m: m.get(m.number("<B")),
    b"j": lambda m: m.get(m.number("<I")),
    b"c": lambda m: m.find(m.line(), m.line()),
    b"\x93": lambda m: m.find(*m.poptuple(2)),
    b"R": lambda m: m.reduce(),
    b"b": lambda m: m.build(),
}
