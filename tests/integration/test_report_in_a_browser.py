"""`report.html` of a real run, in a real browser: Chromium without a window and without a network.

It is looked for on the PATH and never downloaded: `apt-get install chromium` on Debian.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Error, Page, sync_playwright

import canned_run
from rosetta import workers
from rosetta.report.html import write_report
from rosetta.results import read_summary
from rosetta.results.records import ProofMeasurement
from tested_workers import needed

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
BAD = "<img src=x onerror=document.title='bad'></script><script>document.title='bad'</script>"

CHARTS_ARE_DRAWN = """
    () => [...document.querySelectorAll('.chart')].every(chart => chart.querySelector('.main-svg'))
"""


@dataclass
class Watched:
    """A page, and what it did that it shouldn't have."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def chart(self, kind: str, task: int = 0) -> str:
        """Selector of a figure."""
        return f'figure[data-task="{task}"][data-kind="{kind}"]'

    def cell(self, worker: int) -> str:
        """What a row of the first table says of the ratio."""
        selector = f'table[data-task="0"] td.ratio[data-worker="{worker}"]'
        return self.page.locator(selector).inner_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} on the PATH: apt-get install chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=program, args=arguments)
        except Error as error:
            pytest.fail(f"{program} doesn't start: {error}")
        yield started
        started.close()


