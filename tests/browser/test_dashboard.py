"""Dashboards that a browser opens from disk without a network."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.export import json_for_html
from rocframe.reports.offline_script import embed_script

sync_api = pytest.importorskip("playwright.sync_api")
vl_convert = pytest.importorskip("vl_convert")

CHROMIUM = Path("/usr/bin/chromium")
COUNTS = ("tp", "fp", "fn", "tn")
MODELS = ["linear_svm", "naive_bayes"]
VALUE = "view.signal('rf_threshold_angle')"

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed")


@pytest.fixture(scope="module")
def curves():
    predictions = rf.datasets.vote().filter(pl.col("model").is_in(MODELS))
    metrics = ["precision", "expected_cost"]
    costs = {"fp": 1, "fn": 1}
    return rf.curve(predictions, "label", "score", by="model", metrics=metrics, costs=costs)


@pytest.fixture(scope="module")
def page(curves, tmp_path_factory):
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # These texts would end the script element or start a comment.
    code = code.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    path = tmp_path_factory.mktemp("board") / "board.html"
    path.write_text(
        "<meta charset=utf-8><div id=board></div>"
        f"<script>{embed_script()}</script><script>rocframe.embed('#board', "
        f"{json_for_html(rf.dashboard(curves).to_dict())}, {{renderer: 'svg'}})"
        ".then(result => {window.view = result.view})</script>",
        encoding="utf-8",
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"], env={**os.environ}
        )
        context = browser.new_context(viewport={"width": 1200, "height": 1100}, has_touch=True)
        context.set_offline(True)
        page, events = context.new_page(), []
        page.on("console", lambda message: events.append(message.text))
        page.on("pageerror", lambda error: events.append(str(error)))
        page.on("request", lambda request: events.append(request.url))
        page.goto(path.resolve().as_uri())
        page.wait_for_function("window.view")
        yield page
        assert events == [path.resolve().as_uri()]
        browser.close()


def numbers_of(page):
    """Return the numbers that the page shows, by model and name."""
    page.evaluate("view.runAsync().then(() => null)")
    labels = page.locator("svg text[aria-label*=': ']").evaluate_all(
        "all => all.map(text => text.getAttribute('aria-label'))"
    )
    numbers = {model: {} for model in MODELS}
    for text in labels:
        model, _, rest = text.partition(": ")
        name, _, number = rest.partition(" ")
        if model in numbers:
            numbers[model][name] = number
    return numbers


def check(page, curves, threshold):
    """Compare the page with the result of `at`."""
    all_numbers = numbers_of(page)
    for row in rf.at(curves, threshold=threshold).to_dicts():
        numbers = all_numbers[row["model"]]
        assert [numbers[name] for name in COUNTS] == [f"{row[name]:,}" for name in COUNTS]
        for name in ("threshold", "fpr", "tpr", "expected_cost"):
            assert float(numbers[name].replace("−", "-")) == pytest.approx(row[name], abs=6e-4)
    first = rf.at(curves, threshold=threshold).row(0, named=True)
    for name in COUNTS:
        assert page.locator(f"svg text[aria-label='{name} {first[name]}']").count() == 1


def slide(page, name, value):
    slider = page.locator(f"input[name={name}]")
    slider.evaluate(
        "(input, value) => {input.value = value; input.dispatchEvent(new Event('input'))}", value
    )


@pytest.mark.parametrize("threshold", ["0.5", "0.105", "-1.2"])
def test_the_slider_changes_every_number(page, curves, threshold):
    slide(page, "rf_threshold_angle", threshold)
    assert page.evaluate(VALUE) == float(threshold)
    check(page, curves, float(threshold))


@pytest.mark.parametrize("panel", ["roc", "precision_recall", "gain"])
def test_the_pointer_on_a_curve_changes_every_number_and_the_slider(page, curves, panel):
    slide(page, "rf_threshold_angle", "1.2")
    box = page.locator(f"g[class*='{panel}_lines'] path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.wait_for_function(f"{VALUE} !== 1.2")
    threshold = page.evaluate(VALUE)
    assert threshold in curves["threshold"].to_list()
    check(page, curves, threshold)
    tooltip = page.locator("#vg-tooltip-element").inner_text()
    assert tooltip in {f"{model}: threshold {threshold:.7g}" for model in MODELS}
    slider = page.locator("input[name=rf_threshold_angle]").input_value()
    assert float(slider) == pytest.approx(threshold, abs=0.0051)


def test_the_pointer_on_a_bin_sets_its_left_edge(page, curves):
    slide(page, "rf_threshold_angle", "1.2")
    box = page.locator("g[class*='scores_bins'] path").nth(5).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.wait_for_function(f"{VALUE} !== 1.2")
    assert page.evaluate(VALUE) == pytest.approx(round(page.evaluate(VALUE), 1))
    check(page, curves, page.evaluate(VALUE))


def test_prevalence_and_costs_change_rates_and_costs_but_not_counts(page):
    slide(page, "rf_threshold_angle", "0.3")
    before = numbers_of(page)["naive_bayes"]
    slide(page, "rf_prevalence", "0.1")
    page.locator("select[name=rf_costs]").select_option(label="4 : 1")
    after = numbers_of(page)["naive_bayes"]
    tpr, fpr = (float(before[name]) for name in ("tpr", "fpr"))
    assert [after[name] for name in (*COUNTS, "tpr", "fpr")] == [
        before[name] for name in (*COUNTS, "tpr", "fpr")
    ]
    precision = 0.1 * tpr / (0.1 * tpr + 0.9 * fpr)
    assert float(after["precision"]) == pytest.approx(precision, abs=2e-3)
    cost = 0.1 * (1 - tpr) + 0.9 * fpr * 4
    assert float(after["expected_cost"]) == pytest.approx(cost, abs=4e-3)
    slide(page, "rf_prevalence", "0")
    page.locator("select[name=rf_costs]").select_option(label="1 : 1")
    assert numbers_of(page)["naive_bayes"] == before


def test_the_keyboard_selects_one_curve_in_the_list(page, curves):
    selection = page.locator("select[name=rf_selected]")
    selection.focus()  # this scrolls the page, so the pointer is above another element
    page.mouse.move(0, 0)
    slide(page, "rf_threshold_angle", "0.3")
    page.keyboard.press("End")
    page.wait_for_function("view.signal('rf_selected') === 'naive_bayes'")
    page.evaluate("view.runAsync().then(() => null)")
    row = rf.at(curves, threshold=0.3).filter(pl.col("model") == "naive_bayes").to_dicts()[0]
    for name in COUNTS:
        page.wait_for_selector(f"svg text[aria-label='{name} {row[name]}']")
    selection.focus()
    page.keyboard.press("Home")
    page.wait_for_function("view.signal('rf_selected') === null")


@pytest.mark.parametrize(("gesture", "model"), [("click", "naive_bayes"), ("tap", "linear_svm")])
def test_the_legend_shows_one_curve_alone(page, curves, gesture, model):
    slide(page, "rf_threshold_angle", "0.3")
    getattr(page.locator("svg text", has_text=f"{model} (AUC").first, gesture)()
    page.evaluate("view.runAsync().then(() => null)")
    row = rf.at(curves, threshold=0.3).filter(pl.col("model") == model).to_dicts()[0]
    for name in COUNTS:
        page.wait_for_selector(f"svg text[aria-label='{name} {row[name]}']")


def test_altair_saves_a_dashboard_as_page_image_and_specification(curves, tmp_path):
    board = rf.dashboard(curves)
    for name in ("board.html", "board.png", "board.json"):
        board.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
