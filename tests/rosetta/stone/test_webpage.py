"""The page in a real browser: nothing is fetched, two workers are chosen, links lead to a part."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from rosetta import stone, workers
from rosetta.errors import UserError
from rosetta.stone.stone import Column

WIDE: ViewportSize = {"width": 1400, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of every worker of the checkout."""
    html, _ = stone.write(tmp_path_factory.mktemp("stone") / "docs")
    return html


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no browser: install Debian's chromium (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that is open, with what its console said and what it asked for."""

    def __init__(self, browser: Browser, url: str, size: ViewportSize = WIDE) -> None:
        self.page: Page = browser.new_page(viewport=size)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def shown(self, part: str) -> list[str]:
        """The workers that are visible in a part, from left to right (or from above)."""
        found = self.page.eval_on_selector_all(
            f"#{part} article",
            """articles => articles.filter(a => a.checkVisibility()).map(a => {
                const { x, y } = a.getBoundingClientRect();
                return [x, y, a.dataset.worker];
            })""",
        )
        return [name for _, _, name in sorted(found)]

    def top(self, part: str) -> float:
        """How far below the window's upper edge a part begins, in pixels."""
        return float(self.page.eval_on_selector(f"#{part}", "e => e.getBoundingClientRect().top"))


@pytest.fixture
def visit(browser: Browser, file: Path) -> Iterator[Visit]:
    visit = Visit(browser, file.as_uri())
    yield visit
    visit.page.close()


def columns() -> list[Column]:
    return stone.columns()


def test_it_needs_nothing_else_and_complains_of_nothing(visit: Visit, file: Path) -> None:
    visit.page.select_option("#left", "jax")
    visit.page.wait_for_load_state("networkidle")
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith("data:")] == [file.as_uri()]


def test_it_shows_two_workers_before_anybody_has_chosen(visit: Visit) -> None:
    assert visit.shown("cnn") == ["torch", "tensorflow"]


def test_both_lists_have_every_worker_but_the_harness(visit: Visit) -> None:
    names = [column.name for column in columns()]
    assert "null" not in names
    for side in ("left", "right"):
        values = "options => options.map(option => option.value)"
        assert visit.page.eval_on_selector_all(f"#{side} option", values) == names


def test_each_list_chooses_its_side_in_every_part(visit: Visit) -> None:
    visit.page.select_option("#left", "julia")
    visit.page.select_option("#right", "jax")
    for part in stone.PARTS:
        assert visit.shown(part.key) == ["julia", "jax"]
    assert visit.page.url.endswith("#julia/jax")


def test_who_is_chosen_a_second_time_changes_sides(visit: Visit) -> None:
    visit.page.select_option("#right", "torch")
    assert visit.shown("mlp") == ["tensorflow", "torch"]
    visit.page.click("#swap")
    assert visit.shown("mlp") == ["torch", "tensorflow"]


def test_python_stands_beside_julia_highlighted(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file.as_uri() + "#torch/knet/mlp")
    python, julia = visit.page.locator("#mlp article:visible").all()
    if python.get_attribute("data-worker") != "torch":
        python, julia = julia, python
    assert "class Mlp(nn.Module)" in (python.text_content() or "")
    assert "mlp(p, rate) = Chain(" in (julia.text_content() or "")
    for side in (python, julia):
        assert side.locator(".code .k, .code .kt, .code .kd").count() > 0
    visit.page.close()


def test_a_permanent_link_selects_the_workers_and_goes_to_the_part(
    browser: Browser, file: Path
) -> None:
    visit = Visit(browser, file.as_uri() + "#jax/julia/train_step")
    assert visit.shown("train_step") == ["jax", "julia"]
    assert visit.page.input_value("#left") == "jax"
    assert visit.page.input_value("#right") == "julia"
    bar = visit.page.locator("nav").bounding_box() or {}
    assert bar["height"] <= visit.top("train_step") + 40 < WIDE["height"] / 2
    assert visit.page.title() == "JAX, Flax NNX and Julia: Rosetta Stone"
    visit.page.close()


def test_a_click_on_a_part_makes_its_permanent_link(visit: Visit) -> None:
    visit.page.select_option("#left", "caffe2")
    visit.page.click("nav a[data-part=gru]")
    assert visit.page.url.endswith("#caffe2/tensorflow/gru")
    assert visit.top("gru") < WIDE["height"] / 2
    visit.page.select_option("#left", "jax")
    assert visit.page.url.endswith("#jax/tensorflow/gru")


def test_a_link_to_a_worker_that_is_not_there_changes_nothing(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file.as_uri() + "#gone/julia/cnn")
    assert visit.shown("cnn") == ["torch", "tensorflow"]
    assert visit.complaints == []
    visit.page.close()


def test_a_note_stands_above_the_code_that_it_speaks_of(visit: Visit) -> None:
    article = visit.page.locator("#gru article[data-worker=torch]")
    note, code = article.locator(".note"), article.locator("pre").first
    assert "cuDNN" in (note.text_content() or "")
    assert note.locator("code").first.text_content() == "nn.GRU"
    assert (note.bounding_box() or {})["y"] < (code.bounding_box() or {})["y"]


def test_on_a_phone_one_stands_under_the_other_and_nothing_is_cut_off(
    browser: Browser, file: Path
) -> None:
    visit = Visit(browser, file.as_uri() + "#torch/julia/cnn", PHONE)
    width = visit.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"]
    first, second = (
        a.bounding_box() or {} for a in visit.page.locator("#mlp article:visible").all()
    )
    assert first["x"] == second["x"]
    assert abs(first["y"] - second["y"]) > 50
    visit.page.close()


def test_the_dark_page_is_dark_and_the_printed_one_light(visit: Visit) -> None:
    def brightness() -> int:
        colour = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(","))

    visit.page.emulate_media(color_scheme="light")
    assert brightness() > 700
    visit.page.emulate_media(color_scheme="dark")
    assert brightness() < 100
    visit.page.emulate_media(color_scheme="dark", media="print")
    assert brightness() > 700
    assert not visit.page.locator("nav").is_visible()


def test_code_is_text_and_not_part_of_the_page(
    made, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend that has HTML in it shows it."""
    backend = 'def start(device, threads):\n    return "<script>alert(1)</script><b>&amp;</b>"\n'
    columns = [stone.column(made(**{"backend.py": backend})), stone.column(workers.get("torch"))]
    monkeypatch.setattr("rosetta.stone.writing.columns", lambda: columns)
    file, _ = stone.write(tmp_path)
    visit = Visit(browser, file.as_uri())
    text = visit.page.locator("#start article[data-worker=made] pre").text_content() or ""
    assert text.strip() == backend.strip()
    assert visit.complaints == []
    visit.page.close()


def test_a_part_that_a_worker_lacks_says_so(
    made, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = "def start(device, threads):\n    return {}\n"
    columns = [stone.column(made(**{"backend.py": backend})), stone.column(workers.get("torch"))]
    monkeypatch.setattr("rosetta.stone.writing.columns", lambda: columns)
    file, _ = stone.write(tmp_path)
    visit = Visit(browser, file.as_uri())
    text = visit.page.locator("#resnet50 article[data-worker=made]").text_content() or ""
    assert "not in this worker" in text
    visit.page.close()


def test_nothing_is_written_when_a_workers_code_cannot_be_read(
    made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = made(**{"backend.py": "def start(:\n"})
    monkeypatch.setattr("rosetta.stone.writing.columns", lambda: [stone.column(worker)])
    with pytest.raises(UserError):
        stone.write(tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
