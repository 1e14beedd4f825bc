"""Charts of comparisons: the difference of each pair, with its interval and p-value."""

from __future__ import annotations

import re

import altair as alt
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.charts.style import COLORS, REFERENCE_COLOR
from tests.charts.specifications import VOTE, encodings, records, spec, svg, texts

MODELS = VOTE.filter(pl.col("model").str.contains("tree|svm|bayes"))


def test_each_pair_has_its_difference_interval_and_p_value():
    table = rf.compare(MODELS, "label", "score", id="id")
    chart = table.roc.chart()
    drawn = pl.DataFrame(records(chart))
    assert drawn["model_a − model_b"].to_list() == [
        "decision_tree − linear_svm",
        "decision_tree − naive_bayes",
        "linear_svm − naive_bayes",
    ]
    for name in ("difference", "lower", "upper"):
        assert drawn[name].to_list() == table[name].round_sig_figs(7).to_list()
    own = [layer.data.values for layer in chart.layer if isinstance(layer.data, alt.InlineData)]
    assert [{"difference": 0.0}] in own
    shown = svg(chart)
    for name in ("p_value", "p_adjusted"):
        assert drawn[f"_{name}"].to_list() == [f"{p:.3f}" for p in table[name]]
        assert all(f">{p:.3f}<" in shown for p in table[name])
    assert ">p<" in shown
    assert ">adjusted p<" in shown


def ends(chart) -> pl.DataFrame:
    return pl.DataFrame(records(chart)).select("_lower", "_upper")


@pytest.mark.parametrize("name", ["model_a − model_b", "_lower"])
def test_a_group_column_can_have_the_name_of_a_field_of_the_chart(name):
    table = rf.compare(MODELS, "label", "score", id="id", by="age")
    plain, drawn = (texts(part.roc.chart()) for part in (table, table.rename({"age": name})))
    assert [
        text and text.replace("(model_a − model_b)", "model_a − model_b") for text in drawn
    ] == [text and text.replace("age", name) for text in plain]


@pytest.mark.parametrize("method", ["delong", "delong_t"])
def test_thin_lines_are_simultaneous_limits_of_the_tests_of_a_group(method):
    options = {"id": "id", "by": "age", "method": method}
    table = rf.compare(MODELS, "label", "score", **options)
    # The limits at Bonferroni's level: three pairs in each age group.
    wide = rf.compare(MODELS, "label", "score", level=1 - 0.05 / 3, **options)
    limits = wide.select(_lower="lower", _upper="upper")
    assert_frame_equal(ends(table.roc.chart()), limits, rel_tol=1e-6)
    # One family of nine pairs.
    table = rf.compare(MODELS, "label", "score", family="all", **options)
    wide = rf.compare(MODELS, "label", "score", level=1 - 0.05 / 9, **options)
    limits = wide.select(_lower="lower", _upper="upper")
    assert_frame_equal(ends(table.roc.chart()), limits, rel_tol=1e-6)
    widths = encodings(table.roc.chart(), "strokeWidth")[0]["scale"]
    texts = ["simultaneous 95 % intervals (Bonferroni)", "95 % intervals"]
    assert widths == {"type": "ordinal", "domain": texts, "range": [1, 4]}
    assert all(f">{text}<" in svg(table.roc.chart()) for text in texts)


@pytest.mark.parametrize(
    "options", [{"adjust": None}, {"adjust": "bh"}, {"method": "permutation", "seed": 1}]
)
def test_other_adjustments_and_tests_without_limits_have_no_simultaneous_limits(options):
    table = rf.compare(MODELS, "label", "score", id="id", **options)
    rows = pl.DataFrame(records(table.roc.chart()))
    assert "_lower" not in rows.columns or rows["_lower"].null_count() == 3


def test_differences_that_are_not_significant_after_adjustment_are_gray():
    table = rf.compare(MODELS, "label", "score", id="id", by="age").with_columns(
        p_value=pl.Series([0.001, 0.03, 0.3] * 3), p_adjusted=pl.Series([0.003, 0.06, None] * 3)
    )
    chart = table.roc.chart()
    assert "Gray: adjusted p ≥ 0.05" in chart.title.subtitle
    points = re.findall(r'aria-roledescription="point" [^>]*fill="([^"]*)"', svg(chart))
    assert points.count(REFERENCE_COLOR) == 6
    assert points.count(COLORS[0]) == 3


