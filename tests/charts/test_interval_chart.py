"""Charts of areas and tests: a dot and its interval for each group."""

from __future__ import annotations

import re

import altair as alt
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import VOTE, encodings, layers, marks, records, spec, svg

# One model without positives.
NONE = VOTE.with_columns(label=pl.col("label") & (pl.col("model") != "linear_svm"))
AREAS = rf.auc(NONE, "label", "score", by="model")


def lines_of(chart) -> list[str]:
    """Return the names of the lines of a dot plot, from top to bottom."""
    return encodings(chart, "y")[0]["scale"]["domain"]


def test_the_dots_and_intervals_are_those_of_the_table():
    chart = AREAS.roc.chart()
    drawn = pl.DataFrame(records(chart), infer_schema_length=None)
    for name in ("auc", "lower", "upper"):
        assert drawn[name].to_list() == AREAS[name].round_sig_figs(7).to_list()
    assert drawn["model"].to_list() == AREAS["model"].to_list()
    drawn = [(layer["mark"]["type"], layer["encoding"]) for layer in layers(chart)]
    (interval,) = (channels for _, channels in drawn if channels["x"].get("field") == "lower")
    assert interval["x2"] == {"field": "upper"}
    (dots,) = (channels for mark, channels in drawn if mark == "point")
    assert (dots["x"]["field"], dots["y"]["field"]) == ("auc", "model")


def test_an_undefined_area_has_a_line_with_the_reason():
    chart = AREAS.roc.chart()
    assert [record.get("_reason") for record in records(chart)] == [
        "no positives" if model == "linear_svm" else None for model in AREAS["model"]
    ]
    shown = svg(chart)
    assert shown.count(">no positives<") == 1
    assert ">linear_svm<" in shown
    assert "linear_svm: no positives;" in chart.description


def test_a_description_has_the_most_important_numbers():
    row = AREAS.row(0, named=True)
    text = f"{row['model']}: {row['auc']:.3f} ({row['lower']:.3f} to {row['upper']:.3f})"
    assert text in AREAS.roc.chart().description
    many = pl.concat([AREAS.with_columns(model=pl.lit(str(i))) for i in range(3)])
    assert many.roc.chart().description.endswith(" and 8 more.")


def test_the_subtitle_describes_the_intervals():
    assert AREAS.roc.chart().title.subtitle == "95 % intervals (DeLong, logit scale)"


def lines_at(chart) -> list[dict[str, float]]:
    """Return the data of the reference lines."""
    own = [layer.data for layer in chart.layer if isinstance(layer.data, alt.InlineData)]
    return [row for data in own for row in data.values if row]


def test_the_axis_has_a_line_at_a_half_if_areas_are_near_it():
    numbers = pl.col("auc", "lower", "upper", "auc_pessimistic", "auc_optimistic")
    chart = AREAS.with_columns(numbers - 0.2).roc.chart()
    assert lines_at(chart) == [{"auc": 0.5}]
    assert encodings(chart, "x")[0]["scale"]["domain"][0] == 0.5
    assert "The dashed line is at 0.5." in chart.description
    partial = rf.auc(VOTE, "label", "score", by="model", fpr=(0, 0.1))
    assert lines_at(partial.roc.chart()) == []


def test_the_axis_of_areas_far_from_a_half_begins_near_the_smallest_number():
    smallest = AREAS.select(pl.min_horizontal("lower", "auc_pessimistic").min()).item()
    chart = AREAS.roc.chart()
    assert smallest > 0.7
    assert encodings(chart, "x")[0]["scale"]["domain"][0] == pytest.approx(smallest, abs=1e-4)
    assert lines_at(chart) == []
    assert "dashed line" not in chart.description


@pytest.mark.parametrize(
    ("areas", "domain"),
    [([0.98766, 0.98774], [0.98766, 0.98774]), ([0.75, 0.75], [0.7125, 0.7875])],
)
def test_the_axis_ends_at_the_smallest_and_largest_number_or_surrounds_a_single_one(areas, domain):
    chart = pl.DataFrame({"model": ["a", "b"], "auc": areas}).roc.chart()
    assert encodings(chart, "x")[0]["scale"]["domain"] == pytest.approx(domain, rel=1e-12)


