"""Charts of operating points: a mark for each point on the axes of the kind."""

from __future__ import annotations

import math
import re
from math import nan

import altair as alt
import polars as pl
import pytest

import rocframe as rf
from rocframe.kinds import KINDS
from tests.charts.specifications import (
    TWO,
    encodings,
    lines,
    marks,
    point_marks,
    records,
    spec,
    svg,
    texts,
)

NONE = TWO.with_columns(label=pl.col("label") & (pl.col("model") == "linear_svm"))
CURVES = rf.curve(TWO, "label", "score", by="model")


def drawn(chart) -> int:
    return svg(chart).count('aria-roledescription="point"')


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_those_of_the_table_for_every_kind(kind):
    points = rf.at(CURVES, fpr=[0.1, 0.3])
    curves = rf.curve(TWO, "label", "score", by="model", kind=kind)
    shape = KINDS[kind]
    expected = rf.at(curves, fpr=[0.1, 0.3])
    chart = points.roc.chart(kind=kind)
    for name, axis in (("x", shape.x), ("y", shape.y)):
        actual = [record[name] for record in records(chart)]
        assert actual == expected[axis].cast(pl.Float64).round_sig_figs(7).to_list()
    assert drawn(chart) == 4


def test_vertices_of_a_common_hull_are_connected_and_have_the_color_of_their_curve():
    vertices = rf.hull(CURVES, across="model")
    chart = vertices.roc.chart()
    assert [record["x"] for record in records(chart)] == pytest.approx(vertices["fpr"].to_list())
    assert spec(chart)["encoding"]["color"]["field"] == "model"
    assert marks(chart) == ["line", "line", "point", "point"]  # with the trivial classifiers
    # One line joins the vertices of all models; the other line is the line of chance.
    assert svg(chart).count('aria-roledescription="line mark"') == 2
    # On logarithmic axes, the lines between vertices are not straight.
    assert marks(vertices.roc.chart(scale="log")) == ["line", "point", "point"]


def test_a_hull_has_one_line_from_its_first_vertex_for_any_order_of_the_rows():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [float("inf"), 0.5, 0.4, 0.3]})
    both = pl.concat([rows.with_columns(model=pl.lit(name)) for name in "ab"])
    table = rf.curve(both, "label", "score", by="model").roc.hull()
    vertices = [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]
    for drawn in (table, table.sample(fraction=1, shuffle=True, seed=1)):
        points = records(drawn.roc.chart())
        for model in "ab":
            own = [(point["x"], point["y"]) for point in points if point["model"] == model]
            assert own == vertices
        assert svg(drawn.roc.chart()).count('aria-roledescription="line mark"') == 3


@pytest.mark.parametrize("by", [[], ["fold"]])
def test_vertices_without_a_model_are_gray_and_have_no_legend_entry(by):
    vertices = rf.hull(rf.curve(TWO, "label", "score", by=["model", *by]), across="model")
    trivial = (pl.col("tp") + pl.col("fp") == 0) | (pl.col("fn") + pl.col("tn") == 0)
    vertices = vertices.with_columns(model=pl.when(~trivial).then("model"))
    n_hulls = vertices.select(by).n_unique() if by else 1
    assert vertices["model"].null_count() == 2 * n_hulls
    chart = vertices.roc.chart(color="model")
    shown = svg(chart)
    assert ">null<" not in shown
    assert ">trivial classifier<" not in shown
    points = re.findall(r'roledescription="point"[^>]*fill="(#\w+)"', shown)
    assert points.count("#80868b") == 2 * n_hulls
    assert len(points) == vertices.height
    assert "trivial classifier: fpr 0.000, tpr 0.000" in chart.description
    named = {name for name in ("decision_tree", "linear_svm") if f">{name}<" in shown}
    assert named == set(vertices["model"].drop_nulls())
    # A null can also be the name of a model.
    unnamed = vertices.with_columns(model=pl.col("model").replace("linear_svm", None))
    assert ">null<" in svg(unnamed.roc.chart(color="model"))


def test_rules_have_shapes():
    points = rf.operating_point(CURVES, ["youden", "f1"])
    (shape,) = encodings(points.roc.chart(), "shape")
    assert shape["scale"]["domain"] == ["youden", "f1"]
    assert shape["field"] == "rule"


def test_conditions_and_rules_of_a_sum_have_different_shapes_in_one_legend():
    best, half = rf.operating_point(CURVES, "f1"), rf.at(CURVES, threshold=[0.5, 0.6])
    both = CURVES.roc.chart() + best.roc.chart() + half.roc.chart()
    shown = svg(both)
    assert shown.count(">model<") == 1
    assert {"f1", "threshold 0.5", "threshold 0.6"} <= set(texts(both))
    marks = [re.findall(r' d="M([^"]*)"', mark)[0] for mark in point_marks(both)]
    assert len(marks) == 6
    assert len(set(marks)) == 3


