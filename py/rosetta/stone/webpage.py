"""The page as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2
import pygments
from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from rosetta.stone import notes
from rosetta.stone.parts import PARTS, Snippet
from rosetta.stone.stone import Column

_TEMPLATES = Path(__file__).with_name("templates")
_LIGHT, _DARK = "vs", "github-dark"
_POLICY = "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is loaded from anywhere, and no script runs but the page's own."""

_FIRST = ("torch", "tensorflow")
"""Who is shown before anybody has chosen, where they are there."""


def html(columns: Sequence[Column]) -> str:
    """The page with all `columns`, two of which are visible at first."""
    names = [column.name for column in columns]
    first = _FIRST if set(_FIRST) <= set(names) else tuple(names[:2])
    script = _read("stone.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["highlighted"] = _highlighted
    environment.filters["inline"] = _inline
    page = environment.get_template("stone.html").render(
        columns=columns,
        parts=PARTS,
        first=first,
        script=Markup(script),
        style=Markup(_read("stone.css") + _colours()),
        policy=_POLICY.format(digest),
    )
    return page.rstrip() + "\n"


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@functools.cache
def _highlighted(snippet: Snippet) -> Markup:
    lexer = get_lexer_by_name(snippet.source.language, stripnl=False)
    return Markup(pygments.highlight(snippet.text, lexer, HtmlFormatter(nowrap=True)))


def _inline(note: str) -> Markup:
    """A note, with what stands in backticks as code."""
    pieces = (f"<code>{escape(p)}</code>" if code else escape(p) for p, code in notes.split(note))
    return Markup("".join(pieces))


def _colours() -> str:
    light, dark = _token_colours(_LIGHT), _token_colours(_DARK)
    light.append(".code .sd { color: #3a6b35 }")  # docstrings quiet, as comments are
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}"])


def _token_colours(style: str) -> list[str]:
    rules: list[str] = HtmlFormatter(style=style).get_token_style_defs(".code")  # type: ignore[no-untyped-call]
    return rules