def test_ties_make_a_dotted_box_with_a_legend_and_without_ties_there_is_none():
    tied = rf.auc(NONE.with_columns(pl.col("score").round(1)), "label", "score", by="model")
    apart = rf.auc(NONE.filter(model="logistic_regression"), "label", "score", by="model")
    apart = apart.with_columns(auc_pessimistic="auc", auc_optimistic="auc")
    assert marks(tied.roc.chart())[:2] == ["bar", "bar"]
    assert svg(tied.roc.chart()).count(">worst to best order of ties<") == 1
    assert marks(apart.roc.chart()).count("bar") == 1
    assert "worst to best order of ties" not in svg(apart.roc.chart())


def test_without_intervals_there_are_dots():
    chart = rf.area(rf.curve(NONE, "label", "score", by="model")).roc.chart()
    assert set(marks(chart)) == {"point", "text"}
    assert svg(chart).count('aria-roledescription="point"') == 5
    without = rf.auc(NONE, "label", "score", by="model", ci=None).roc.chart()
    assert set(marks(without)) == {"bar", "point", "text"}
    assert "lower" not in [x.get("field") for x in encodings(without, "x")]


def test_the_model_has_the_colors_and_other_keys_the_lines():
    table = rf.auc(NONE, "label", "score", by=["age", "model"], ci=None)
    chart = table.roc.chart()
    assert lines_of(chart) == ["18-34", "35-54", "55+"]
    assert encodings(chart, "color")[0]["scale"]["domain"] == sorted(NONE["model"].unique())
    plain = table.roc.chart(color=None)
    best = table.filter(age="18-34").sort("auc", descending=True, nulls_last=True)
    assert lines_of(plain)[:2] == [f"18-34 · {model}" for model in best["model"].head(2)]
    assert encodings(plain, "y")[0]["field"] == "age · model"
    assert encodings(plain, "y")[0]["title"] == "age · model"
    assert encodings(plain, "yOffset") == []


def test_panels_have_the_values_of_a_group():
    table = rf.auc(NONE, "label", "score", by=["age", "model"], ci=None)
    chart = table.roc.chart(facet="age")
    assert spec(chart)["facet"]["sort"] == ["18-34", "35-54", "55+"]
    assert len(lines_of(chart)) == 6


def test_lines_are_sorted_by_value_or_in_the_order_of_a_table_that_the_user_sorted():
    best_first = AREAS.sort("auc", descending=True, nulls_last=True)
    for table in (AREAS, AREAS.sort("auc", nulls_last=True), AREAS.reverse()):
        expected = best_first if table is AREAS else table
        assert lines_of(table.roc.chart()) == expected["model"].to_list()


def test_losses_are_sorted_with_the_smallest_on_top():
    table = rf.intervals(NONE, "label", "score", metrics="fpr", threshold=0.5, by="model", ci=None)
    assert lines_of(table.roc.chart()) == table.sort("estimate")["model"].to_list()


def test_numbers_are_printed_beside_the_intervals():
    shown = svg(AREAS.roc.chart())
    for row in AREAS.drop_nulls("auc").iter_rows(named=True):
        text = f"{row['auc']:.3f} ({row['lower']:.3f} to {row['upper']:.3f})"
        assert f">{text}<" in shown
    assert ">AUC (95 % interval)<" in shown


def test_small_numbers_have_three_digits_and_a_minus_sign():
    table = pl.DataFrame({"model": ["a", "b"], "auc": [0.00312, -0.0004]})
    assert [r["_estimate"] for r in records(table.roc.chart())] == ["0.00312", "−0.00040"]


def test_the_title_has_the_numbers_of_rows_if_they_are_equal():
    same = AREAS.filter(pl.col("model") != "linear_svm")
    n_pos, n_neg = same.select("n_pos", "n_neg").row(0)
    title = f"Area under the ROC curve, {n_pos} positives, {n_neg} negatives"
    assert same.roc.chart().title.text == title
    assert AREAS.roc.chart().title.text == "Area under the ROC curve"
    test = rf.auc_test(NONE.filter(model="random_forest"), "label", "score")
    title = f"Does the AUC differ from the null hypothesis? {n_pos} positives, {n_neg} negatives"
    assert test.roc.chart().title.text == title


def test_the_interval_of_a_single_row_is_not_as_wide_as_the_chart():
    chart = AREAS.filter(model="random_forest").roc.chart()
    low, high = encodings(chart, "x")[0]["scale"]["domain"]
    lower, upper = AREAS.filter(model="random_forest").select("lower", "upper").row(0)
    assert upper - lower < (high - low) / 2