def test_marks_of_several_rules_at_the_same_point_are_nested():
    points = rf.operating_point(CURVES, ["youden", "accuracy", "f1", "recall"])
    chart = points.roc.chart()
    places = [(row["model"], row["fpr"], row["tpr"]) for row in points.iter_rows(named=True)]
    later = [places[i + 1 :].count(place) for i, place in enumerate(places)]
    assert max(later) > 0
    assert [record["_size"] for record in records(chart)] == [round(110 * 2.2**n) for n in later]
    (size,) = encodings(chart, "size")
    assert (size["field"], size["scale"]) == ("_size", None)
    # The large marks of many groups would hide other points.
    many = rf.curve(TWO, "label", "score", by=["model", "fold"])
    assert "_size" not in records(many.roc.operating_point(["youden", "f1"]).roc.chart())[0]
    # Points of different groups can coincide, too. Their colors distinguish them.
    same = pl.concat([TWO, TWO.with_columns(model=pl.lit("copy"))]).filter(fold=1)
    both = rf.curve(same, "label", "score", by="model").roc.operating_point()
    assert "_size" not in records(both.roc.chart())[0]


def test_the_default_kind_is_the_kind_of_the_table():
    curves = rf.curve(TWO, "label", "score", by="model", kind="gain")
    chart = rf.at(curves, alert_rate=0.2).roc.chart()
    assert chart.title.text == "Gain: operating points"


def test_interpolated_points_are_drawn_between_rows():
    points = rf.at(CURVES, fpr=0.123, interpolate=True)
    assert [record["x"] for record in records(points.roc.chart())] == [0.123, 0.123]


# The example of Fawcett (2006), figure 3: labels and scores of 20 rows.
FAWCETT = pl.DataFrame(
    {
        "label": [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0],
        "score": [
            *(0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505),
            *(0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.3, 0.1),
        ],
    }
)


def printed(chart) -> list[str]:
    """Return the texts beside points."""
    return re.findall(r'roledescription="text mark"[^>]*>([^<]*)<', svg(chart))


def test_thresholds_are_printed_beside_points_as_in_figure_3_of_fawcett():
    curve = rf.curve(FAWCETT, "label", "score")
    expected = ["inf", *(f"{score:g}" for score in FAWCETT["score"])]
    thresholds = [math.inf, *FAWCETT["score"]]
    points = curve.roc.at(threshold=thresholds).roc.chart(text="threshold")
    assert printed(points) == printed(curve.roc.chart() + points) == expected


def test_any_column_of_the_table_is_printed_with_three_digits():
    points = rf.operating_point(CURVES, "youden")
    for name in ("threshold", "tp", "model"):
        column = points[name]
        expected = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in column]
        assert printed(points.roc.chart(text=name)) == expected
    assert printed(points.with_columns(tp=pl.lit(12345.6)).roc.chart(text="tp")) == ["12,346"] * 2
    assert printed(points.with_columns(note=pl.lit(None)).roc.chart(text="note")) == ["", ""]
    over = CURVES.roc.chart() + points.roc.chart(text="threshold")
    assert len(printed(over)) == 2


def test_points_lie_over_the_curves_on_their_axes():
    both = CURVES.roc.chart() + rf.at(CURVES, tpr=[0.8, 0.9]).roc.chart()
    shown = svg(both)
    assert shown.count(">True positive rate<") == 1
    assert shown.count(">model<") == 1
    assert "decision_tree (AUC 0." in shown
    assert ">tpr 0.8<" in shown


def test_requested_values_have_shapes_if_there_are_enough_shapes():
    two = rf.at(CURVES, fpr=[0.1, 0.3]).roc.chart()
    assert encodings(two, "shape")[0]["scale"]["domain"] == ["fpr 0.1", "fpr 0.3"]
    many = rf.at(CURVES, fpr=[i / 20 for i in range(1, 12)]).roc.chart()
    assert encodings(many, "shape") == []
    assert svg(many).count('aria-roledescription="point"') == 22