@pytest.fixture
def show(browser):
    """Opens a page from disk and waits for its charts; at the end it must not have complained."""
    opened: list[Watched] = []

    def open_(path: Path, **how) -> Watched:
        context = browser.new_context(**{"viewport": DESK, "offline": True, **how})
        watched = Watched(context.new_page())
        opened.append(watched)
        page = watched.page
        page.on("console", lambda message: watched.complaints.append(message.text))
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
        page.on("request", lambda request: watched.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function(CHARTS_ARE_DRAWN, timeout=60_000)
        return watched

    yield open_
    for watched in opened:
        assert watched.complaints == []
        assert [url for url in watched.requests if not url.startswith("file:")] == []
        assert len(watched.requests) == 1
        watched.page.context.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The report that a real run of two frameworks and the harness wrote at its end."""
    for name in ("numpy", "torch", "null"):
        needed(workers.get(name))
    out = tmp_path_factory.mktemp("browser") / "run"
    asked = "bench --task mlp --worker numpy,torch,null --steps 60 --data synthetic --no-proof"
    done = subprocess.run(
        [sys.executable, "-m", "rosetta", *asked.split(), "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert "no report" not in done.stderr
    return out / "report.html"


@pytest.fixture(scope="module")
def canned(tmp_path_factory) -> Path:
    """Rows of every kind with hostile names, forward and backward told, and a proof."""
    proof = [
        ProofMeasurement(quantity=f"{BAD} logits", deviation=1e-7, tolerance=2e-6),
        ProofMeasurement(quantity="initial", deviation=0.0, tolerance=0.0),
    ]
    rows = [
        canned_run.row(BAD, BAD, proof_measurements=proof),
        canned_run.row("b", BAD),
        canned_run.row("broken", BAD, status="failed", reason=BAD),
    ]
    ms = canned_run.MS
    done = canned_run.steps({BAD: 10, "b": 12}, BAD, forward_ns=ms, backward_ns=2 * ms)
    directory = tmp_path_factory.mktemp("canned") / "run"
    canned_run.write(directory, rows, done, summary={"baseline": "b", "notes": [BAD]})
    return write_report(directory)


def test_every_chart_is_drawn_without_complaint_or_request(show, run):
    shown = show(run)
    kinds = [figure.get_attribute("data-kind") for figure in shown.page.locator("figure").all()]
    expected = {"speed", "spread", "times", "parts", "start", "loss", "accuracy", "memory"}
    assert set(kinds) == expected
    assert shown.page.title().startswith("Run ")


def test_what_foreign_programs_say_stays_text(show, canned):
    shown = show(canned)
    page = shown.page
    assert "bad" not in page.title()
    assert page.locator("img").count() == 0
    # Plotly reads markup in names: they must come out as they went in.
    assert BAD in page.locator(f"{shown.chart('times')} .legendtext").first.text_content()
    assert page.locator(f"{shown.chart('proof')} .points path").count() == 2
    names = page.locator(f"{shown.chart('parts')} .legendtext").all_text_contents()
    assert names == ["wait", "copy", "forward", "backward", "update and rest"]


def test_a_chart_answers_to_the_pointer(show, run):
    shown = show(run)
    figure = shown.page.locator(shown.chart("loss"))
    figure.scroll_into_view_if_needed()
    assert figure.locator(".hoverlayer .hovertext").count() == 0
    box = figure.locator(".nsewdrag").bounding_box()
    # A long curve passes near the middle of its left half; the first step's loss lies at the left.
    first = shown.page.evaluate(
        """selector => {
            const chart = document.querySelector(`${selector} .chart`);
            const { xaxis, yaxis } = chart._fullLayout;
            const curve = chart.data[0];
            return [xaxis.l2p(curve.x[3]), yaxis.l2p(curve.y[3])];
        }""",
        shown.chart("loss"),
    )
    shown.page.mouse.move(box["x"] + first[0], box["y"] + first[1])
    label = figure.locator(".hoverlayer .hovertext").first
    label.wait_for(timeout=10_000)
    assert "step 3: loss" in label.text_content()


def test_a_chart_answers_to_its_legend(show, run):
    shown = show(run)
    figure = shown.page.locator(shown.chart("times"))
    figure.scroll_into_view_if_needed()
    points = figure.locator(".scatterlayer .trace")
    assert points.count() == 2, "the harness is there on a click only"
    figure.locator(".legendtoggle").nth(0).click()
    figure.locator(".scatterlayer .trace").nth(1).wait_for(state="detached", timeout=10_000)
    figure.locator(".legendtoggle").nth(2).click()
    figure.locator(".scatterlayer .trace").nth(1).wait_for(state="attached", timeout=10_000)


@pytest.mark.exhaustive
def test_boxes_become_violins(show, run):
    shown = show(run)
    figure = shown.page.locator(shown.chart("spread"))
    assert figure.locator(".boxlayer .trace").count() == 2
    figure.locator("button.shape").click()
    figure.locator(".violinlayer .trace").first.wait_for(state="attached", timeout=10_000)
    assert figure.locator(".boxlayer .trace").count() == 0


def test_another_baseline_changes_the_numbers(show, run):
    shown = show(run)
    (_, torch, _) = read_summary(run.parent).rows
    low, high = torch.ratio_interval
    assert shown.cell(0) == "1.00"
    assert shown.cell(1) == f"{torch.ratio:.2f} ({low:.2f}-{high:.2f})", "the run's own ratio"
    assert shown.cell(2) == "", "the harness isn't compared"
    page = shown.page
    axis = page.locator(f"{shown.chart('speed')} .xtitle")
    assert "relative to numpy" in axis.text_content()

    page.select_option("#baseline", label="torch")
    assert shown.cell(1) == "1.00"
    assert shown.cell(0) == f"{1 / torch.ratio:.2f} ({1 / high:.2f}-{1 / low:.2f})"
    assert page.locator('table[data-task="0"] th.ratio').inner_text() == "vs torch"
    assert "relative to torch" in axis.text_content()
    words = page.locator("#words-0-speed li").all_text_contents()
    assert any(sentence.startswith("numpy: ") and "torch’s speed" in sentence for sentence in words)


def brightness(page: Page) -> float:
    """Mean grey of what is seen, 0 to 255."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("L")
    return sum(image.tobytes()) / (image.width * image.height)


def test_the_dark_scheme_is_dark_and_the_reader_can_choose(show, run):
    light, dark = show(run), show(run, color_scheme="dark")
    assert brightness(light.page) > 200
    assert brightness(dark.page) < 60
    ink = ".chart .xtitle"
    before = light.page.locator(ink).first.evaluate("node => getComputedStyle(node).fill")
    light.page.click("#theme")
    light.page.wait_for_function(
        "before => getComputedStyle(document.querySelector('.chart .xtitle')).fill !== before",
        arg=before,
    )
    assert brightness(light.page) < 60
    light.page.click("#theme")
    assert brightness(light.page) > 200


@pytest.mark.parametrize("name", ["run", "canned"])
def test_a_phone_scrolls_the_page_in_one_direction_only(show, request, name):
    how = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
    page = show(request.getfixturevalue(name), **how).page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for figure in page.locator("figure").all():
        box = figure.locator(".main-svg").first.bounding_box()
        assert box["x"] + box["width"] <= PHONE["width"] + 1


@pytest.mark.exhaustive
def test_on_paper_it_is_light_and_whole(show, run):
    shown = show(run, color_scheme="dark")
    page = shown.page
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
            const { theme } = document.documentElement.dataset;
            const charts = [...document.querySelectorAll(".main-svg")];
            window.onPaper = [theme, Math.max(...charts.map((svg) => svg.clientWidth))];
        })"""
    )
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    theme, width = page.evaluate("() => window.onPaper")
    assert theme == "light"
    assert width <= 700, "A4 is 794 wide, with margins less"
    page.wait_for_function("() => document.documentElement.dataset.theme === undefined")


def test_a_picture_of_it_is_not_blank(show, run):
    shown = show(run)
    for kind in ("speed", "times", "loss", "memory"):
        picture = shown.page.locator(f"{shown.chart(kind)} .chart").screenshot()
        colours = Image.open(io.BytesIO(picture)).convert("RGB").getcolors(10**6)
        coloured = sum(n for n, (red, _, blue) in colours if abs(red - blue) > 40)
        assert coloured > 50, kind


@pytest.mark.exhaustive
def test_a_sweep_has_curves(show, tmp_path):
    for size in (8, 64):
        rows = [canned_run.row(w, batch_size=size, samples_per_s=9.0 * size) for w in ("a", "b")]
        canned_run.write(tmp_path / f"batch_{size}", rows, [])
    shown = show(write_report(tmp_path))
    figure = shown.page.locator(shown.chart("batch_size"))
    assert figure.locator(".scatterlayer .trace").count() == 2
