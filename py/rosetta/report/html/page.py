"""A page as one file: the template, its style and scripts, the data, and Plotly's own script.

What the run's files say is text from foreign programs. Jinja escapes it in the page, `for_script`
in the data; and the policy in the page's head lets only these very scripts run, and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")

# These could end the script or the line that the data stands in; in JSON they occur in texts only.
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def for_script(data: object) -> Markup:
    """`data` as JSON that can stand inside `<script>`; what is no number is null."""
    return Markup(msgspec.json.encode(data).decode().translate(_UNSAFE))


def page(template: str, scripts: Sequence[str], data: object, **context: Any) -> str:
    """A whole page; `scripts` are names of the package's files, `data` is what they draw."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    sources = [get_plotlyjs(), "\n".join(_read(name) for name in scripts)]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        style=Markup(_read("report.css")),
        scripts=[Markup(source) for source in sources],
        policy=_policy(sources),
        data=for_script(data),
        **context,
    )


def _policy(sources: Sequence[str]) -> str:
    """Nothing may be loaded from anywhere, and no script may run but those of the page."""
    hashes = " ".join(f"'sha256-{_digest(source)}'" for source in sources)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(source: str) -> str:
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
