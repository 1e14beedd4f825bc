"""Live charts of the documentation, which a browser opens from disk without a network."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from gzip import compress
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("sphinx")
pytest.importorskip("vl_convert")

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("index", "gallery/comparison", "gallery/pages")
BOX = ".live-chart"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built documentation, with some of its pages only."""
    folder = tmp_path_factory.mktemp("site")
    source, built = folder / "docs", folder / "html"
    (source / "gallery").mkdir(parents=True)
    (source / "images").symlink_to(DOCS / "images", target_is_directory=True)
    for page in PAGES:
        (source / f"{page}.md").symlink_to(DOCS / f"{page}.md")
    command = [sys.executable, "-m", "sphinx", "-Q", "-c", str(DOCS), str(source), str(built)]
    subprocess.run(command, check=True)
    return built


@pytest.fixture
def opened(browser, site):
    """Open a page of the site; return it with its errors and its requests of other places."""
    contexts = []

    def open_page(name, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_offline(True)
        page, events = context.new_page(), []
        page.on("pageerror", lambda error: events.append(str(error)))
        page.on("requestfailed", lambda request: events.append(request.url))
        page.goto((site / f"{name}.html").as_uri())
        return page, events

    yield open_page
    for context in contexts:
        context.close()


def drawn(page):
    """Scroll to each chart, and return the boxes of the charts when they are drawn."""
    boxes = page.locator(BOX).all()
    for box in boxes:
        box.scroll_into_view_if_needed()
        sync_api.expect(box).to_have_attribute("data-drawn", "yes", timeout=30_000)
    return boxes


@pytest.mark.parametrize(("name", "n_charts"), [("index", 1), ("gallery/comparison", 10)])
def test_live_charts_replace_the_pictures(opened, name, n_charts):
    page, events = opened(name)
    boxes = drawn(page)
    assert len(boxes) == n_charts
    for box in boxes:
        assert box.locator("svg.marks").is_visible()
        assert not any(image.is_visible() for image in box.locator("img").all())
        picture = box.locator("img").first
        assert box.get_attribute("role") == "img"
        assert box.get_attribute("aria-label") == picture.get_attribute("alt")
        # Charts are as wide as their pictures, so the text below them does not move.
        wide = float(picture.evaluate("one => parseFloat(one.style.width)"))
        room = box.evaluate("one => one.clientWidth")
        assert box.locator("svg.marks").bounding_box()["width"] == pytest.approx(min(wide, room))
    assert events == []


def test_only_charts_near_the_visible_part_of_a_page_are_drawn(opened):
    page, _ = opened("gallery/comparison", viewport={"width": 1200, "height": 500})
    page.wait_for_selector(f"{BOX}[data-drawn=yes]")
    last = page.locator(BOX).last
    assert last.get_attribute("data-drawn") is None
    last.scroll_into_view_if_needed()
    sync_api.expect(last).to_have_attribute("data-drawn", "yes")


def test_charts_follow_the_colors_of_the_page(opened):
    page, _ = opened("index")
    (box,) = drawn(page)
    title = box.locator("svg .role-title text").first
    colors = set()
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        colors.add(title.evaluate("one => getComputedStyle(one).fill"))
    assert colors == {"rgb(27, 31, 36)", "rgb(230, 233, 236)"}


def test_a_tooltip_shows_the_numbers_of_a_point(opened):
    page, _ = opened("gallery/comparison")
    drawn(page)[1].locator("svg .mark-symbol path").first.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element.visible").inner_text()
    assert "model" in tooltip
    assert "0.7" in tooltip


def test_a_dashboard_has_controls_and_fits_a_phone(opened):
    page, events = opened("gallery/pages", viewport={"width": 1200, "height": 900})
    (box,) = drawn(page)
    slider = box.locator("input[name^=rf_threshold]")
    heading = box.get_by_text("Numbers at score ≥ 0.5")
    assert heading.count() == 1
    slider.fill("0.75")
    sync_api.expect(box.get_by_text("Numbers at score ≥ 0.75")).to_have_count(1)
    page.set_viewport_size({"width": 360, "height": 800})
    narrow = "document.querySelector('.live-chart svg.marks').getBoundingClientRect().width < 340"
    page.wait_for_function(narrow)
    sync_api.expect(box.get_by_text("Numbers at score ≥ 0.75")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert events == []


@pytest.mark.parametrize("name", PAGES)
def test_without_javascript_the_pictures_are_visible(opened, name):
    page, _ = opened(name, java_script_enabled=False)
    for box in page.locator(BOX).all():
        assert box.locator("svg").count() == 0
        assert box.locator("img").is_visible()


def test_if_a_chart_cannot_be_drawn_its_picture_is_visible(opened, site):
    specification = site / "_static" / "charts" / "roc.js"
    text = specification.read_text(encoding="utf-8")
    broken = b64encode(compress(b'{"mark": {"type": "none"}}')).decode()
    specification.write_text(f"liveCharts['roc.js'] = '{broken}';", encoding="utf-8")
    try:
        page, _ = opened("index")
        page.locator(BOX).scroll_into_view_if_needed()
        page.wait_for_selector(f"{BOX}[data-drawn=no]")
        assert page.locator(f"{BOX} img").first.is_visible()
        assert page.locator(f"{BOX} .plot").is_hidden()
    finally:
        specification.write_text(text, encoding="utf-8")


def test_a_button_copies_the_complete_code_of_a_chart(opened):
    page, events = opened("gallery/comparison", permissions=["clipboard-read", "clipboard-write"])
    block = page.locator(".highlight-python").first
    block.get_by_role("button", name="Copy").click()
    sync_api.expect(block.get_by_role("button", name="Copied")).to_be_visible()
    code = page.evaluate("navigator.clipboard.readText()")
    assert code == block.locator("pre").inner_text()
    variables = {}
    exec(code, variables)
    assert variables["chart"].to_dict()["$schema"]
    assert events == []
