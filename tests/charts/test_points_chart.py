"""Charts of operating points: a mark for each point on the axes of the kind."""

from __future__ import annotations

from math import nan

import polars as pl
import pytest

import rocframe as rf
from rocframe.kinds import KINDS
from tests.charts.specifications import encodings, marks, records, svg

VOTE = rf.datasets.vote().filter(pl.col("model").str.contains("tree|svm"))
NONE = VOTE.with_columns(label=pl.col("label") & (pl.col("model") == "linear_svm"))
CURVES = rf.curve(VOTE, "label", "score", by="model")


def drawn(chart) -> int:
    return svg(chart).count('aria-roledescription="point"')


def test_the_specification_of_a_chart_of_points_is_unchanged(assert_golden):
    assert_golden(rf.at(CURVES, tpr=[0.8, 0.9]).roc.chart(), "points_by_model")


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_those_of_the_table_for_every_kind(kind):
    points = rf.at(CURVES, fpr=[0.1, 0.3])
    curves = rf.curve(VOTE, "label", "score", by="model", kind=kind)
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
    assert {record["hull"] for record in records(chart)} == {1}
    assert encodings(chart, "color")[0]["legend"]["title"] == "model"
    assert marks(chart) == ["line", "point", "rule"]
    # On logarithmic axes, the lines between vertices are not straight.
    assert "line" not in marks(vertices.roc.chart(scale="log"))[:1]


def test_a_hull_has_one_line_from_its_first_vertex_for_any_order_of_the_rows():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [float("inf"), 0.5, 0.4, 0.3]})
    both = pl.concat([rows.with_columns(model=pl.lit(name)) for name in "ab"])
    table = rf.curve(both, "label", "score", by="model").roc.hull()
    lines = [
        {
            name: [
                (record["x"], record["y"]) for record in records(chart) if record["hull"] == hull
            ]
            for hull, name in enumerate("ab", start=1)
        }
        for chart in (table.roc.chart(), table.sample(fraction=1, shuffle=True, seed=1).roc.chart())
    ]
    vertices = [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]
    assert lines == [{"a": vertices, "b": vertices}] * 2


def test_rules_have_shapes():
    points = rf.operating_point(CURVES, ["youden", "f1"])
    (shape,) = encodings(points.roc.chart(), "shape")
    assert shape["scale"]["domain"] == ["youden", "f1"]
    assert shape["legend"]["title"] == "rule"


def test_marks_of_several_rules_at_the_same_point_are_nested():
    points = rf.operating_point(CURVES, ["youden", "accuracy", "f1", "recall"])
    chart = points.roc.chart()
    places = [(row["model"], row["fpr"], row["tpr"]) for row in points.iter_rows(named=True)]
    later = [places[i + 1 :].count(place) for i, place in enumerate(places)]
    assert max(later) > 0
    assert [record["size"] for record in records(chart)] == [round(110 * 2.2**n) for n in later]
    (size,) = encodings(chart, "size")
    assert (size["field"], size["scale"]) == ("size", None)
    # The large marks of many groups would hide other points.
    many = rf.curve(VOTE, "label", "score", by=["model", "fold"])
    assert "size" not in records(many.roc.operating_point(["youden", "f1"]).roc.chart())[0]
    # Points of different groups can coincide, too. Their colors distinguish them.
    same = pl.concat([VOTE, VOTE.with_columns(model=pl.lit("copy"))]).filter(fold=1)
    both = rf.curve(same, "label", "score", by="model").roc.operating_point()
    assert "size" not in records(both.roc.chart())[0]


def test_the_default_kind_is_the_kind_of_the_table():
    curves = rf.curve(VOTE, "label", "score", by="model", kind="gain")
    chart = rf.at(curves, alert_rate=0.2).roc.chart()
    assert chart.title.text == "Gain: operating points"


def test_interpolated_points_are_drawn_between_rows():
    points = rf.at(CURVES, fpr=0.123, interpolate=True)
    assert [record["x"] for record in records(points.roc.chart())] == [0.123, 0.123]


def test_points_lie_over_the_curves_on_their_axes():
    both = CURVES.roc.chart() + rf.at(CURVES, tpr=[0.8, 0.9]).roc.chart()
    shown = svg(both)
    assert shown.count(">True positive rate<") == 1
    assert shown.count(">model<") == 1
    assert "decision_tree (AUC 0." in shown
    assert ">tpr 0.8<" in shown


def test_charts_with_different_axes_cannot_be_added():
    best = rf.operating_point(CURVES)
    for curves in (CURVES.roc.chart(kind="precision_recall"), CURVES.roc.cost_curve().roc.chart()):
        with pytest.raises(rf.OptionValueError, match="the axes differ"):
            _ = curves + best.roc.chart()
    with pytest.raises(rf.OptionValueError) as caught:
        _ = best.roc.chart(kind="gain") + CURVES.roc.chart()
    assert str(caught.value) == (
        "chart + chart: the axes differ: 'Alert rate' and 'True positive rate' in one chart, "
        "'False positive rate' and 'True positive rate' in the other.\n"
        "Draw both charts with the same kind=, or with the same x= and y=. "
        "To draw them side by side, use chart | chart."
    )


def test_requested_values_have_shapes_if_there_are_enough_shapes():
    two = rf.at(CURVES, fpr=[0.1, 0.3]).roc.chart()
    assert encodings(two, "shape")[0]["scale"]["domain"] == ["fpr 0.1", "fpr 0.3"]
    many = rf.at(CURVES, fpr=[i / 20 for i in range(1, 12)]).roc.chart()
    assert encodings(many, "shape") == [{"value": "circle"}]


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
    curves = rf.curve(VOTE, "label", "score", by="model", metrics=["f1", odd])
    points = rf.at(curves, fpr=0.1)
    chart = points.roc.chart()
    titles = {line["title"]: line["field"] for line in encodings(chart, "tooltip")[0]}
    assert records(chart)[0][titles["f1"]] == pytest.approx(points["f1"][0], rel=1e-6)
    assert records(chart)[0][titles["a.b\\\\"]] == points["a.b\\"][0]
    assert marks(chart) == ["point", "rule"]


def test_group_columns_can_be_given():
    points = rf.at(CURVES, fpr=0.1).select(
        "model", "at", "at_value", pl.exclude("model", "at", "at_value")
    )
    chart = points.with_columns(k=pl.lit("z")).roc.chart(by=["model", "k"])
    assert records(chart)[0]["f1"] == "z"
    with pytest.raises(rf.MissingColumnError) as caught:
        points.roc.chart(by="modle")
    assert str(caught.value).startswith("by='modle': the frame has no column of this name.")


def test_the_description_mentions_the_line_of_chance_if_there_is_one():
    assert " The dashed line shows chance." in rf.at(CURVES, fpr=0.1).roc.chart().description
    pr = rf.at(rf.curve(VOTE, "label", "score", by="model", kind="pr"), fpr=0.1).roc.chart()
    assert "dashed" not in pr.description
