"""Charts of curve tables, for every kind, name and type of group."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import date, datetime, timedelta
from inspect import signature
from itertools import pairwise

import altair as alt
import numpy as np
import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.chart import ChartOptions
from rocframe.charts.style import LIGHT, OTHER_COLOR
from rocframe.kinds import KINDS
from tests.all_cases import all_cases
from tests.charts.specifications import (
    VOTE,
    domain,
    json_text,
    layers,
    line_marks,
    lines,
    parts,
    records,
    reference_lines,
    shared,
    spec,
    svg,
    texts,
)

BY_MODEL = rf.curve(VOTE, "label", "score", by="model")
BY_FOLD = rf.curve(VOTE, "label", "score", by=["model", "fold"])
NAMES = [
    "^p.*$", "a.b", "a[0]", "a:Q", "count()", "", "\n", "'", '"', "\\", "<script>", "*", "f0", "x",
    "auc", "mark", "note", "key", "_layer", "_curve", "_positives", "fpr_deviate", "datum", "if",
    "__proto__", "constructor", "é ü 模型", "a very long name " * 9,
]  # fmt: skip

NANOSECONDS = ["1970-01-01 00:00:00 (1)", "1970-01-01 00:00:00 (2)"]

every_kind = pytest.mark.parametrize("kind", KINDS)


def colors(chart):
    """Return the color of each line in the rendered chart."""
    return [re.search(r'stroke="([^"]+)"', line)[1] for line in line_marks(chart)]


def curve_layers(chart):
    """Return the layers of the lines of curves, which have no data of their own."""
    return [one for one in layers(chart) if one["mark"]["type"] == "line" and "data" not in one]


def tick_labels(shown, axis):
    """Return the tick labels of an axis of a rendered chart."""
    found = re.search(rf'aria-label="{axis}-axis.*?role-axis-label.*?</g>', shown)
    return re.findall(r">([^<]+)</text>", found[0])


def groups_of(values, name="group"):
    """Return a curve for each key, with one positive and one negative row."""
    keys = pl.Series(name, values).to_frame(name)
    rows = keys.join(pl.DataFrame({"label": [True, False], "score": 1.0}), how="cross")
    return rf.curve(rows, "label", "score", by=name)


@every_kind
@pytest.mark.render
def test_every_kind_is_strict_json_and_can_be_rendered(kind):
    chart = rf.chart(BY_MODEL, kind=kind)
    assert lines(chart) == 6
    shown = texts(chart)
    name = {"precision_recall": "AP", "roc": "AUC"}.get(kind, "ROC AUC")
    for row in rf.area(BY_MODEL, kind=kind).iter_rows():
        assert f"{row[0]} ({name} {row[1]:.3f})" in shown
    assert "model" in shown


def test_kind_defaults_to_the_axes_of_the_table():
    for kind, title in [("roc", "ROC"), ("pr", "Precision-recall"), ("gain", "Gain")]:
        table = rf.curve(VOTE, "label", "score", kind=kind)
        assert rf.chart(table).title.text == title


def test_the_first_group_has_the_color_where_none_is_called_model():
    table = rf.curve(VOTE, "label", "score", by=["age", "fold"])
    assert shared(rf.chart(table), "color")["field"] == "age"


@pytest.mark.parametrize(
    ("options", "title"),
    [
        ({"color": "fold"}, "fold"),
        ({"detail": "model"}, "fold"),
        ({"facet": "model"}, "fold"),
        ({"facet": "fold"}, "model"),
        ({"facet": "fold", "color": "fold"}, "fold"),
        ({"color": None}, None),
        ({"detail": ["model", "fold"]}, None),
    ],
    ids=str,
)
def test_channels_are_columns_by_name(options, title):
    chart = rf.chart(BY_FOLD, **options)
    color = shared(chart, "color")
    assert (color.get("field"), color.get("title")) == (title, None)
    facet = spec(chart).get("facet", {})
    assert (facet.get("field"), facet.get("header", {}).get("title")) == (options.get("facet"),) * 2


def test_panels_have_areas_in_their_titles_where_there_is_one_color():
    chart = rf.chart(BY_MODEL, facet="model")
    assert isinstance(chart, alt.FacetChart)
    shown = texts(chart)
    assert "naive_bayes (AUC 0.792)" in shown
    assert lines(chart) == 6


def test_without_groups_the_area_is_in_the_title():
    table = rf.curve(VOTE, "label", "score")
    auc = rf.area(table).item()
    assert f"AUC {auc:.3f}" in texts(rf.chart(table))
    assert f"AP {rf.area(table, kind='pr')[0, 0]:.3f}" in texts(rf.chart(table, kind="pr"))


def test_almost_equal_prevalences_share_a_line():
    sizes = [(40, 60), (401, 600), (402, 598), (50, 50)]
    keys = [i for i, (pos, neg) in enumerate(sizes) for _ in range(pos + neg)]
    label = [row < pos for pos, neg in sizes for row in range(pos + neg)]
    rows = pl.DataFrame({"g": keys, "label": label, "score": range(len(keys))})
    table = rf.curve(rows, "label", "score", by="g")
    chart = rf.chart(table, kind="pr")
    (chance,) = (layer for layer in layers(chart) if "data" in layer)
    rows = spec(chart)["datasets"][chance["data"]["name"]]
    middle = pytest.approx((0.4 + 0.402) / 2)
    assert [(row["recall"], row["precision"], row["prevalence"]) for row in rows] == [
        *((recall, middle, "0.4 to 0.402") for recall in (0, 1)),
        *((recall, 0.5, "0.5") for recall in (0, 1)),
    ]
    assert reference_lines(chart) == 2
    assert "prevalence: 0.4 to 0.402" in svg(chart)


@every_kind
def test_a_group_whose_area_is_undefined_is_named_and_not_drawn(kind):
    rows = pl.DataFrame(
        {
            "model": ["good"] * 4 + ["no positives"] * 2 + ["no rows"],
            "label": [1, 0, 1, 0, 0, 0, None],
            "score": [4, 3, 2, 1, 2, 1, None],
        }
    )
    table = rf.curve(rows, "label", "score", by="model", missing="drop")
    chart = rf.chart(table, kind=kind)
    assert lines(chart) == 1
    name = {"precision_recall": "AP", "roc": "AUC"}.get(kind, "ROC AUC")
    shown = texts(chart)
    assert f"no positives ({name} undefined)" in shown
    assert f"no rows ({name} undefined)" in shown
    assert not any("NaN" in text for text in shown)


def test_the_legend_states_how_many_curves_a_mean_area_is_of():
    rows = pl.DataFrame(
        {
            "model": ["m"] * 6,
            "fold": [1, 1, 2, 2, 3, 3],
            "label": [1, 0, 1, 0, 0, 0],
            "score": [2, 1, 2, 1, 2, 1],
        }
    )
    table = rf.curve(rows, "label", "score", by=["model", "fold"])
    assert "m (mean AUC 1.000, 2 of 3 curves)" in texts(rf.chart(table))


@every_kind
def test_an_empty_table_is_an_empty_chart_with_axes(kind):
    chart = rf.chart(BY_FOLD.clear(), kind=kind)
    shown = texts(chart)
    assert chart.title.text in shown
    assert shared(chart, "x")["title"] in shown
    assert lines(chart) == 0


def test_curves_at_thresholds_down_to_the_lowest_score_are_drawn():
    table = rf.curve(VOTE, "label", "score", thresholds=[0.6, 0.3, -1e9])
    (record,) = records(rf.chart(table))
    assert record["threshold"] == ["inf", 0.6, 0.3, -1e9]


def y_range(points, low, high):
    """Return the range of y of a line between two values of x."""
    ys = []
    for (x0, y0), (x1, y1) in pairwise(points):
        for x in (max(x0, low), min(x1, high)):
            if x0 <= x <= x1 and low <= x <= high:
                ys += [y0, y1] if x1 == x0 else [y0 + (y1 - y0) * (x - x0) / (x1 - x0)]
    return min(ys), max(ys)


@pytest.mark.parametrize("kind", ["roc", "det", "gain", "precision_recall", "lift"])
def test_a_part_of_the_axes_shows_the_same_curve_with_more_detail(kind):
    rng = np.random.default_rng(5)
    label = rng.random(5000) < 0.3
    log = pl.DataFrame({"label": label, "score": rng.normal(size=len(label)) + label})
    table = rf.curve(log, "label", "score", kind=kind)
    scale = "linear" if kind == "det" else None
    part = (0.101, 0.111)
    chart = rf.chart(table, x_domain=part, scale=scale)
    assert domain(chart, "x") == list(part)
    assert all(layer["mark"]["clip"] for layer in layers(chart))
    (record,) = parts(chart)
    points = list(zip(record["x"], record["y"], strict=True))
    assert len(points) >= 4
    assert (points[0][0], points[-1][0]) == pytest.approx(part)
    name, along = rf.kinds.KINDS[kind].y, rf.kinds.KINDS[kind].x
    rows = table.filter(pl.col(along).is_between(*part)).select(along, name).rows()
    full = domain(chart, "y")
    tolerance = (full[1] - full[0]) / 500
    near = (part[1] - part[0]) / 500
    for x, y in rows:
        low, high = y_range(points, x - near, x + near)
        assert low - tolerance <= y <= high + tolerance
    assert f"from {part[0]} to {part[1]}." in chart.description


@pytest.mark.render
def test_parts_of_both_axes_are_those_of_all_layers():
    zoom = {"x_domain": (0.05, 0.3), "y_domain": [0.4, 0.9]}
    mean = BY_FOLD.roc.average()
    points = BY_MODEL.roc.at(fpr=[0.01, 0.1])
    curves = BY_MODEL.roc.chart(**zoom, ties=True)
    charts = [curves, mean.roc.chart(**zoom), points.roc.chart(**zoom)]
    for chart in charts:
        assert all(layer["mark"]["clip"] for layer in layers(chart))
    shown = texts(charts[0] + charts[1] + charts[2])
    assert {"0.05", "0.30", "0.4", "0.9"} <= set(shown)
    assert "fpr 0.01" not in points.roc.chart(**zoom).description.split("Not drawn")[0]
    band = pl.DataFrame({"label": [1, 0, 1, 0], "score": [4, 3, 2, 1]}).roc.band("label", "score")
    assert domain(band.roc.chart(**zoom), "x") == [0.05, 0.3]


def test_thresholds_above_all_scores_do_not_change_the_line():
    table = rf.curve(VOTE, "label", "score", thresholds=[99.0, 98.0, 0.5, 0.1, -99.0])
    (record,) = parts(rf.chart(table, kind="pr"))
    assert record["x"][0] == 0
    assert record["y"][0] == record["y"][1] > 0


def test_infinite_thresholds_are_strict_json():
    rows = pl.DataFrame(
        {"label": [1, 0, 1, 0], "score": [float("inf"), 1.7e9 + 1, 0.1, float("-inf")]}
    )
    (record,) = records(rf.chart(rf.curve(rows, "label", "score")))
    assert record["threshold"] == ["inf", "inf", 1.7e9 + 1, 0.1, "-inf"]


def test_weighted_counts_are_rounded_and_whole_counts_are_not():
    rows = pl.DataFrame({"label": [1, 0, 1], "score": [3, 2, 1], "w": [1 / 3, 1 / 7, 2.0]})
    (record,) = records(rf.chart(rf.curve(rows, "label", "score", weight="w")))
    assert record["tp"] == [0, 0.3333333, 0.3333333, 2.333333]
    (record,) = records(rf.chart(rf.curve(rows, "label", "score")))
    assert record["tp"] == [0, 1, 1, 2]


def test_unscored_rows_that_count_as_worst_are_drawn():
    rows = pl.DataFrame({"label": [1, 0, 1, 0, 1], "score": [4.0, 3.0, None, None, 1.0]})
    table = rf.curve(rows, "label", "score", missing="worst")
    for kind in KINDS:
        assert lines(rf.chart(table, kind=kind)) == 1
    (record,) = records(rf.chart(table))
    assert (record["x"][0], record["y"][0]) == (0.5, 0)
    assert record["y"][-1] == pytest.approx(2 / 3)


@pytest.mark.render
def test_a_group_column_may_have_any_name():
    with all_cases() as case:
        for name in NAMES:
            with case(name):
                table = groups_of(["a", "b"], name)
                chart, panels = rf.chart(table), rf.chart(table, facet=name)
                colored = rf.chart(table, color=name)
                assert chart.to_dict(validate=False) == colored.to_dict(validate=False)
                for drawn in (chart, panels):
                    assert lines(drawn) == 2
                    shown = texts(drawn)
                    assert "a (AUC 0.500)" in shown
                    assert any(text in shown for text in (name, repr(name))) or len(name) > 48
    table = groups_of(["a", "b"], "g").select(
        *(pl.col("g").alias(name) for name in NAMES), pl.exclude("g")
    )
    assert lines(rf.chart(table, detail=NAMES, kind="pr")) == 2


@pytest.mark.parametrize("values", [NAMES[start::3] for start in range(3)], ids=ascii)
@pytest.mark.render
def test_groups_may_have_any_text_as_their_values(values):
    table = groups_of([*values, "other", None])
    assert lines(rf.chart(table, facet="group")) == len(values) + 2
    chart = rf.chart(table)
    assert lines(chart) == len(values) + 2
    shown = texts(chart)
    assert {"other (AUC 0.500)", "null (AUC 0.500)"} <= set(shown)
    for value in values:
        labels = {f"{value} (AUC 0.500)", f"{value!r} (AUC 0.500)"}
        assert labels & set(shown) or len(value) > 48, value


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["x", None, "null"], ["null", "'null'", "x"]),
        ([True, False, None], ["null", "false", "true"]),
        ([2**60, 2**60 + 1], [str(2**60), str(2**60 + 1)]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), [str(2**64 - 1)]),
        ([0.5, float("nan"), None], ["null", "0.5", "NaN"]),
        (pl.Series([0.1], dtype=pl.Float32), ["0.1"]),
        (pl.Series(["1.50"]).cast(pl.Decimal(5, 2)), ["1.50"]),
        (pl.Series([0, 1]).cast(pl.Datetime("ns")), NANOSECONDS),
        ([date(2024, 5, 1), None], ["null", "2024-05-01"]),
        ([datetime(2024, 5, 1, 12, 30)], ["2024-05-01 12:30:00"]),  # noqa: DTZ001
        ([timedelta(days=1)], ["1 day, 0:00:00"]),
        (pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "hi"])), ["lo", "hi"]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"]),
        ([[1, 2], [3]], ["[1, 2]", "[3]"]),
        (pl.Series([[1, 2]], dtype=pl.Array(pl.Int8, 2)), ["[1, 2]"]),
        ([{"a": 1, "b": None}, {"a": 2, "b": "x"}], ["{a: 1, b: null}", "{a: 2, b: x}"]),
        ([b"\xff"], ["b'\\xff'"]),
    ],
    ids=str,
)
def test_groups_of_every_type_are_distinct_and_in_the_order_of_polars(values, expected):
    chart = rf.chart(groups_of(values))
    assert domain(chart, "color") == expected
    assert lines(chart) == len(expected)
    assert [f"{value} (AUC 0.500)" for value in expected] == [
        text for text in texts(chart) if text.endswith("(AUC 0.500)")
    ]


@pytest.mark.parametrize("values", [range(12), [*"abcdefghijkl"]], ids=["numbers", "names"])
def test_up_to_twelve_values_have_the_colors_of_the_theme(values):
    chart = rf.chart(groups_of(values))
    assert colors(chart) == list(LIGHT.colors)
    assert "have the same color" not in chart.description


@pytest.mark.parametrize("options", [{}, {"color": "group"}])
def test_of_more_than_twelve_values_five_have_colors_and_all_have_names_in_tooltips(options):
    names = [f"m{i:02}" for i in range(13)]
    chart = rf.chart(groups_of(names), **options)
    assert colors(chart) == [OTHER_COLOR] * 8 + list(LIGHT.colors[:5])
    note = "8 other values of group have the same color; tooltips show the value"
    assert note in texts(chart)
    assert chart.description.endswith(f"m09 (AUC 0.500) and 3 more. {note}.")
    assert shared(chart, "tooltip")[0] == {"field": "group", "type": "nominal"}
    # Equal areas are in the order of the names; colored lines are above the gray ones.
    assert [record["group"] for record in records(chart)] == names[5:] + names[:5]


def test_panels_name_values_without_colors_of_their_own():
    chart = rf.chart(groups_of(range(13)).cast({"group": pl.String}), facet="group", color="group")
    assert "have the same color" not in chart.description
    assert colors(chart) == [LIGHT.colors[0]] * 13


def test_rows_with_more_than_twelve_values_have_lines_instead_of_colors():
    names = [f"m{i:02}" for i in range(13)]
    rows = pl.DataFrame({"model": names * 4, "label": [0, 1, 0, 1] * 13, "score": range(52)}).sort(
        "model"
    )
    chart = rf.auc(rows, "label", "score", by="model").roc.chart(color="model")
    assert shared(chart, "color") == {}
    assert sorted(domain(chart, "y")) == names


@pytest.mark.parametrize(
    "values",
    [range(13), [i / 10 for i in range(13)], [date(2024, 1, 1 + i) for i in range(9)]],
    ids=["whole", "float", "date"],
)
def test_many_ordered_values_have_increasingly_light_colors(values):
    drawn = colors(rf.chart(groups_of(list(values))))
    light = [sum(int(color[at : at + 2], 16) for at in (1, 3, 5)) for color in drawn]
    assert len(set(drawn)) == len(values)
    assert (drawn[0], drawn[-1]) == ("#440154", "#22a685")
    assert light == sorted(light)


def test_ticks_of_counts_are_whole_numbers():
    rows = pl.DataFrame({"label": [1, 0, 0, 1, 0], "score": [0.6, 0.5, 0.4, 0.4, 0.2]})
    chart = rf.curve(rows, "label", "score", kind="lift_chart").roc.chart()
    assert tick_labels(svg(chart), "Y") == ["0", "1", "2"]
    thirds = rows.with_columns(weight=pl.lit(0.3))
    light = rf.curve(thirds, "label", "score", kind="lift_chart", weight="weight").roc.chart()
    assert tick_labels(svg(light), "Y")[-1] == "0.6"


def test_rows_in_any_order_make_the_same_chart():
    assert spec(rf.chart(BY_FOLD.sample(fraction=1, shuffle=True, seed=1))) == spec(
        rf.chart(BY_FOLD)
    )


def test_by_overrides_the_group_columns():
    moved = BY_MODEL.select(pl.exclude("model"), "model")
    assert lines(rf.chart(moved, by="model")) == 6


def test_charts_may_have_more_rows_than_the_limit_of_altair():
    table = groups_of(list(range(6000)))
    assert len(rf.chart(table, color=None).to_dict(validate=False)["datasets"]) >= 1


def test_a_long_curve_is_drawn_with_at_most_500_points():
    rng = np.random.default_rng(0)
    label = rng.random(100_000) < 0.3
    rows = pl.DataFrame({"label": label, "score": rng.normal(size=len(label)) + label})
    table = rf.curve(rows, "label", "score")
    for kind in KINDS:
        (record,) = parts(rf.chart(table, kind=kind))
        assert 100 < len(record["x"]) <= 500


def test_many_long_curves_share_one_limit_of_points():
    rng = np.random.default_rng(0)
    n = 20 * 20_000
    label = rng.random(n) < 0.3
    rows = pl.DataFrame({"label": label, "score": rng.normal(size=n) + label})
    rows = rows.with_columns(model=np.arange(n) % 20)
    chart = rf.chart(rf.curve(rows, "label", "score", by="model"))
    assert len(json_text(chart)) < 300_000
    assert all(len(record["x"]) < 260 for record in records(chart))


@pytest.mark.render
def test_a_chart_can_be_changed_like_any_altair_chart(tmp_path):
    chart = rf.chart(BY_MODEL)
    more = (
        alt.Chart(pl.DataFrame({"fpr": [0.2], "tpr": [0.7]})).mark_point().encode(x="fpr", y="tpr")
    )
    for variant in (
        chart + more,
        chart | chart.properties(title="Again"),
        chart & rf.chart(BY_MODEL, kind="pr").interactive(),
        chart.interactive(),
        chart.configure_axis(grid=False),
        chart.facet("model:N", columns=2),
        rf.chart(BY_MODEL, facet="model").interactive(),
    ):
        assert texts(variant)
    chart.save(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "change",
    [
        lambda chart: chart,
        lambda chart: chart.interactive(),
        lambda chart: chart.add_params(alt.selection_point(name="point")),
        lambda chart: alt.layer(chart, chart) | chart.interactive(),
        lambda chart: chart.facet("model:N", columns=2).interactive(),
    ],
)
def test_charts_are_equal_to_those_of_the_constructor_of_altair(change):
    chart = rf.chart(BY_MODEL)
    equal = alt.LayerChart(**chart._kwds)
    with alt.theme.enable("rocframe"):  # otherwise, our charts add their colors
        found, expected = (change(one).to_dict(validate=False) for one in (chart, equal))
    if "facet" in found:  # titles of panels would not be drawn
        expected |= {name: expected["spec"].pop(name) for name in ("title", "description")}
    assert found == expected


def test_a_layer_added_by_a_user_has_only_its_own_channels():
    chart = rf.chart(BY_MODEL)
    dots = alt.Chart(pl.DataFrame({"a": [0.2], "b": [0.7]})).mark_point().encode(x="a:Q", y="b:Q")
    both = chart + dots
    (place,) = re.findall(r'aria-label="a: 0.2; b: 0.7".*?translate\(([\d.,]+)\)', svg(both))
    assert [*map(float, place.split(","))] == pytest.approx([0.2 * 380, 0.3 * 380])
    assert texts(both) == texts(chart)


def test_other_layers_give_equal_values_the_same_colors():
    chart = rf.chart(BY_MODEL)
    points = rf.at(BY_MODEL, fpr=0.1)
    dots = alt.Chart(points).mark_point().encode(x="fpr", y="tpr", color="model:N")
    both = chart + dots
    shown = re.findall('aria-roledescription="point"[^>]*stroke="(#\\w+)"', svg(both))
    assert colors(both) == list(LIGHT.colors[:6])
    assert [shown.count(color) for color in colors(both)] == [1] * 6


def test_a_chart_does_not_change_settings_of_altair():
    before = alt.theme.active, alt.data_transformers.active
    rf.chart(BY_MODEL)
    assert (alt.theme.active, alt.data_transformers.active) == before


def test_a_chart_is_described_in_words():
    assert rf.chart(BY_FOLD, kind="pr").description.startswith(
        "Precision-recall chart, 60 curves: precision against recall. Each dashed line shows "
        "chance at one prevalence. By model: decision_tree (mean AP 0."
    )


def days(many):
    """Return a curve for each day, with one positive and one negative row."""
    first = date(2024, 1, 1)
    rows = [(first + timedelta(day), label, label + day) for day in range(many) for label in (0, 1)]
    predictions = pl.DataFrame(rows, schema=["day", "label", "score"], orient="row")
    return rf.curve(predictions, "label", "score", by="day")


def test_a_legend_names_some_of_many_days_evenly():
    legend = shared(rf.chart(days(31)), "color")["legend"]
    assert legend["values"] == [f"2024-01-{day:02}" for day in range(1, 32, 3)]
    assert legend["title"] == "day (11 of 31)"
    color = shared(rf.chart(days(30)), "color")
    assert (color["field"], "values" in color["legend"]) == ("day", False)


def test_lines_are_thin_where_a_panel_has_many():
    charts = rf.chart(days(20)), rf.chart(days(21)), rf.chart(days(21), facet="day")
    for chart, width in zip(charts, (2, 1, 2), strict=True):
        assert {layer["mark"].get("strokeWidth") for layer in curve_layers(chart)} == {width}


def test_the_subtitle_names_curves_outside_the_axes():
    perfect = days(1).drop("day")
    chart = rf.chart(perfect, scale="normal_deviate")
    assert "all curves lie outside the axes" in texts(chart)
    assert chart.description.endswith(
        " AUC 1.000. Nothing is drawn: all curves lie outside the axes."
    )
    panels = texts(rf.chart(days(2), kind="det", facet="day"))
    assert panels.count("all curves lie outside the axes") == 2
    assert "all curves lie outside the axes" not in texts(rf.chart(perfect))


def test_areas_are_averaged_over_folds_and_never_over_models():
    panels = rf.chart(BY_FOLD, facet="model", color="fold").to_dict(validate=False)
    assert "mean AUC" in panels["facet"]["header"]["labelExpr"]
    assert "labelExpr" not in panels["spec"]["encoding"]["color"]["legend"]
    assert "subtitle" not in rf.chart(BY_FOLD, color=None).to_dict(validate=False)["title"]
    folds = BY_FOLD.filter(model=BY_FOLD["model"][0]).drop("model")
    assert (
        rf.chart(folds, color=None)
        .to_dict(validate=False)["title"]["subtitle"]
        .startswith("mean AUC ")
    )


def test_options_that_are_not_given_have_the_defaults_of_the_signature():
    # ChartOptions treats an option with its default value as not given.
    parameters = [p for p in signature(rf.chart).parameters.values() if p.kind is p.KEYWORD_ONLY]
    options = {option.name: option.default for option in fields(ChartOptions)}
    assert options == {parameter.name: parameter.default for parameter in parameters}
