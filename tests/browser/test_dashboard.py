"""Dashboards that a browser opens from disk without a network."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.style import DARK, LIGHT
from rocframe.reports.export import embed_script, json_for_html

pytest.importorskip("vl_convert")

COUNTS = ("tp", "fp", "fn", "tn")
MODELS = ["linear_svm", "naive_bayes"]
VALUE = "view.signal('rf_threshold_angle')"


@pytest.fixture(scope="module")
def curves():
    predictions = rf.datasets.vote().filter(pl.col("model").is_in(MODELS))
    metrics = ["precision", "expected_cost"]
    costs = {"fp": 1, "fn": 1}
    return rf.curve(predictions, "label", "score", by="model", metrics=metrics, costs=costs)


@pytest.fixture(scope="module")
def page(curves, open_page, tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "board.html"
    path.write_text(
        "<meta charset=utf-8><div id=board></div>"
        f"<script>{embed_script()}</script><script>"
        f"window.spec = {json_for_html(rf.dashboard(curves).to_dict())};rocframe.embed('#board', "
        "window.spec, {renderer: 'svg'})"
        ".then(result => {window.view = result.view})</script>",
        encoding="utf-8",
    )
    page, events = open_page(path, viewport={"width": 1200, "height": 1100}, has_touch=True)
    page.wait_for_function("window.view")
    page.locator("select[name=rf_mode]").select_option(label="score")
    yield page
    assert events == []


def texts_of(page, name):
    """Return the texts of a named layer, in the order of its rows."""
    page.evaluate("view.runAsync().then(() => null)")
    return page.locator(f"svg g[class*=' {name}_'] text").all_text_contents()


def numbers_of(page):
    """Return the numbers that the page shows, by model and name."""
    spec = page.evaluate("spec")
    columns = spec["vconcat"][-1]["layer"][0]["encoding"]["x"]["sort"]
    rows = zip(*[iter(texts_of(page, "numbers"))] * len(columns), strict=True)
    return {
        model: dict(zip(columns, row, strict=True))
        for model, row in zip(texts_of(page, "names"), rows, strict=True)
    }


def check(page, curves, threshold):
    """Compare the page with the result of `at`."""
    all_numbers = numbers_of(page)
    for row in rf.at(curves, threshold=threshold).to_dicts():
        numbers = all_numbers[row["model"]]
        assert [numbers[name] for name in COUNTS] == [f"{row[name]:,}" for name in COUNTS]
        for name in ("fpr", "tpr", "expected_cost"):
            assert float(numbers[name].replace("−", "-")) == pytest.approx(row[name], abs=6e-4)
    check_matrix(page, curves, threshold, next(iter(all_numbers)))


def check_matrix(page, curves, threshold, model):
    """Compare the confusion matrix with that of a model."""
    (row,) = rf.at(curves, threshold=threshold).filter(pl.col("model") == model).to_dicts()
    assert texts_of(page, "matrix") == [f"{row[name]:,}" for name in COUNTS]


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
    check(page, curves, threshold)
    tooltip = page.locator("#vg-tooltip-element").inner_text()
    minus = f"{threshold:.7g}".replace("-", "−")
    assert tooltip.startswith(tuple(f"{model}: score ≥ {minus} · true pos" for model in MODELS))
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


@pytest.mark.parametrize("mode", ["alert rate", "false positive rate", "recall"])
def test_the_pointer_sets_the_rate_of_the_slider(page, mode):
    page.locator("select[name=rf_mode]").select_option(label=mode)
    slide(page, "rf_rate_strokeWidth", "0")
    box = page.locator("g[class*='roc_lines'] path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.wait_for_function("view.signal('rf_rate_strokeWidth') > 0")
    rate = page.evaluate("view.signal('rf_rate_strokeWidth')")
    name = {"alert rate": "alert_rate", "false positive rate": "fpr", "recall": "tpr"}[mode]
    shown = [float(numbers[name]) for numbers in numbers_of(page).values()]
    assert min(abs(value - rate) for value in shown) < 6e-4
    assert all(value >= rate - 6e-4 if name == "tpr" else value <= rate + 6e-4 for value in shown)
    page.locator("select[name=rf_mode]").select_option(label="score")


@pytest.mark.parametrize(("gesture", "model"), [("click", "naive_bayes"), ("tap", "linear_svm")])
def test_the_legend_and_the_list_are_one_selection(page, curves, gesture, model):
    selection = page.locator("select[name=rf_selected_value]")
    slide(page, "rf_threshold_angle", "0.3")
    (other,) = set(MODELS) - {model}
    entry = page.locator("svg text", has_text=f"{model} (AUC").first
    getattr(entry, gesture)()
    page.wait_for_function(f"view.signal('rf_selected_value') === '{model}'")
    assert selection.input_value() == model
    check_matrix(page, curves, 0.3, model)
    selection.select_option(label=other)
    check_matrix(page, curves, 0.3, other)
    assert entry.get_attribute("opacity") in {None, "1"}  # the legend marks no other selection
    selection.focus()  # this scrolls the page, so the pointer is above another element
    page.mouse.move(0, 0)
    page.keyboard.press("Home")
    page.wait_for_function("view.signal('rf_selected_value') === null")
    check_matrix(page, curves, 0.3, texts_of(page, "names")[0])


def test_a_saved_page_follows_the_dark_mode_and_fits_a_phone(curves, browser, tmp_path):
    path = tmp_path / "board.html"
    rf.save_chart(rf.dashboard(curves), path)
    page = browser.new_page(viewport={"width": 1200, "height": 900}, bypass_csp=True)
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("[data-drawn=yes]")
    names = "svg g[class*=' names_'] text"
    assert page.locator(names).first.get_attribute("fill") == LIGHT.foreground
    assert page.locator("input[name=rf_rate_strokeWidth]").is_visible()
    assert not page.locator("input[name=rf_threshold_angle]").is_visible()
    page.locator("select[name=rf_mode]").select_option(label="score")
    slide(page, "rf_threshold_angle", "0.3")
    before = page.locator("svg g[class*=' matrix_'] text").all_text_contents()
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        f"document.querySelector(\"{names}\")?.getAttribute('fill') === '{DARK.foreground}'"
    )
    label = page.locator("svg g.role-axis-label text").first
    assert label.get_attribute("fill") == DARK.muted
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.querySelector('svg.marks')?.clientHeight > 1500")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("svg g[class*=' matrix_'] text").all_text_contents() == before
    assert page.locator("input[name=rf_threshold_angle]").is_visible()
    assert page.locator("svg g.role-mark > [aria-label]").count() == 0
    page.close()


def test_altair_saves_a_dashboard_as_page_image_and_specification(curves, tmp_path):
    board = rf.dashboard(curves)
    for name in ("board.html", "board.png", "board.json"):
        board.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
