"""Charts of plans: power, or the detectable difference, against the number of rows."""

from __future__ import annotations

import re

import pytest

import rocframe as rf
from tests.charts.specifications import encodings, records, svg


def axes(chart) -> tuple[str, str]:
    return tuple(encodings(chart, axis)[0]["field"] for axis in "xy")


def test_ticks_of_numbers_of_rows_are_whole_numbers():
    shown = svg(rf.power(auc=0.9, n_pos=[2, 3], n_neg=30).roc.chart())
    labels = re.search(r'aria-label="X-axis.*?role-axis-label.*?</g>', shown)[0]
    assert re.findall(r">([^<]+)</text>", labels) == ["0", "1", "2", "3"]


def lines(chart) -> int:
    return svg(chart).count('aria-roledescription="line mark"')


def test_power_has_a_line_for_each_area_against_the_number_of_positives():
    table = rf.power(auc=[0.6, 0.7], n_pos=[10, 20, 50], n_neg=100)
    chart = table.roc.chart()
    assert axes(chart) == ("n_pos", "power")
    assert lines(chart) == 2
    assert encodings(chart, "color")[0]["scale"]["domain"] == ["0.6", "0.7"]
    assert [record["power"] for record in records(chart)] == pytest.approx(
        table["power"].to_list(), rel=1e-6
    )


def test_plans_whose_numbers_of_rows_differ_by_one_have_separate_lines():
    chart = rf.power(auc=0.6, n_pos=[10, 20], n_neg=[10001, 10002]).roc.chart()
    assert lines(chart) == 2
    assert encodings(chart, "color")[0]["scale"]["domain"] == ["10001", "10002"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"auc": [0.6, 0.7], "n_pos": 20, "n_neg": 30}, ("difference", "power")),
        ({"auc": 0.6, "n_pos": 20, "n_neg": [30, 60]}, ("n_neg", "power")),
        ({"auc": 0.6, "n_pos": 20, "n_neg": 30}, ("n_pos", "power")),
    ],
)
def test_the_axes_show_the_columns_that_vary(options, expected):
    assert axes(rf.power(**options).roc.chart()) == expected


def test_detectable_differences_have_a_line_for_each_power():
    table = rf.sample_size(auc=[0.6, 0.7, 0.8], power=[0.8, 0.9])
    chart = table.roc.chart()
    assert axes(chart) == ("n_pos", "difference")
    assert lines(chart) == 2
    assert chart.title.subtitle == "Target power 0.8 and 0.9"
    assert ": difference of AUC against positives. " in chart.description
    found = rf.detectable_difference(n_pos=[20, 50], n_neg=[40, 80], null=0.5).roc.chart()
    assert axes(found) == ("n_pos", "difference")
    assert encodings(found, "color")[0]["field"] == "n_neg"


def test_an_impossible_plan_is_not_drawn_and_the_subtitle_names_it():
    chart = rf.sample_size(auc=[0.5, 0.6]).roc.chart()
    assert chart.title.subtitle == "Target power 0.8. Not drawn: auc 0.5"
    assert svg(chart).count('aria-roledescription="point"') == 1
    assert chart.description.endswith(" Not drawn: auc 0.5.")


def test_a_wide_range_of_row_numbers_has_a_logarithmic_axis():
    far = rf.power(auc=0.6, n_pos=[10, 100, 1000], n_neg=100).roc.chart()
    near = rf.power(auc=0.6, n_pos=[10, 20], n_neg=100).roc.chart()
    scales = [encodings(chart, "x")[0]["scale"]["type"] for chart in (far, near)]
    assert scales == ["log", "linear"]