def test_each_name_of_a_long_pair_is_cut_separately():
    rows = pl.select(label=pl.int_range(20) % 2)
    names = [f"gradient boosting with splines {i} (baseline 2019)" for i in "ab"]
    scores = rows.with_columns(
        pl.int_range(20).hash(i).cast(pl.Float64).alias(n) for i, n in enumerate(names)
    )
    (record,) = records(rf.compare(scores, "label", names).roc.chart())
    assert record["model_a − model_b"] == (
        "gradient boo…(baseline 2019) (1) − gradient boo…(baseline 2019) (2)"
    )


def test_groups_share_the_line_of_a_pair_where_they_have_colors():
    table = rf.compare(MODELS, "label", "score", id="id", by="age", baseline="linear_svm")
    named = table.roc.chart()
    assert len(encodings(named, "y")[0]["scale"]["domain"]) == 6
    colored = table.roc.chart(color="age")
    assert encodings(colored, "y")[0]["scale"]["domain"] == [
        "linear_svm − decision_tree",
        "linear_svm − naive_bayes",
    ]


def test_the_axis_title_is_the_compared_metric():
    partial = rf.compare(MODELS, "label", "score", id="id", fpr=(0, 0.2)).roc.chart()
    assert encodings(partial, "x")[0]["title"] == "Difference of partial AUC"
    title = "Differences of partial AUC, 393 positives, 551 negatives"
    assert partial.title.text == title


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("brier", "Brier score"),
        ("log_loss", "logarithmic loss"),
        ("average_precision", "average precision"),
    ],
)
def test_the_axis_title_is_the_name_of_another_metric(metric, name):
    options = {"n_boot": 20, "seed": 1} if metric == "average_precision" else {}
    scores = MODELS.with_columns(pl.col("score").clip(0, 1))
    table = rf.compare(scores, "label", "score", id="id", metric=metric, **options)
    chart = table.roc.chart()
    assert encodings(chart, "x")[0]["title"] == f"Difference of {name}"
    assert chart.title.text == f"Differences of {name}, 393 positives, 551 negatives"


def test_only_pairs_with_the_smallest_p_values_are_drawn():
    n = 60
    models = {
        f"m{i:02}": pl.int_range(n).hash(i) % 1000 / 1000 + pl.col("label") * i / 20
        for i in range(12)
    }
    rows = pl.select(label=pl.int_range(n) % 2).with_columns(**models)
    table = rf.compare(rows, "label", list(models))
    chart = table.roc.chart()
    smallest = table.with_row_index().sort("p_value").head(40).sort("index")
    drawn = pl.DataFrame(records(chart))
    pairs = smallest.select(pl.format("{} − {}", "model_a", "model_b")).to_series()
    assert drawn["model_a − model_b"].to_list() == pairs.to_list()
    rule = "Rows with the 40 smallest of 66 p-values"
    assert chart.title.subtitle == (
        "95 % intervals (not adjusted), test: DeLong, t distribution. Gray: adjusted p ≥ 0.05. "
        f"{rule}"
    )
    # The family consists of all pairs, not only of the drawn ones.
    wide = rf.compare(rows, "label", list(models), level=1 - 0.05 / 66)
    limits = wide[smallest["index"].to_list()].select(_lower="lower", _upper="upper")
    assert_frame_equal(ends(chart), limits, rel_tol=1e-6)
    assert spec(chart)["height"] <= 700
    assert rule in chart.description


THREE = ["recall", "precision", "alert_rate"]


def groups_of_rows(n=3):
    rows = MODELS.filter(model="naive_bayes").with_row_index("row")
    return rows.with_columns(sex=pl.lit("group ") + (pl.col("row") % n).cast(pl.String))


