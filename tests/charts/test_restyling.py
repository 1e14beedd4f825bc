"""Charts restyled with their options and in sums: colors, dashes, highlights, shared lines."""

from __future__ import annotations

import altair as alt
import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.style import COLORS, OTHER_COLOR, REFERENCE_COLOR
from tests.charts.specifications import (
    VOTE,
    encodings,
    layers,
    lines,
    point_marks,
    records,
    reference_lines,
    spec,
    svg,
    texts,
)

RED, BLACK = "#d62728", "#000000"


MODELS = VOTE.filter(pl.col("model").is_in(["decision_tree", "naive_bayes"]))
CURVES = rf.curve(MODELS, "label", "score", by="model")
ALL = rf.curve(VOTE, "label", "score", by="model")


def scale(chart) -> dict:
    read = spec(chart)
    return read.get("spec", read)["encoding"]["color"]["scale"]


def line_colors(chart) -> set[str]:
    """Return the stroke colors of the lines in the rendered chart."""
    drawn = svg(chart).split('aria-roledescription="line mark"')[1:]
    return {part.split('stroke="')[1].split('"')[0] for part in drawn} - {REFERENCE_COLOR}


@pytest.mark.parametrize("colors", [[RED, BLACK], {"naive_bayes": BLACK, "decision_tree": RED}])
def test_colors_are_in_the_order_of_the_legend_or_by_value(colors):
    chart = CURVES.roc.chart(colors=colors)
    assert scale(chart) == {"domain": ["decision_tree", "naive_bayes"], "range": [RED, BLACK]}
    assert line_colors(chart) == {RED, BLACK}


def test_values_without_a_color_keep_theirs():
    chart = CURVES.roc.chart(colors={"decision_tree": RED, "unknown": BLACK})
    assert line_colors(chart) == {RED, COLORS[1]}


def test_one_curve_has_the_first_color():
    chart = rf.curve(VOTE, "label", "score").roc.chart(colors=[RED])
    assert line_colors(chart) == {RED}


def test_colors_of_the_theme_precede_those_of_the_package():
    @alt.theme.register("company", enable=False)
    def company() -> alt.theme.ThemeConfig:
        return {"config": {"range": {"category": [RED, BLACK]}}}

    with alt.theme.enable("company"):
        assert line_colors(CURVES.roc.chart()) == {RED, BLACK}
        assert line_colors(CURVES.roc.chart(colors=["blue", "green"])) == {"blue", "green"}
    assert line_colors(CURVES.roc.chart()) == set(COLORS[:2])


def test_both_charts_side_by_side_take_the_colors_of_their_common_configuration():
    both = (CURVES.roc.chart() | CURVES.roc.chart()).configure_range(category=[RED, BLACK])
    assert line_colors(both) == {RED, BLACK}
    assert line_colors(CURVES.roc.chart() & CURVES.roc.chart()) == set(COLORS[:2])
    assert line_colors(alt.hconcat(CURVES.roc.chart(), CURVES.roc.chart())) == set(COLORS[:2])


def test_dashes_distinguish_the_same_values_in_the_same_legend():
    chart = CURVES.roc.chart(dash=True)
    channels = spec(chart)["encoding"]
    assert channels["strokeDash"]["scale"]["domain"] == channels["color"]["scale"]["domain"]
    shown = svg(chart)
    assert shown.count(">decision_tree (AUC 0.788)<") == 1
    assert 'stroke-dasharray="7,2"' in shown


def test_a_chart_without_colors_has_no_dashes():
    chart = rf.curve(VOTE, "label", "score").roc.chart(dash=True)
    assert "strokeDash" not in spec(chart)["encoding"]


def test_highlighted_values_are_colored_and_above_the_gray_ones():
    chart = ALL.roc.chart(highlight=["naive_bayes", "random_forest"])
    assert line_colors(chart) == {*COLORS[:2], OTHER_COLOR}
    assert [row["model"] for row in records(chart)][-2:] == ["naive_bayes", "random_forest"]
    shown = svg(chart)
    assert "naive_bayes (AUC 0.792)" in shown
    assert "linear_svm (" not in shown
    text = "4 other values of model have the same color; tooltips show the value"
    assert chart.title.subtitle == text


