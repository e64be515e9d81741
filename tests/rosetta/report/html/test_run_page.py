"""The page of a run, as HTML: what it tells, and that nothing in the run's files can act on it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from canned_run import MS, row, steps, write
from rosetta.errors import UserError
from rosetta.report.html import html
from rosetta.report.html.page import for_script
from rosetta.results import Evaluation

HOSTILE = {
    "the end of a script": "</script><script>alert(1)</script>",
    "a comment and a script": "<!--<script>",
    "markup": "<img src=x onerror=alert(1)>",
    "quotes": "\"'` onmouseover=alert(1) x='",
    "line separators": "a\u2028b\u2029c",
    "entities": "&lt;b&gt; &amp;amp;",
    "a template": "{{ 7 * 7 }} {% include 'x' %}",
    "another template": "${alert(1)} %{x}",
    "property names": "__proto__",
    "control characters": "a\0b\x1b[31mc",
    "direction marks": "abc\u202edef",
}


class Page(HTMLParser):
    """Elements, texts and the data of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._inside: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside.append(tag)
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside.pop()

    def handle_data(self, data):
        if self._inside:
            self.scripts[-1] += data
        else:
            self.texts.append(data)

    @property
    def shape(self) -> list[tuple[str, set[str]]]:
        """Every element and the names of its attributes."""
        return [(tag, set(attributes)) for tag, attributes in self.elements]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def data(self):
        return json.loads(self.scripts[1])


@pytest.fixture
def page(tmp_path):
    def make(*arguments, baseline=None, **more) -> Page:
        return Page(html(write(tmp_path / "run", *arguments, **more), baseline))

    return make


@pytest.mark.parametrize("words", HOSTILE.values(), ids=HOSTILE)
def test_words_of_foreign_programs_stay_words(page, words):
    """In every place at once; the page has the same elements as with harmless words."""

    def built(name: str) -> Page:
        rows = [
            row(name, name, framework_version=name, disclosures={name: name}),
            row("b", name, status="failed", reason=name, device=name, data=name),
            row("c", name, proof="different", proof_detail=name),
        ]
        record = {
            "command": ["rosetta", name],
            "options": {name: name, "schedule": name},
            "machine": {"cpu_model": name, name: [name], "gpus": [name]},
            "workers": {name: {"status": name, "hello": {"versions": {name: name}}}},
            "environment": {name: name},
            "revision": name,
            "started": name,
        }
        summary = {"run": name, "baseline": name, "notes": [name], "missing": [name]}
        return page(rows, steps({name: 10, "b": 5}, name), run=record, summary=summary)

    hostile, harmless = built(words), built("harmless")
    assert hostile.shape == harmless.shape
    assert len(hostile.scripts) == 4
    assert hostile.data["workers"][0]["name"] == words
    assert "49" not in hostile.text