def test_several_metrics_have_a_line_for_each_metric_and_pair():
    table = rf.compare(MODELS, "label", "score", id="id", metric=THREE, threshold=0.5)
    chart = table.roc.chart()
    lines = encodings(chart, "y")[0]["scale"]["domain"]
    assert lines == [
        f"{metric}: {a} − {b}"
        for metric in ("recall", "precision", "alert rate")
        for a, b in table.select("model_a", "model_b").unique(maintain_order=True).rows()
    ]
    rows = {row["model_a − model_b"]: row for row in records(chart)}
    for row in table.iter_rows(named=True):
        drawn = rows[f"{row['metric'].replace('_', ' ')}: {row['model_a']} − {row['model_b']}"]
        for name in ("difference", "lower", "upper", "p_value"):
            assert drawn[name] == pytest.approx(row[name], rel=1e-6)
    assert (
        chart.title.text
        == "Differences of recall, precision and alert rate, 393 positives, 551 negatives"
    )
    assert encodings(chart, "x")[0]["title"] == "Difference"


def test_metrics_of_different_scales_have_panels():
    metrics = ["recall", "lr_pos"]
    table = rf.compare(MODELS, "label", "score", id="id", metric=metrics, threshold=0.5, seed=1)
    chart = table.roc.chart()
    drawn = spec(chart)
    assert drawn["facet"]["field"] == "metric"
    assert drawn["resolve"]["scale"]["x"] == "independent"
    assert {row["metric"] for row in records(chart)} == {"recall", "lr pos"}
    assert len(encodings(chart, "y")[0]["scale"]["domain"]) == 3


def test_groups_of_rows_have_a_line_for_each_metric_and_a_color_for_each_group():
    options = {"between": "sex", "metric": THREE, "threshold": 0.5}
    table = rf.compare(groups_of_rows(), "label", "score", pairs="rest", **options)
    chart = table.roc.chart()
    assert encodings(chart, "y")[0]["scale"]["domain"] == ["recall", "precision", "alert rate"]
    names = [f"group {i} − other rows" for i in range(3)]
    (color,) = {str(e["scale"]["domain"]) for e in encodings(chart, "color") if "scale" in e}
    assert color == str(names)
    values = [
        (row["metric"], row["model_a − model_b"], row["difference"]) for row in records(chart)
    ]
    assert values == [
        (metric.replace("_", " "), f"{group} − other rows", pytest.approx(difference, rel=1e-6))
        for metric in THREE
        for group, difference in table.filter(metric=metric)
        .select("model_a", "difference")
        .iter_rows()
    ]
    own = [layer.data.values for layer in chart.layer if isinstance(layer.data, alt.InlineData)]
    assert [{"difference": 0.0}] in own
    reference = rf.compare(groups_of_rows(), "label", "score", baseline="group 0", **options)
    names = [f"group 0 − group {i}" for i in (1, 2)]
    assert {row["model_a − model_b"] for row in records(reference.roc.chart())} == {*names}


def test_a_group_without_a_name_is_not_named_other_rows():
    rows = groups_of_rows(2).with_columns(sex=pl.when(pl.col("row") % 2 == 0).then("sex"))
    table = rf.compare(rows, "label", "score", between="sex", baseline="group 0", metric="recall",
                       threshold=0.5)  # fmt: skip
    (record,) = records(table.roc.chart())
    assert record["model_a − model_b"] == "group 0 − null"


def test_score_limits_have_no_legend_of_simultaneous_limits():
    table = rf.compare(groups_of_rows(), "label", "score", between="sex", metric="recall",
                       threshold=0.5)  # fmt: skip
    assert not encodings(table.roc.chart(), "strokeWidth")
    assert "simultaneous" not in svg(table.roc.chart())


def test_charts_of_several_metrics_of_an_empty_table_and_of_group_columns():
    table = rf.compare(MODELS, "label", "score", id="id", metric=THREE, threshold=0.5, by="age")
    lines = encodings(table.roc.chart(), "y")[0]["scale"]["domain"]
    assert len(lines) == table.height
    assert lines[0] == "18-34 · recall: decision_tree − linear_svm"
    assert records(table.clear().roc.chart()) == []
    ages = rf.compare(groups_of_rows(), "label", "score", between="sex", metric=THREE,
                      threshold=0.5, by="age").roc.chart()  # fmt: skip
    assert len(encodings(ages, "y")[0]["scale"]["domain"]) == 9