def test_of_many_models_the_five_with_the_largest_areas_are_highlighted():
    one = VOTE.filter(model="naive_bayes")
    order = [7, 2, 11, 5, 0, 9, 1, 12, 4, 10, 3, 8, 6]
    models = [
        one.with_columns(
            model=pl.lit(f"model {i:02d}"),
            score=pl.when(pl.col("id") % 30 < rank).then(-pl.col("score")).otherwise("score"),
        )
        for i, rank in enumerate(order)
    ]
    curves = rf.curve(pl.concat(models), "label", "score", by="model")
    areas = rf.area(curves).sort("auc", descending=True).get_column("model").to_list()
    chart = curves.roc.chart()
    assert scale(chart)["domain"][:5] == areas[:5]
    assert scale(chart)["range"][5:] == [OTHER_COLOR] * 8


def test_panels_of_segments_show_the_area_of_each_model():
    curves = rf.curve(VOTE, "label", "score", by=["model", "age"])
    chart = curves.roc.chart(facet="age")
    shown = svg(chart)
    assert "mean AUC" not in shown
    for area in rf.area(curves).get_column("auc"):
        assert f">AUC {area:.3f}<" in shown


BAND = rf.band(MODELS, "label", "score", by="model", grid=9).roc.chart()


def styles(chart) -> list[str | None]:
    """Return the style of the marks of each layer."""
    return [layer["mark"].get("style") for layer in layers(chart)]


def test_a_band_and_its_curves_share_one_line():
    both = CURVES.roc.chart() + BAND
    assert [style for style in styles(BAND) if style] == ["estimate"]
    assert "estimate" not in styles(both)
    assert "95 % simultaneous band" in svg(both)


def test_a_band_of_other_groups_keeps_its_line():
    band = rf.band(VOTE, "label", "score", by="model", grid=9).roc.chart()
    drawn = styles(CURVES.roc.chart() + band)
    assert drawn.count("curve") == drawn.count("estimate") == 1


def test_an_average_over_curves_has_a_legend_and_a_color_of_its_own():
    curves = rf.curve(VOTE.filter(model="naive_bayes"), "label", "score", by="fold")
    mean = curves.roc.average(over="fold")
    both = curves.roc.chart() + mean.roc.chart()
    (line,) = (layer for layer in layers(both) if layer["mark"].get("style") == "mean")
    assert line["encoding"]["color"] == {"value": REFERENCE_COLOR}
    area = rf.area(mean).to_series(-1).item()
    assert f"mean (AUC {area:.3f})" in svg(both)


def test_encodings_of_a_sum_apply_to_both_charts():
    smooth = rf.smooth(MODELS, "label", "score", by="model").roc.chart()
    both = (CURVES.roc.chart() + smooth).encode(x=alt.X("fpr:Q", title="1 − specificity"))
    assert "1 − specificity" in texts(both)
    assert not any("False positive rate" in text for text in texts(both))
    titles = {layer["encoding"]["x"].get("title") for layer in layers(both)}
    assert titles == {"1 − specificity"}


def test_a_chart_with_encodings_of_the_user_can_be_added():
    for color in (alt.Color("model:N"), alt.value(RED)):
        drawn = styles(CURVES.roc.chart().encode(color=color) + BAND)
        assert (drawn.count("curve"), drawn.count("estimate")) == (1, 1)


def test_a_compiled_chart_has_the_colors_of_the_package():
    scales = CURVES.roc.chart().to_dict(format="vega")["scales"]
    (colors,) = (scale["range"] for scale in scales if scale["name"] == "color")
    assert colors == "category"
    config = CURVES.roc.chart().to_dict(format="vega")["config"]
    assert config["range"]["category"] == list(COLORS)


def test_days_without_a_color_of_the_user_keep_theirs():
    days = VOTE.with_columns(day=pl.date(2020, 1, 1) + pl.duration(days=pl.col("id") % 10))
    curves = rf.curve(days, "label", "score", by="day")
    expected = scale(curves.roc.chart())["range"]
    expected[2] = RED
    assert scale(curves.roc.chart(colors={"2020-01-03": RED}))["range"] == expected