def test_tests_have_a_line_at_each_null_hypothesis_and_their_p_values():
    table = pl.concat(
        rf.auc_test(NONE, "label", "score", by="model", null=null).filter(
            pl.col("model").is_in(models)
        )
        for null, models in ((0.5, ["linear_svm", "decision_tree"]), (0.8, ["random_forest"]))
    )
    chart = table.roc.chart()
    first, undefined, third = records(chart)
    assert (first["_p_adjusted"], undefined["_p_adjusted"]) == ("< 0.001", "")
    assert third["_p_adjusted"] == f"{table['p_adjusted'][2]:.3f}"
    shown = svg(chart)
    assert shown.count("stroke-dasharray") == 2
    assert ">adjusted p<" in shown
    text = f"adjusted p = {third['_p_adjusted']}"
    assert f"{third['model']}: {third['auc']:.3f}, p = {third['_p_value']}, {text}" in (
        chart.description
    )


def test_three_numbers_over_folds_have_three_marks_whose_legends_show_their_symbols():
    chart = rf.fold_auc(NONE, "label", "score", by="model").roc.chart()
    names = ["mean AUC", "pooled AUC", "AUC of mean"]
    scales = [shape["scale"] for shape in encodings(chart, "shape")]
    assert [scale["domain"] for scale in scales] == [[name] for name in names]
    shown = svg(chart)
    assert all(f">{name}<" in shown for name in names)
    symbols = re.findall(r"role-legend-symbol(.*?)</g>", shown)
    assert ["fill=" in symbol for symbol in symbols] == [True, False, False]


def statistics(chart) -> dict[str, dict[str, float | None]]:
    """Return the drawn values of each panel by model."""
    drawn: dict[str, dict[str, float | None]] = {}
    for record in records(chart):
        drawn.setdefault(record["_statistic"], {})[record["model"]] = record["_value"]
    return drawn


def test_statistics_of_different_scales_have_panels_with_axes_of_their_own():
    table = rf.summary(VOTE, "label", "score", by="model")
    chart = table.roc.chart()
    titles = {
        "AUC (better →)": "auc",
        "average precision (better →)": "average_precision",
        "KS (better →)": "ks",
        "H measure (better →)": "h_measure",
    }
    assert statistics(chart) == {
        title: dict(zip(table["model"], table[name].round_sig_figs(7), strict=True))
        for title, name in titles.items()
    }
    read = spec(chart)
    assert read["facet"]["sort"] == [*titles]
    assert read["resolve"]["scale"]["x"] == "independent"
    assert lines_of(chart) == table.sort("auc", descending=True)["model"].to_list()
    shown = svg(chart)
    assert all(f">{title}<" in shown for title in titles)
    assert all(f">{value:.3f}<" in shown for name in titles.values() for value in table[name])


def test_panels_of_losses_and_of_accuracy_state_which_side_is_better():
    table = pl.DataFrame({"label": [*"pq"] * 2, "p": [0.9, 0.2, 0.4, 0.3]})
    table = table.with_columns(q=1 - pl.col("p"))
    names = ["brier", "log_loss", "top_2_accuracy", "macro_f1"]
    chart = rf.multiclass_metrics(table, "label", ["p", "q"], metrics=names).roc.chart()
    assert spec(chart)["facet"]["sort"] == [
        *("Brier score (← better)", "logarithmic loss (← better)"),
        *("top 2 accuracy (better →)", "macro F1 (better →)"),
    ]
    scores = VOTE.with_columns(pl.col("score").clip(0, 1))
    table = rf.calibration_summary(scores, "label", "score", by="model")
    assert lines_of(table.roc.chart()) == table.sort("brier")["model"].to_list()


def test_small_differences_in_panels_are_drawn_as_small_ones():
    table = pl.DataFrame({"model": [*"ab"], "label": ["p", "q"], "p": [0.9, 0.2], "q": [0.1, 0.8]})
    table = rf.multiclass_metrics(table, "label", ["p", "q"], by="model", metrics=["brier", "mcc"])
    table = table.with_columns(brier=pl.Series([0.589, 0.5894]), mcc=pl.Series([-0.9, 0.9]))
    chart = table.roc.chart()
    ends = [(r["_axis_start"], r["_axis_end"]) for r in records(chart) if "_axis_start" in r]
    assert ends == [pytest.approx((0.5892 - 0.02947, 0.5892 + 0.02947))]  # not of the second panel
    shown = svg(chart)
    points = re.findall(r'aria-roledescription="point"[^>]*transform="translate\(([\d.]+)', shown)
    a, b, low, high = map(float, points)
    assert b - a == pytest.approx((high - low) * 0.0004 / 0.05894, rel=0.15)
    empty = table.with_columns(brier=None, mcc=0.0).roc.chart()
    assert not [record for record in records(empty) if "_axis_start" in record]