def test_values_that_differ_only_in_later_digits_have_different_shapes():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [10001.0, 10002.5, 10003.0, 1 / 3]})
    points = rf.curve(rows, "label", "score").roc.at(threshold=[10001, 10002, 1 / 3])
    domain = encodings(points.roc.chart(), "shape")[0]["scale"]["domain"]
    assert domain == ["threshold 10001", "threshold 10002", "threshold 0.3333333"]
    near = points.with_columns(at_value=pl.Series([1e6 + 0.01, 1e6 + 0.02, 1 / 3]))
    assert encodings(near.roc.chart(), "shape")[0]["scale"]["domain"] == [
        "threshold 1000000.01",
        "threshold 1000000.02",
        "threshold 0.3333333333333333",
    ]
    large = points.with_columns(at_value=pl.Series([1e7, 25_000_000.5, nan]))
    assert encodings(large.roc.chart(), "shape")[0]["scale"]["domain"] == [
        "threshold 10000000",
        "threshold 25000000.5",
        "threshold NaN",
    ]


def test_an_undefined_point_is_named_and_not_drawn():
    points = rf.at(rf.curve(NONE, "label", "score", by="model"), tpr=0.8)
    chart = points.roc.chart()
    assert drawn(chart) == 1
    assert chart.title.subtitle == "Not drawn: decision_tree · tpr 0.8"
    assert chart.description.endswith(" Not drawn: decision_tree · tpr 0.8.")


def test_an_infinite_point_is_named_and_not_drawn():
    chart = rf.at(CURVES, fpr=0).roc.chart(kind="det")
    assert drawn(chart) == 0
    assert chart.title.subtitle == ("Not drawn: decision_tree · fpr 0, linear_svm · fpr 0")


def test_tooltips_show_metrics_of_any_name():
    odd = (pl.col("tp") - pl.col("fp")).alias("a.b\\")
    curves = rf.curve(TWO, "label", "score", by="model", metrics=["f1", odd])
    points = rf.at(curves, fpr=0.1)
    chart = points.roc.chart()
    fields = {line.get("title"): line["field"] for line in spec(chart)["encoding"]["tooltip"]}
    assert records(chart)[0]["f1"] == pytest.approx(points["f1"][0], rel=1e-6)
    (name,) = (name for name in records(chart)[0] if name.startswith("a.b"))
    assert fields["a.b\\\\"] == name.replace(".", r"\.")
    assert records(chart)[0][name] == points["a.b\\"][0]
    assert f"a.b\\: {points['a.b' + chr(92)][0]}" in svg(chart)
    assert marks(chart) == ["line", "point"]


def test_fields_are_columns_of_the_table_and_metrics_of_the_user_keep_their_values():
    points = rf.at(CURVES, fpr=0.1)
    data = records(points.roc.chart())
    assert set(data[0]) - {"x", "y", "_condition"} == set(points.columns)
    assert [row["model"] for row in data] == points["model"].to_list()
    for name in ("at_value", "fpr", "tpr", "tp", "fn"):
        assert [row[name] for row in data] == pytest.approx(points[name].to_list(), rel=1e-6)
    # The x axis is the alert rate, and the table has another column of this name.
    other = points.with_columns(alert_rate=pl.lit(9.0))
    (row, _) = records(other.roc.chart(kind="gain"))
    rows = 1 / points.select(pl.sum_horizontal("tp", "fp", "fn", "tn")).to_series()
    assert row["alert_rate"] == pytest.approx(((points["tp"] + points["fp"]) * rows)[0], rel=1e-6)
    assert row["(alert_rate)"] == 9


def test_group_columns_can_be_given():
    points = rf.at(CURVES, fpr=0.1).select(
        "model", "at", "at_value", pl.exclude("model", "at", "at_value")
    )
    chart = points.with_columns(k=pl.lit("z")).roc.chart(by=["model", "k"])
    assert records(chart)[0]["k"] == "z"


def test_the_description_mentions_the_line_of_chance_if_there_is_one():
    assert " The dashed line shows chance." in rf.at(CURVES, fpr=0.1).roc.chart().description
    pr = rf.at(rf.curve(TWO, "label", "score", by="model", kind="pr"), fpr=0.1).roc.chart()
    assert "dashed" not in pr.description


def test_a_given_threshold_is_on_the_axis_and_not_the_next_score(two_scores):
    points = two_scores.roc.at(threshold=0.45)
    assert points.get_column("threshold").to_list() == [0.5]
    chart = points.roc.chart(x="threshold", y="recall")
    assert [record["threshold"] for record in records(chart)] == [0.45]


def test_lines_of_equal_cost_are_drawn_if_their_ring_is_outside_the_axes(two_scores):
    table = rf.iso_lines(two_scores, costs={"fp": 1, "fn": 3})
    chart = table.roc.chart(x_domain=(0, 0.1))
    assert lines(chart) == 1
    assert chart.title.subtitle is alt.Undefined  # not "Not drawn: all rows"
    assert "1 line of equal expected cost" in chart.description


@pytest.fixture(scope="module")
def two_scores():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.5, 0.4, 0.3, 0.2]})
    return rf.curve(rows, "label", "score")