def test_a_layer_of_the_user_is_drawn_as_it_is():
    points = pl.DataFrame({"fpr": [0.2], "tpr": [0.9]})
    own = alt.Chart(points).mark_point(color=RED).encode(x="fpr", y="tpr")
    both = CURVES.roc.chart() + own
    (layer,) = (layer for layer in layers(both) if layer["mark"].get("color") == RED)
    assert set(layer["encoding"]) == {"x", "y"}
    assert "True positive rate" in svg(both)
    assert ">True positive rate, tpr<" not in svg(both)


def test_a_decision_curve_ends_where_no_net_benefit_is_positive():
    rows = pl.DataFrame({"label": [True, *[False] * 99], "score": [0.1, *[0.2] * 3, *[0.01] * 96]})
    table = rf.decision_curve(rf.curve(rows, "label", "score"))
    used = table.filter(pl.max_horizontal("net_benefit", "treat_all") > 0)
    end = used.get_column("probability_threshold").max()
    chart = table.roc.chart()
    low, high = spec(chart)["encoding"]["x"]["scale"]["domain"]
    assert (low, end < high < 0.2) == (0, True)
    assert chart.title.subtitle == (
        f"Dashed: treat all, treat none. No net benefit is positive above {end:.3g}"
    )
    assert spec(table.roc.chart(x_domain=(0, 0.9)))["encoding"]["x"]["scale"]["domain"] == [0, 0.9]


def test_charts_with_equal_panels_can_be_added():
    chart = CURVES.roc.chart(facet="model") + CURVES.roc.hull().roc.chart(facet="model")
    shown = svg(chart)
    # In each of two panels: the line of chance, the curve and its hull.
    assert shown.count('aria-roledescription="line mark"') == 6
    vertices = CURVES.roc.hull().height
    assert shown.count('aria-roledescription="point"') == vertices + sum(
        1 for row in records(CURVES.roc.chart()) for value in row["threshold"] if value is not None
    )
    assert "decision_tree (AUC 0.788)" in shown


def test_sums_do_not_change_their_parts():
    first, second = CURVES.roc.chart(), CURVES.roc.hull().roc.chart()
    before = [chart.to_dict() for chart in (first, second)]
    _ = (first + second).encode(x=alt.X("fpr:Q", title="x")).properties(width=100)
    assert [chart.to_dict() for chart in (first, second)] == before


def test_a_line_of_equal_cost_touches_the_curve_at_its_row_of_lowest_cost():
    costs = {"fp": 1, "fn": 5}
    lines = CURVES.roc.iso_lines(costs=costs)
    drawn = records(lines.roc.chart())
    for model, slope in lines.select("model", "slope").iter_rows():
        ring, *points = (row for row in drawn if row["model"] == model)
        (x, y), (end, top) = ((point["fpr"], point["tpr"]) for point in points)
        assert (top - y) / (end - x) == pytest.approx(slope, rel=1e-6)
        best = rf.operating_point(CURVES, "expected_cost", costs=costs).filter(model=model)
        assert (ring["fpr"], ring["tpr"]) == (
            best["fpr"].round_sig_figs(7).item(),
            best["tpr"].round_sig_figs(7).item(),
        )
        assert y + slope * (ring["fpr"] - x) == pytest.approx(ring["tpr"], rel=1e-6)