def test_each_average_over_classes_has_a_line():
    table = pl.DataFrame(
        {"label": [*"pqr"] * 4, "p": range(12), "q": range(12, 0, -1), "r": [3, 1] * 6}
    )
    areas = rf.multiclass_auc(
        table, "label", ["p", "q", "r"], average=["macro", "hand_till"], ci=None
    )
    chart = areas.roc.chart()
    assert lines_of(chart) == ["macro", "hand_till"]
    assert [record["auc"] for record in records(chart)] == areas["auc"].round_sig_figs(7).to_list()


def test_a_thousand_rows_are_all_drawn_on_one_screen():
    rows = pl.DataFrame({"g": range(1000), "auc": [i / 1000 for i in range(1000)]})
    chart = rows.roc.chart()
    assert spec(chart)["height"] == 700
    assert len(records(chart)) == 1000
    assert svg(chart).count('aria-roledescription="point"') == 1000


def test_one_row_without_groups_has_a_line():
    (record,) = records(pl.DataFrame({"auc": [0.75]}).roc.chart())
    assert (record["_rows"], record["auc"]) == ("all rows", 0.75)


def test_areas_of_dates_are_drawn_over_time():
    days = pl.date_range(pl.date(2026, 1, 30), pl.date(2026, 2, 8), eager=True)
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.1, 0.4, 0.5]})
    keys = pl.DataFrame({"day": days}).join(pl.DataFrame({"model": ["a", "b"]}), how="cross")
    predictions = keys.join(rows, how="cross").with_columns(
        label=pl.when(pl.col("day") == days[3]).then(1).otherwise("label")
    )
    table = rf.auc(predictions, "label", "score", by=["model", "day"])
    chart = table.sort("auc").roc.chart()
    expected = table.sort("day", "model")
    drawn = pl.DataFrame(records(chart), infer_schema_length=None).sort("day", "model")
    assert drawn["day"].to_list() == [f"{day}T00:00:00.000Z" for day in expected["day"]]
    for name in ("auc", "lower", "upper"):
        assert drawn[name].to_list() == expected[name].round_sig_figs(7).to_list()
    assert marks(chart) == ["line", "bar", "point", "rule"]
    assert encodings(chart, "x")[0]["scale"] == {"type": "utc"}
    assert spec(chart)["facet"]["sort"] == ["a", "b"]
    colored = table.roc.chart(color="model")
    assert encodings(colored, "color")[0]["scale"]["domain"] == ["a", "b"]
    assert spec(chart)["title"]["text"] == "Area under the ROC curve over day"
    assert "Feb" in svg(chart)
    # Times are drawn as the table displays them.
    zoned = table.with_columns(
        pl.col("day").cast(pl.Datetime).dt.replace_time_zone("America/New_York")
    )
    assert records(zoned.roc.chart())[0]["day"] == "2026-01-30T00:00:00.000Z"
    assert records(table.filter(model="a").roc.chart(facet="model"))
    for dots in (table.roc.chart(color="day"), table.filter(pl.col("day") < days[2]).roc.chart()):
        assert spec(dots)["title"]["text"].startswith("Area under the ROC curve")
        assert "over" not in spec(dots)["title"]["text"]


def test_the_box_of_ties_of_a_row_surrounds_its_dot():
    two = pl.col("model").is_in(["decision_tree", "nearest_neighbours"])
    shown = svg(rf.auc(NONE.filter(two), "label", "score", by=["model", "age"]).roc.chart())
    boxes = re.findall(r'"bar" d="M[\d.]+,([\d.]+)h[\d.]+v([\d.]+)', shown)
    dots = re.findall(r'"point" transform="translate\([\d.]+,([\d.]+)\)', shown)
    middles = [float(top) + float(height) / 2 for top, height in boxes]
    assert len(middles) == 6
    assert sorted(middles) == pytest.approx(sorted(map(float, dots)), abs=0.01)
