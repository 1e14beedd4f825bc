"""Charts of calibration: points, steps, limits and bars are those of the drawn tables."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import polars as pl
import pytest
import vl_convert

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
FIELDS = ("score_mean", "event_rate", "lower", "upper", "score_min", "score_max", "n")


def part(chart, name: str) -> list[dict]:
    return [record for record in records(chart) if record["_layer"] == name]


def test_points_and_limits_are_the_rows_of_the_table():
    points = part(QUANTILES.roc.chart(), "bin")
    assert len(points) == QUANTILES.height
    for point, row in zip(points, QUANTILES.to_dicts(), strict=True):
        assert point["model"] == row["model"]
        for name in FIELDS:
            assert point[name] == pytest.approx(row[name], rel=1e-6), name


def test_isotonic_regressions_are_steps_from_the_lowest_to_the_highest_score_of_each_level():
    chart = LEVELS.roc.chart()
    ends = [(one["x"], one["y"]) for one in part(chart, "level end")]
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
    assert all(point["lower"] is None for point in part(plain, "bin"))


def test_bars_are_the_numbers_of_positives_and_negatives_of_each_bin():
    chart = QUANTILES.roc.chart()
    for side, share in (("positives", "event_rate"), ("negatives", None)):
        bars = [bar for bar in part(chart, "thin bar") if bar["_class"] == side]
        for model in ("decision_tree", "naive_bayes"):
            rows = QUANTILES.filter(model=model)
            rate = rows["event_rate"] if share else 1 - rows["event_rate"]
            own = [bar for bar in bars if bar["model"] == model]
            assert [bar["score_mean"] for bar in own] == pytest.approx(
                rows["score_mean"].to_list(), rel=1e-6
            )
            assert [bar["n"] for bar in own] == pytest.approx((rows["n"] * rate).to_list())
            lengths = [abs(bar["_end"] - bar["_base"]) for bar in own]
            longest = max(bar["n"] for bar in own)
            shares = [length / max(lengths) for length in lengths]
            assert shares == pytest.approx([bar["n"] / longest for bar in own], rel=1e-4)


def test_bars_of_scores_count_the_rows_of_each_score_or_of_twenty_bins():
    tree = VOTE.filter(model="decision_tree")
    assert tree["score"].n_unique() <= 100 < BAYES["score"].n_unique()
    thin = QUANTILES.filter(model="decision_tree").roc.chart(scores=CURVES)
    both = QUANTILES.roc.chart(scores=CURVES)  # curves of a chart have the same kind of bars
    assert not part(thin, "wide bar") + part(both, "thin bar")
    for side, label in (("positives", True), ("negatives", False)):
        found = {
            bar["score_mean"]: bar["n"] for bar in part(thin, "thin bar") if bar["_class"] == side
        }
        counts = tree.filter(label=label)["score"].value_counts().rows()
        assert found == {float(f"{score:.7g}"): n for score, n in counts}
        for model, rows in (("decision_tree", tree), ("naive_bayes", BAYES)):
            found = {
                bar["score_min"]: bar["n"]
                for bar in part(both, "wide bar")
                if bar["_class"] == side and bar["model"] == model
            }
            bins = (rows.filter(label=label)["score"] * 20).floor() / 20
            assert found == {float(f"{left:.7g}"): n for left, n in bins.value_counts().rows()}


def test_positives_are_above_and_negatives_below_the_curves():
    chart = QUANTILES.roc.chart(scores=CURVES)
    strip = 0.16 * 380  # pixels
    height = spec(chart)["height"]
    assert height == round(380 + 2 * strip)
    pattern = r'class: (\w+);[^>]*rect mark" d="M[\d.]+,([\d.]+)h[\d.]+v([\d.]+)h'
    bars = re.findall(pattern, svg(chart))
    assert {name for name, *_ in bars} == {"positives", "negatives"}
    for name, top, length in bars:
        low, high = (0, strip) if name == "positives" else (height - strip, height)
        assert low <= float(top) < float(top) + float(length) <= high
    # Each model has its own lane.
    lanes = {
        (bar["model"], bar["_class"]): bar["_base"]
        for bar in part(chart, "wide bar") + part(chart, "thin bar")
    }
    first, second = (
        [lanes[model, side] for side in ("positives", "negatives")]
        for model in ("decision_tree", "naive_bayes")
    )
    assert first == second[::-1]
    assert first[0] == first[1] + 0.5
    panels = QUANTILES.roc.chart(scores=CURVES, facet="model")
    bases = {bar["_base"] for bar in part(panels, "wide bar") + part(panels, "thin bar")}
    assert bases == {0.06}


def test_there_are_no_bars_with_a_domain_of_event_rates_or_with_more_than_eight_curves():
    zoomed = QUANTILES.roc.chart(y_domain=(0, 0.5), x_domain=(0, 0.5))
    assert {record["_layer"] for record in records(zoomed)} == {"bin"}
    assert spec(zoomed)["height"] == 380
    assert encodings(zoomed, "y")[-1]["scale"]["domain"] == [0, 0.5]
    folds = rf.calibration(BAYES, "label", "score", by="fold", bins=3).roc.chart()
    assert {record["_layer"] for record in records(folds)} == {"bin"}
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


def test_smooth_curves_are_lines_with_the_points_of_the_table_and_gaps_at_undefined_rates():
    smooth = rf.calibration(BAYES, "label", "score", method="loess", ci="bootstrap", n_boot=20)
    chart = smooth.roc.chart()
    points = part(chart, "smooth")
    for name in FIELDS[:4]:
        found = [point[name] for point in points]
        assert found == pytest.approx(smooth[name].to_list(), rel=1e-6), name
    assert "Bars" not in chart.description
    assert "area" in marks(chart)
    gap = smooth.with_columns(
        event_rate=pl.when(~pl.col("bin").is_between(40, 42)).then("event_rate")
    )
    segments = [point["_segment"] for point in part(gap.roc.chart(), "smooth")]
    assert segments == [0] * 40 + [3] * 58


def test_limits_of_calibrated_scores_are_those_of_the_table():
    table = rf.calibration(BAYES, "label", "score", consistency=True)
    chart = table.roc.chart()
    for name in ("consistency_lower", "consistency_upper"):
        found = [point[name] for point in part(chart, "bin")]
        assert found == pytest.approx(table[name].to_list(), rel=1e-6)
    assert "limits for calibrated scores" in texts(chart)
    assert "Dotted lines: limits for calibrated scores." in chart.description
    fields = [line["field"] for line in spec(chart)["encoding"]["tooltip"]]
    assert fields == [*FIELDS, "consistency_lower", "consistency_upper"]
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
        rows = mean.filter(model=record["model"]).drop_nulls("event_rate")
        expected = dict(rows.select("score_mean", "event_rate").rows())
        for x, y in zip(record["x"], record["y"], strict=True):
            assert y == pytest.approx(expected[x], rel=1e-6)
    both = folds.roc.chart(detail="fold") + chart
    assert {"Score", "Event rate", "naive_bayes"} <= set(texts(both))


def rare_events(n_bins: int, n: int = 4000) -> pl.DataFrame:
    """Return a table of calibration of 6 % positives."""
    rng = np.random.default_rng(7)
    score = 1 / (1 + np.exp(-rng.normal(-3.2, 1, n)))
    rows = pl.DataFrame({"label": rng.random(n) < score, "score": score})
    return rf.calibration(rows, "label", "score", bins=n_bins)


def domains(chart) -> dict[str, list[float]]:
    """Return the domains of both axes, as Vega draws them."""
    compiled = vl_convert.vegalite_to_vega(json.dumps(spec(chart)))
    return {scale["name"]: scale["domain"] for scale in compiled["scales"] if scale["name"] in "xy"}


def test_the_axes_of_rare_events_are_equal_and_end_at_round_numbers_around_all_limits():
    table = rare_events(12)
    assert table["n"].sum() == 4000
    x, y = domains(table.roc.chart()).values()
    highest = table["upper"].max()
    assert x == [0, 0.25]
    assert 0.2 < highest <= 0.25
    assert y == x
    assert domains(table.roc.chart(y_domain=(0, 0.25)))["y"] == [0, 0.25]
    diagonal = table.roc.chart().layer[1].data.values
    assert diagonal == [{"score_mean": end, "event_rate": end} for end in (0, 0.25)]
    ticks = spec(table.roc.chart())["encoding"]["y"]["axis"]["values"]
    assert ticks == [0, 0.05, 0.1, 0.15, 0.2, 0.25]


@pytest.mark.parametrize("scale", [None, "log", "logit"])
@pytest.mark.parametrize("seed", range(8))
def test_the_axes_contain_all_scores_and_event_rates(scale, seed):
    rng = np.random.default_rng(seed)
    n, center = int(rng.integers(20, 300)), rng.uniform(-7, 5)
    score = (1 / (1 + np.exp(-rng.normal(center, 1.5, n)))).round(int(rng.integers(2, 7)))
    rows = pl.DataFrame({"label": rng.random(n) < score, "score": score})
    method = ("quantile", "uniform", "isotonic")[seed % 3]
    chart = rf.calibration(rows, "label", "score", method=method, ci=None).roc.chart(scale=scale)
    low, high = domains(chart)["x"]
    if scale == "logit":
        low, high = (1 / (1 + math.exp(-end)) for end in (low, high))
        low, high = low * (1 - 1e-5), 1 - (1 - high) * (1 - 1e-5)
    shown = [
        record[name]
        for record in records(chart)
        if "_hidden" not in record
        for name in ("score_mean", "event_rate")
        if name in record and not (scale and record[name] in (0, 1))
    ]
    assert not shown or low <= min(shown) <= max(shown) <= high


def test_rates_without_a_position_on_a_logarithmic_axis_are_counted_and_keep_their_limits():
    rows = pl.DataFrame({"label": [0] * 20 + [1] * 5 + [0] * 15, "score": [0.02] * 20 + [0.2] * 20})
    table = rf.calibration(rows, "label", "score")
    chart = table.roc.chart(scale="log")
    assert table["event_rate"].to_list() == [0, 0.25]
    assert chart.title.subtitle.endswith("Not drawn: 1 event rate of 0")
    assert svg(chart).count('aria-roledescription="point"') == 1
    low, high = domains(chart)["x"]
    assert low == 0.02
    assert high >= table["upper"].max()
    # The limits of the first bin start at the lower end of the axis.
    assert "Score: 0.02; Event rate: 0.02; upper: 0.1611" in svg(chart)
    zero = rf.calibration(rows.with_columns(pl.col("score").replace(0.02, 0.0)), "label", "score")
    assert zero.roc.chart(scale="logit").title.subtitle.endswith(
        "Not drawn: 1 event rate of 0 or 1, 1 score of 0 or 1"
    )


def test_logits_are_computed_from_the_rates():
    chart = rare_events(5).roc.chart(scale="logit")
    assert spec(chart)["encoding"]["y"]["field"] == "event_rate_logit"
    labels = texts(chart)
    assert {"0.01", "0.1", "0.2"} <= set(labels)
    # Where the axis shows 0.2, the logit is log(0.2 / 0.8).
    ticks = spec(chart)["encoding"]["x"]["axis"]["values"]
    assert any(tick == pytest.approx(math.log(0.25), abs=1e-6) for tick in ticks)
    smooth = rf.calibration(BAYES, "label", "score", method="kernel").roc.chart(scale="logit")
    assert svg(smooth).count('aria-roledescription="line mark"') == 2


def test_averages_have_the_range_and_the_scale_of_their_bins():
    rng = np.random.default_rng(7)
    score = 1 / (1 + np.exp(-rng.normal(-3.2, 1, 4000)))
    rows = pl.DataFrame(
        {"fold": np.arange(4000) % 4, "label": rng.random(4000) < score, "score": score}
    )
    folds = rf.calibration(rows, "label", "score", by="fold", bins=5, ci=None)
    mean = folds.roc.average(over="fold")
    for scale in ("linear", "log", "logit"):
        chart, bins = mean.roc.chart(scale=scale), folds.roc.chart(scale=scale, detail="fold")
        both = bins + chart
        ends = [domains(one)["x"] for one in (chart, bins)]
        union = [min(low for low, _ in ends), max(high for _, high in ends)]
        assert domains(both) == {"x": union, "y": union}
        assert svg(both).count('aria-roledescription="axis"') == 2
    assert domains(mean.roc.chart())["x"] == [0, 0.4]
    assert 0.3 < mean.drop_nulls("event_rate")["event_rate_upper"].max() <= 0.4
