"""Julia files taken apart, by where definitions begin.

There is no parser of Julia here. In the house style a definition begins at the left margin, and
everything that belongs to it is indented, is its `end`, or is the docstring above it: that is
enough to find them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rosetta.stone.definitions import SPLIT_CLASS, Code, Definition, Source

_NAME = r"[A-Za-z_]\w*!?"
_TYPE = re.compile(rf"(?:mutable struct|struct|abstract type)\s+({_NAME})")
_CONSTANT = re.compile(rf"const\s+({_NAME})\s*=")
_CALLABLE = re.compile(rf"(?:function\s+)?\(\s*\w*\s*::\s*({_NAME})[^)]*\)\s*\(")
_FUNCTION = re.compile(rf"(?:function\s+)?(?:\w+\.)*({_NAME})(?:\{{[^}}]*\}})?\((.*)", re.DOTALL)
_FIRST_TYPE = re.compile(rf"\s*\w*\s*::\s*({_NAME})")
_MACRO = re.compile(rf"[\w.]*@\w+\s+({_NAME})\(")
_OTHER = re.compile(r"(?:using|import|include|push!|module|end\b)")
_WORD = re.compile(rf"@?{_NAME}")
_NO_CODE = re.compile(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#.*')
_LOSS = re.compile(r"\bnll\(")


def take_apart(source: Source) -> Code:
    """The definitions of a Julia file; `using`, `include` and the like make up the preamble."""
    blocks = list(_blocks(source.text.splitlines()))
    types = {match[1] for _, code, _ in blocks if (match := _TYPE.match(code))}
    preamble: list[str] = []
    definitions: list[Definition] = []
    for line, code, text in blocks:
        if code == "end":
            continue  # of the file's module
        if not code or _OTHER.match(code):
            preamble.append(text)
            continue
        if not source.is_main and preamble and not definitions:
            text, preamble = "\n\n".join([*preamble, text]), []
        name, group = _name(code, types)
        uses = frozenset(_WORD.findall(_NO_CODE.sub("", text))) - {name, group}
        definitions.append(Definition(name, group, source, line, text, uses))
    return Code(source, "\n".join(preamble), definitions)


def loss_statements(definition: Definition) -> Iterator[tuple[int, str]]:
    """(line, text) of each line that calls Knet's cross-entropy."""
    for number, line in enumerate(definition.text.splitlines()):
        if _LOSS.search(line):
            yield definition.line + number, line.strip()


def _blocks(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """(line, code, text with docstring) of each piece that begins at the left margin."""
    start = 0
    while start < len(lines):
        if not lines[start].strip() or lines[start].startswith("# ---"):
            start += 1
            continue
        head = _behind_docstring(lines, start)
        end = _end(lines, head)
        code = "\n".join(lines[head:end]).rstrip() if head < end and lines[head].strip() else ""
        yield start + 1, code, "\n".join(lines[start:end]).rstrip()
        start = end


def _behind_docstring(lines: list[str], start: int) -> int:
    """Index of the first line at or after `start` that is neither comment nor docstring."""
    at = start
    while at < len(lines) and lines[at].startswith(("#", '"')):
        if lines[at].startswith('"""') and lines[at].count('"""') == 1:
            at = next(i for i in range(at + 1, len(lines)) if lines[i].endswith('"""'))
        at += 1
    return at


def _end(lines: list[str], head: int) -> int:
    """Index behind the piece whose code begins at `head`."""
    at = head + 1
    while at < len(lines):
        line = lines[at]
        if line.strip() and not line[0].isspace() and line[0] not in ")]}":
            closes = line == "end" and not _OTHER.match(lines[head])
            return at + 1 if closes else at
        at += 1
    return at


def _name(code: str, types: set[str]) -> tuple[str, str]:
    """(name, group) of the definition with this code."""
    for pattern in (_TYPE, _CONSTANT, _MACRO):
        match = pattern.match(code)
        if match:
            return match[1], match[1]
    match = _CALLABLE.match(code)
    if match:
        return match[1], match[1]
    match = _FUNCTION.match(code)
    if not match:
        word = _WORD.search(code)
        name = word[0] if word else code
        return name, name
    name, arguments = match[1], match[2]
    first = _FIRST_TYPE.match(arguments)
    if first and first[1] == SPLIT_CLASS:
        return name, name
    return name, first[1] if first and first[1] in types and name not in types else name