@pytest.mark.render
def test_sums_with_panels_draw_all_layers_of_all_charts():
    models = MODELS.filter(pl.col("age") != "55+")
    curves = rf.curve(models, "label", "score", by=["model", "age"])
    tables = {
        "hull": curves.roc.hull(),
        "points": curves.roc.operating_point(),
        "lines": curves.roc.iso_lines(costs={"fn": 5, "fp": 1}),
        "band": rf.band(models, "label", "score", by=["model", "age"], grid=9),
    }
    charts = {name: table.roc.chart(facet="age") for name, table in tables.items()}
    kinds = ("line mark", "point", "area mark")

    def count(chart) -> list[int]:
        shown = svg(chart)
        return [shown.count(f'aria-roledescription="{kind}"') for kind in kinds]

    counts = {name: count(chart) for name, chart in charts.items()}
    # The line of chance is drawn once in each of the two panels.
    for names in (["points", "band"], ["hull", "points", "lines"]):
        first, *others = (charts[name] for name in names)
        total = [sum(values) for values in zip(*(counts[name] for name in names), strict=True)]
        expected = [total[0] - 2 * len(others), *total[1:]]
        chart = first
        for other in others:
            chart = chart + other
        assert count(chart) == expected, names
        if len(others) == 2:
            assert count(first + (others[0] + others[1])) == expected
    kept = charts["points"].transform_filter("datum.model == 'naive_bayes'")
    assert count(charts["hull"] + kept)[1] == counts["hull"][1] + counts["points"][1] // 2


def test_a_highlight_stays_gray_with_colors_of_the_user():
    for colors in ([RED], {"naive_bayes": RED}):
        chart = ALL.roc.chart(highlight="naive_bayes", colors=colors)
        assert line_colors(chart) == {RED, OTHER_COLOR}


def test_the_line_of_chance_stays_if_the_user_filters_or_facets():
    curves = rf.curve(VOTE, "label", "score", by="model", kind="pr")
    kept = curves.roc.chart().transform_filter("datum.model === 'naive_bayes'")
    assert svg(kept).count('aria-roledescription="line mark"') == 2
    panels = curves.roc.chart().facet("model:N")
    assert svg(panels).count('aria-roledescription="line mark"') == 12
    assert "undefined" not in svg(panels)


def test_filters_and_panels_of_a_sum_apply_to_all_charts():
    whole = CURVES.roc.chart() + CURVES.roc.at(threshold=0.5).roc.chart()
    filtered = whole.transform_filter("datum.model === 'naive_bayes'")
    assert (lines(whole), len(point_marks(whole))) == (2, 2)
    assert (lines(filtered), len(point_marks(filtered))) == (1, 1)
    panels = whole.facet("model:N")
    assert (lines(panels), len(point_marks(panels))) == (2, 2)
    assert reference_lines(panels) == 2
    assert panels.title == whole.title


def test_curves_stay_apart_if_the_user_replaces_their_colors():
    chart = CURVES.roc.chart().encode(color=alt.value(RED))
    assert lines(chart) == 2
    assert line_colors(chart) == {RED}


def test_a_sum_has_the_title_and_the_given_range_of_the_first_chart():
    curves, points = CURVES.roc.chart(x_domain=(0, 0.3)), CURVES.roc.at(threshold=0.1).roc.chart()
    chart = curves.encode() + points
    domains = {str(x["scale"]["domain"]) for x in encodings(chart, "x") if "scale" in x}
    assert domains == {"[0.0, 0.3]"}
    assert all(layer["mark"]["clip"] for layer in layers(chart))
    titled = CURVES.roc.chart().encode(x=alt.X("fpr:Q", title="1 − specificity")) + points
    assert "1 − specificity" in texts(titled)


def test_the_legend_of_a_sum_explains_points_and_rings():
    points, rings = CURVES.roc.at(threshold=0.5), CURVES.roc.iso_lines(costs={"fp": 1, "fn": 5})
    chart = CURVES.roc.chart() + points.roc.chart() + rings.roc.chart()
    assert {"threshold 0.5", "equal cost; ring: lowest cost"} <= set(texts(chart))


def test_points_without_colors_have_those_of_their_curves():
    folds = rf.curve(VOTE, "label", "score", by=["model", "fold"]).with_columns(
        name=pl.format("{} {}", "model", "fold")
    )
    curves = folds.select("name", *folds.columns[2:-1])  # more curves than colors
    chart = curves.roc.chart() + curves.roc.at(threshold=0.5).roc.chart()
    drawn = "".join(point_marks(chart))
    assert chart.title.subtitle == curves.roc.chart().title.subtitle
    assert OTHER_COLOR in drawn
    assert sum(color in drawn for color in COLORS) == 5
