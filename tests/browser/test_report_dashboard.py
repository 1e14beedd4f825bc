"""The dashboard of a report that a browser opens from disk without a network."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.dashboard import LOW_PANEL_HEIGHT

MODELS = ["decision_tree", "logistic_regression"]
COUNTS = ("tp", "fp", "fn", "tn")


@pytest.fixture(scope="module")
def predictions():
    return rf.datasets.vote().filter(pl.col("model").is_in(MODELS))


@pytest.fixture(scope="module")
def opened(predictions, open_page, tmp_path_factory):
    """Open a report by model and fold."""
    path = tmp_path_factory.mktemp("board") / "report.html"
    rf.report(predictions, "label", "score", path=path, by=["model", "fold"], kind="roc")
    page, events = open_page(path, "body[data-drawn]", viewport={"width": 1280, "height": 900})
    yield page
    assert events == []


def slide(page, value):
    page.locator(".controls input[name=rf_threshold_angle]").evaluate(
        "(input, value) => {input.value = value; input.dispatchEvent(new Event('input'))}", value
    )


def check_counts(page, predictions, threshold):
    """Compare the table of numbers with `at` for the pooled curve of each model."""
    curves = rf.curve(predictions, "label", "score", by="model")
    rows = {row["model"]: row for row in rf.at(curves, threshold=threshold).to_dicts()}
    models = page.locator(".dashboard svg g[class*=' names_'] text").all_text_contents()
    texts = page.locator(".dashboard svg g[class*=' numbers_'] text").all_text_contents()
    expected = [f"{rows[model][name]:,}" for model in models[:2] for name in COUNTS]
    if len(models) == 2:  # one table with all numbers: the threshold, the counts and other columns
        columns = len(texts) // 2
        assert [texts[k * columns + i] for k in (0, 1) for i in range(1, 5)] == expected
    else:  # on narrow pages, the table has several parts
        assert sorted(models[:2]) == sorted(rows)
        assert {text for text in expected if len(text) > 2} <= set(texts)


@pytest.mark.parametrize("threshold", ["0.5", "0.21", "0.9"])
def test_the_dashboard_shows_the_numbers_of_the_tables_at_any_threshold(
    opened, predictions, threshold
):
    slide(opened, threshold)
    opened.wait_for_timeout(500)
    check_counts(opened, predictions, float(threshold))


def test_the_dashboard_keeps_its_threshold_at_another_width(opened, predictions):
    slide(opened, "0.3")
    panels = opened.locator(".dashboard svg.marks")
    wide = panels.bounding_box()
    opened.set_viewport_size({"width": 360, "height": 800})
    opened.wait_for_function(
        "high => document.querySelector('.dashboard svg.marks')"
        "?.getBoundingClientRect().height > high",
        arg=1.5 * wide["height"],
    )
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360
    check_counts(opened, predictions, 0.3)
    assert opened.locator(".controls input:visible, .controls select:visible").count() == 5
    opened.set_viewport_size({"width": 1280, "height": 900})


def test_no_part_of_the_dashboard_is_clipped_at_900_pixels(opened):
    opened.set_viewport_size({"width": 900, "height": 900})
    opened.wait_for_function(
        "() => { const box = document.querySelector('.dashboard .chart');"
        " return box.clientWidth < 900 && box.scrollWidth <= box.clientWidth; }"
    )
    right = "all => Math.max(...all.map((one) => one.getBoundingClientRect().right))"
    assert opened.locator(".dashboard svg.marks text").evaluate_all(right) <= 900
    opened.set_viewport_size({"width": 1280, "height": 900})


def test_a_printed_report_has_no_dashboard(opened):
    opened.emulate_media(media="print")
    assert not opened.locator(".controls").is_visible()
    assert not opened.locator(".dashboard svg.marks").is_visible()
    opened.emulate_media(media="screen")
    assert opened.locator(".controls").is_visible()


def shown_rates(page):
    """Return the event rates of the calibration panel, from the positions of its points."""
    marks = page.locator(".dashboard svg g[class*=' events_points_'] path")
    places = marks.evaluate_all("all => all.map(mark => mark.getAttribute('transform'))")
    return sorted(
        1 - float(place.partition(",")[2].rstrip(")")) / LOW_PANEL_HEIGHT for place in places
    )


def test_the_prevalence_slider_changes_the_event_rates_of_the_calibration_panel(
    opened, predictions
):
    table = rf.calibration(predictions, "label", "score", by="model")
    share = predictions["label"].mean()
    slider = opened.locator(".controls input[name=rf_prevalence]")
    for prevalence in (0.1, 0):
        factor = prevalence / (1 - prevalence) * (1 - share) / share if prevalence else 1
        expected = sorted(
            factor * rate / (factor * rate + 1 - rate) for rate in table["event_rate"]
        )
        # A slider that moves while the page is still being drawn has no effect, so it moves again.
        for _ in range(20):
            slider.evaluate(
                "(input, value) => {input.value = value; input.dispatchEvent(new Event('input'))}",
                str(prevalence),
            )
            opened.wait_for_timeout(500)
            if shown_rates(opened) == pytest.approx(expected, abs=1e-3):
                break
        assert shown_rates(opened) == pytest.approx(expected, abs=1e-3)
