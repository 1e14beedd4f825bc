"""Charts of calibration: points, steps, limits and bars are those of the drawn tables."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import encodings, marks, records, spec, svg
from tests.charts.test_chart import texts

VOTE = rf.datasets.vote().filter(pl.col("model").is_in(["decision_tree", "naive_bayes"]))
BAYES = VOTE.filter(model="naive_bayes")
CURVES = rf.curve(VOTE, "label", "score", by="model")
QUANTILES = rf.calibration(VOTE, "label", "score", by="model")
LEVELS = rf.calibration(
    BAYES, "label", "score", method="isotonic", ci="bootstrap", n_boot=50, seed=1
)
FIELDS = {
    "x": "score_mean",
    "y": "event_rate",
    "y_low": "lower",
    "y_high": "upper",
    "left": "score_min",
    "right": "score_max",
    "n": "n",
}


def part(chart, name: str) -> list[dict]:
    return [record for record in records(chart) if record["part"] == name]


def test_points_and_limits_are_the_rows_of_the_table():
    points = part(QUANTILES.roc.chart(), "bin")
    assert len(points) == QUANTILES.height
    for point, row in zip(points, QUANTILES.to_dicts(), strict=True):
        assert point["f0"] == row["model"]
        for field, name in FIELDS.items():
            assert point[field] == pytest.approx(row[name], rel=1e-6), field


def test_rows_in_any_order_give_the_same_chart():
    shuffled = QUANTILES.sample(fraction=1, shuffle=True, seed=3)
    assert records(shuffled.roc.chart()) == records(QUANTILES.roc.chart())


def test_isotonic_regressions_are_steps_from_the_lowest_to_the_highest_score_of_each_level():
    chart = LEVELS.roc.chart()
    ends = [
        (one["x"], one["y"]) for one in sorted(part(chart, "level end"), key=lambda r: r["order"])
    ]
    expected = [
        (row[end], row["event_rate"])
        for row in LEVELS.to_dicts()
        for end in ("score_min", "score_max")
    ]
    assert ends == [pytest.approx(point, rel=1e-6) for point in expected]
    assert "area" in marks(chart)
    assert {one["n"] for one in part(chart, "level")} == set(LEVELS["n"])


def test_without_limits_there_are_no_bars_between_limits_and_no_legend_of_them():
    plain = rf.calibration(BAYES, "label", "score", ci=None).roc.chart()
    assert "pointwise intervals" not in plain.description
    assert "95 % pointwise intervals" in QUANTILES.roc.chart().description
    assert "95 % pointwise intervals" in texts(QUANTILES.roc.chart())
    assert all(point["y_low"] is None for point in part(plain, "bin"))


def test_bars_are_the_numbers_of_positives_and_negatives_of_each_bin():
    chart = QUANTILES.roc.chart()
    for side, share in (("positives", "event_rate"), ("negatives", None)):
        bars = [bar for bar in part(chart, "thin bar") if bar["side"] == side]
        for model in ("decision_tree", "naive_bayes"):
            rows = QUANTILES.filter(model=model)
            rate = rows["event_rate"] if share else 1 - rows["event_rate"]
            own = [bar for bar in bars if bar["f0"] == model]
            assert [bar["left"] for bar in own] == pytest.approx(
                rows["score_mean"].to_list(), rel=1e-6
            )
            assert [bar["n"] for bar in own] == pytest.approx((rows["n"] * rate).to_list())
            lengths = [abs(bar["end"] - bar["base"]) for bar in own]
            longest = max(bar["n"] for bar in own)
            shares = [length / max(lengths) for length in lengths]
            assert shares == pytest.approx([bar["n"] / longest for bar in own], rel=1e-4)


def test_bars_of_scores_count_the_rows_of_each_score_or_of_twenty_bins():
    bars = QUANTILES.roc.chart(scores=CURVES)
    tree = VOTE.filter(model="decision_tree")
    assert tree["score"].n_unique() <= 100 < BAYES["score"].n_unique()
    for side, label in (("positives", True), ("negatives", False)):
        found = {bar["left"]: bar["n"] for bar in part(bars, "thin bar") if bar["side"] == side}
        counts = tree.filter(label=label)["score"].value_counts().rows()
        assert found == {float(f"{score:.7g}"): n for score, n in counts}
        found = {bar["left"]: bar["n"] for bar in part(bars, "wide bar") if bar["side"] == side}
        bins = (BAYES.filter(label=label)["score"] * 20).floor() / 20
        assert found == {float(f"{left:.7g}"): n for left, n in bins.value_counts().rows()}


def test_positives_are_above_and_negatives_below_the_curves():
    chart = QUANTILES.roc.chart(scores=CURVES)
    for bar in [*part(chart, "thin bar"), *part(chart, "wide bar")]:
        if bar["side"] == "positives":
            assert 1 < bar["base"] < bar["end"] < 1.16
        else:
            assert -0.16 < bar["end"] < bar["base"] < 0
    # Each model has its own lane.
    lanes = {
        (bar["f0"], bar["side"]): bar["base"]
        for bar in part(chart, "wide bar") + part(chart, "thin bar")
    }
    assert len(set(lanes.values())) == 4
    panels = QUANTILES.roc.chart(scores=CURVES, facet="model")
    bases = {bar["base"] for bar in part(panels, "wide bar") + part(panels, "thin bar")}
    assert len(bases) == 2
    assert spec(chart)["height"] == round(380 * 1.32)


def test_there_are_no_bars_with_a_domain_of_event_rates_or_with_more_than_eight_curves():
    zoomed = QUANTILES.roc.chart(y_domain=(0, 0.5), x_domain=(0, 0.5))
    assert {record["part"] for record in records(zoomed)} == {"bin"}
    assert spec(zoomed)["height"] == 380
    assert encodings(zoomed, "y")[-1]["scale"]["domain"] == [0, 0.5]
    folds = rf.calibration(BAYES, "label", "score", by="fold", bins=3).roc.chart()
    assert {record["part"] for record in records(folds)} == {"bin"}
    assert "Bars" not in folds.description


def test_the_diagonal_and_the_legend_can_be_hidden():
    chart = QUANTILES.roc.chart()
    assert chart.description == (
        "Calibration chart, 2 curves: event rate against score. The dashed line shows perfect "
        "calibration. 95 % pointwise intervals. Bars: scores of positives above, of negatives "
        "below."
    )
    plain = QUANTILES.roc.chart(diagonal=False, legend=False)
    assert "perfect calibration" not in plain.description
    assert "pointwise intervals" not in "".join(texts(plain))


def test_groups_without_rows_and_empty_bins_are_not_drawn():
    rows = pl.DataFrame(
        {"g": ["a", "a", "b"], "label": [1, 0, None], "score": [0.9, 0.2, 0.5]},
        schema_overrides={"label": pl.Int8},
    )
    table = rf.calibration(
        rows, "label", "score", by="g", method="uniform", bins=5, empty_bins=True, missing="drop"
    )
    chart = table.roc.chart()
    assert [point["x"] for point in part(chart, "bin")] == [0.2, 0.9]
    assert "Not drawn: b" in chart.title.subtitle
    assert "NaN" not in svg(chart)


def test_curves_of_other_groups_raise_an_error():
    with pytest.raises(rf.RocframeError) as caught:
        QUANTILES.roc.chart(scores=VOTE)
    assert str(caught.value).startswith("scores=")
    assert "expected a curve table" in str(caught.value)
    folds = rf.curve(VOTE, "label", "score", by=["model", "fold"])
    with pytest.raises(rf.OptionValueError) as caught:
        QUANTILES.roc.chart(scores=folds)
    assert "this table has several curves for a group of the calibration table" in str(caught.value)
    with pytest.raises(rf.MissingColumnError) as caught:
        QUANTILES.roc.chart(scores=rf.curve(VOTE, "label", "score"))
    assert str(caught.value) == (
        "scores: the calibration curves have a column 'model', but the table does not.\n"
        "The table has: 'threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr'."
    )


def test_smooth_curves_are_lines_with_the_points_of_the_table_and_gaps_at_undefined_rates():
    smooth = rf.calibration(BAYES, "label", "score", method="loess", ci="bootstrap", n_boot=20)
    chart = smooth.roc.chart()
    points = part(chart, "smooth")
    for field, name in FIELDS.items():
        if name not in {"score_min", "score_max", "n"}:
            found = [point[field] for point in points]
            assert found == pytest.approx(smooth[name].to_list(), rel=1e-6), field
    assert "Bars" not in chart.description
    assert "area" in marks(chart)
    gap = smooth.with_columns(
        event_rate=pl.when(~pl.col("bin").is_between(40, 42)).then("event_rate")
    )
    segments = [point["segment"] for point in part(gap.roc.chart(), "smooth")]
    assert segments == [0] * 40 + [3] * 58


def test_limits_of_calibrated_scores_are_those_of_the_table():
    table = rf.calibration(BAYES, "label", "score", consistency=True)
    chart = table.roc.chart()
    for end in ("low", "high"):
        found = [point[f"consistency_{end}"] for point in part(chart, "bin")]
        name = "consistency_lower" if end == "low" else "consistency_upper"
        assert found == pytest.approx(table[name].to_list(), rel=1e-6)
    assert "limits for calibrated scores" in texts(chart)
    assert "Dotted lines: limits for calibrated scores." in chart.description
    titles = [line["title"] for line in encodings(chart, "tooltip")[0]]
    assert {"consistency_lower", "consistency_upper", "n"} <= set(titles)
    assert marks(chart).count("area") == 1
    two = rf.calibration(VOTE, "label", "score", by="model", consistency=True).roc.chart()
    assert "area" not in marks(two)
    assert "limits for calibrated scores" in texts(two)


def test_curves_of_two_methods_can_be_layered():
    smooth = rf.calibration(BAYES, "label", "score", method="kernel")
    bins = rf.calibration(BAYES, "label", "score")
    both = smooth.roc.chart() + bins.roc.chart()
    assert svg(both).count('aria-roledescription="axis"') == 2


def test_the_average_of_one_model_is_drawn_over_its_folds():
    folds = rf.calibration(BAYES, "label", "score", by="fold", bins=3, ci=None)
    both = folds.roc.chart(detail="fold") + folds.roc.average(over="fold").roc.chart()
    assert both.to_dict()["title"]["text"] == "Calibration"


def test_averages_over_folds_have_the_axes_and_the_diagonal_of_calibration():
    folds = rf.calibration(VOTE, "label", "score", by=["model", "fold"], bins=4, ci=None)
    mean = folds.roc.average(over="fold")
    chart = mean.roc.chart()
    assert chart.title.text == "Calibration"
    assert "The dashed line shows perfect calibration." in chart.description
    for record in records(chart):
        rows = mean.filter(model=record["f0"]).drop_nulls("event_rate")
        expected = dict(rows.select("score_mean", "event_rate").rows())
        for x, y in zip(record["x"], record["y"], strict=True):
            assert y == pytest.approx(expected[x], rel=1e-6)
    both = folds.roc.chart(detail="fold") + chart
    assert {"Score", "Event rate", "naive_bayes"} <= set(texts(both))