def test_the_policy_lets_only_the_pages_own_scripts_run(page):
    made = page([row()], steps({"numpy": 1}))
    (policy,) = [
        attributes["content"]
        for tag, attributes in made.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    own = [
        base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        for source in made.scripts[2:]
    ]
    assert allowed == own
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_nothing_is_loaded_from_elsewhere(page):
    made = page([row()], steps({"numpy": 1}))
    for tag, attributes in made.elements:
        assert "src" not in attributes, tag
        assert not (attributes.get("href") or "#").startswith(("http", "//", "/")), tag


def test_data_in_a_script_is_what_it_was():
    for words in HOSTILE.values():
        text = for_script({words: words})
        assert not re.search("[<>&\u2028\u2029]", text)
        assert json.loads(text) == {words: words}
    assert for_script([float("nan")]) == "[null]"


def test_every_row_is_shown_with_its_reason(page):
    rows = [
        row("numpy"),
        row("torch", status="failed", reason="the loss was not finite", proof="unproved"),
        row("caffe2", status="skipped", reason="needs Python 3.9", proof="unproved"),
        row("jax", proof="different", proof_detail="logits: 0.3 (tolerance 2e-06)"),
        row("mxnet", proof="unproved", proof_detail="the reference has no form x"),
        row("null", proof="unproved", harness=True),
        row("knet", status="timeout", proof="unproved"),
    ]
    text = page(rows, steps({"numpy": 10})).text
    for words in (
        "failed: the loss was not finite",
        "skipped: needs Python 3.9",
        "not the same network: logits: 0.3 (tolerance 2e-06)",
        "unproved: the reference has no form x",
        "measures the harness: no framework, not compared",
        "timeout: see logs/knet.log",
    ):
        assert words in text.split("Not compared, or unproved")[-1]
    assert "measures the harness" not in page([row()], []).text


def test_the_baseline_is_the_runs_or_the_one_asked_for(page):
    done = steps({"numpy": 10, "torch": 5})
    rows = [row("numpy"), row("torch")]
    assert page(rows, done, summary={"baseline": "torch"}).data["baseline"] == 1
    assert page(rows, done, summary={"baseline": "torch"}, baseline="numpy").data["baseline"] == 0
    with pytest.raises(UserError, match="unknown worker 'torhc': did you mean torch"):
        page(rows, done, baseline="torhc")


def test_where_the_runs_baseline_failed_another_stands_in(page):
    done = steps({"numpy": 10, "torch": 5, "jax": 6})
    rows = [row("numpy", status="failed", reason="x"), row("torch"), row("jax")]
    assert page(rows, done, summary={"baseline": "numpy"}).data["baseline"] == 1
    assert page(rows[:1], done, summary={"baseline": "numpy"}).data["baseline"] is None
    with pytest.raises(UserError, match="numpy has no result to compare with; these have: torch"):
        page(rows, done, baseline="numpy")


def test_how_to_repeat_it_and_on_what(page):
    record = {
        "command": ["/somewhere/rosetta", "bench", "--out", "a folder"],
        "options": {"seed": 7, "threads": None},
        "workers": {"numpy": {"status": "living", "lock_sha256": "abc123"}},
    }
    text = page([row()], [], run=record).text
    assert "rosetta bench --out 'a folder'" in text
    assert "/somewhere" not in text
    for words in (
        "a processor",
        "0123456789ab",
        "seed 7",
        "lock_sha256 abc123",
        "OMP_NUM_THREADS 2",
    ):
        assert words in text
    assert "threads None" not in text


def test_an_interrupted_run_is_shown_as_far_as_it_goes(page):
    """A killed run has steps of a task that has no row yet."""
    summary = {"state": "running", "missing": ["cnn"]}
    made = page([row()], [*steps({"numpy": 10}), *steps({"numpy": 9}, "cnn")], summary=summary)
    assert "cnn not finished" in made.text
    assert "The run ended before this task had a row" in made.text
    assert len(made.data["tasks"][1]["charts"]["times"][0]["ms"]) == 20
    assert "The run ended" not in page([row()], []).text


def test_a_run_that_has_done_nothing_has_a_page(page):
    assert "Run 20260102-030405-abcd" in page([], [], summary={"state": "interrupted"}).text


def test_a_task_that_trains_nothing_has_columns_of_its_own(page):
    made = page(
        [row("torch", "resnet50", forward_only=True, batch_size=32, samples_per_s=20.0)],
        steps({"torch": 1600}, "resnet50", loss=None),
    )
    assert "images/s" in made.text
    assert "s per 1000 images" in made.text
    kinds = {attributes.get("data-kind") for tag, attributes in made.elements if tag == "figure"}
    assert "times" in kinds
    assert not kinds & {"accuracy", "loss"}


def test_charts_are_told_in_words(page):
    rows = [row("numpy", evaluations=[Evaluation(after_step=24, samples=512, accuracy=0.25)])]
    made = page(rows, steps({"numpy": 10}))
    ids = {attributes["id"] for _, attributes in made.elements if "id" in attributes}
    charts = [a for tag, a in made.elements if tag == "div" and a.get("role") == "img"]
    assert charts
    for chart in charts:
        assert {chart["aria-labelledby"], chart["aria-describedby"]} <= ids
    for words in ("numpy: median 10.2 ms", "numpy: 0.250 after step 24", "numpy: 300 MB"):
        assert words in made.text


def test_equal_curves_are_said_to_be_equal(page):
    rows = [row("a"), row("b")]
    assert "between two curves: 0.0e+00" in page(rows, steps({"a": 1, "b": 1})).text
    other = [*steps({"a": 1}), *steps({"b": 1}, loss=2.5)]
    assert "between two curves: 9.6e-01" in page(rows, other).text


def test_a_long_run_says_that_it_is_thinned_and_stays_small(tmp_path):
    """Twelve workers: the page's data is what grows, Plotly's 5 MB don't."""
    workers = {f"worker-{n}": 10.0 + n for n in range(12)}
    done = steps(workers, total=6000, block=50, copy_ns=123_457, wait_ns=12 * MS + 7)
    source = html(write(tmp_path, [row(name) for name in workers], done))
    page = Page(source)
    assert "consecutive steps of a worker two are drawn" in page.text
    assert len(page.scripts[1]) < 3_000_000
    assert len(source) < 8_000_000
