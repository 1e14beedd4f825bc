"""The page of `rocframe evaluate`, opened from disk in a browser that has no network."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import rocframe as rf
from rocframe.cli import main

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = Path("/usr/bin/chromium")
NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "שלום עולם",
    "🦊 <b>&amp;",
    "a very long name of a model that goes on and on and on and then ends",
    "{{ title }}",
]

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"], env={**os.environ}
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a page; return it, and all that it complained of, asked for, and said."""
    contexts = []

    def open_page(path, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_offline(True)
        page, events = context.new_page(), []
        page.on("console", lambda message: events.append(("console", message.text)))
        page.on("pageerror", lambda error: events.append(("error", str(error))))
        page.on(
            "dialog", lambda dialog: (events.append(("dialog", dialog.message)), dialog.dismiss())
        )
        page.on("request", lambda request: events.append(("request", request.url)))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("body[data-drawn]")
        return page, [event for event in events if event != ("request", path.resolve().as_uri())]

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def vote(tmp_path_factory):
    out = tmp_path_factory.mktemp("vote")
    log = str(rf.datasets.path("vote"))
    options = ["--label", "label", "--score", "score", "--by", "model", "--out", str(out), "-q"]
    assert main(["evaluate", log, *options]) == 0
    return out / "charts.html"


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    models = rf.datasets.vote()["model"].unique().sort()
    named = dict(zip(models, NASTY, strict=True))
    rf.datasets.vote().select(
        pl.col("model").replace_strict(named, return_dtype=pl.String).alias(NASTY[0]),
        pl.col("label").alias(NASTY[1]),
        pl.col("score").alias("a.b[0]:Q"),
    ).write_parquet(folder / "<i>.parquet")
    arguments = [str(folder / "<i>.parquet"), "--label", NASTY[1], "--score", "a.b[0]:Q"]
    arguments += ["--by", NASTY[0], "--title", NASTY[0], "--out", str(folder), "-q"]
    assert main(["evaluate", *arguments]) == 0
    return folder / "charts.html"


def test_both_charts_are_drawn_and_nothing_is_asked_for(opened, vote):
    page, events = opened(vote)
    assert events == []
    assert page.locator(".sheet svg.marks").count() == 2
    for number in range(2):
        chart = page.locator(".sheet svg.marks").nth(number)
        lines = chart.locator(".mark-line path").count()
        assert lines == 6
        assert chart.bounding_box()["width"] > 300


def test_a_tooltip_names_the_model_and_the_threshold(opened, vote):
    page, _ = opened(vote)
    box = page.locator(".sheet svg.marks").first.bounding_box()
    for step in range(100):
        page.mouse.move(box["x"] + 60 + 2 * step, box["y"] + 180)
        if page.locator("#vg-tooltip-element.visible").count():
            break
    tooltip = page.locator("#vg-tooltip-element").inner_text()
    assert "model" in tooltip
    assert "threshold" in tooltip


def test_nasty_names_are_only_names(opened, nasty):
    page, events = opened(nasty)
    assert events == []
    assert page.title() == NASTY[0]
    assert page.locator("img").count() == 0
    first = page.locator("tbody th").all_inner_texts()
    assert sorted(first) == sorted(NASTY)
    assert page.locator(".sheet .mark-line path").count() == 12


@pytest.mark.parametrize("width", [320, 360, 768, 1200])
def test_nothing_is_wider_than_the_screen(opened, nasty, width):
    page, _ = opened(nasty, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for number in range(2):
        sheet = page.locator(".sheet").nth(number)
        assert sheet.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_charts_fit_again_when_the_window_changes(opened, vote):
    page, events = opened(vote, viewport={"width": 1200, "height": 800})
    wide = page.locator(".sheet svg.marks").first.bounding_box()["width"]
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(
        f"document.querySelector('.sheet svg.marks').getBoundingClientRect().width < {wide} - 50"
    )
    assert events == []
    assert page.locator(".sheet svg.marks").count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(opened, vote, scheme):
    page, _ = opened(vote, color_scheme=scheme)
    paper, ink = (
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    assert contrast(paper, ink) > 7
    quiet = page.evaluate("getComputedStyle(document.querySelector('.quiet')).color")
    assert contrast(paper, quiet) > 4.5
    sheet = page.evaluate("getComputedStyle(document.querySelector('.sheet')).backgroundColor")
    assert sheet == "rgb(255, 255, 255)"


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2, from 1 to 21."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [int(part) / 255 for part in color.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_printed_page_has_all_of_it(opened, vote):
    page, _ = opened(vote, viewport={"width": 700, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    assert page.locator(".vega-embed summary").first.is_hidden()


def test_without_javascript_the_numbers_are_there(browser, vote):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(vote.resolve().as_uri())
    assert page.locator("noscript p").inner_text().startswith("The charts are drawn by JavaScript")
    assert page.locator("tbody tr").count() == 6
    context.close()
