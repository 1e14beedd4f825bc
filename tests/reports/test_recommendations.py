from __future__ import annotations

import math

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.grouped_curves import areas_and_curves
from rocframe.reports.recommendations import costs_text, recommendations
from rocframe.reports.tables import report_tables
from tests.reports.pages import without_dashboard

LOG = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 0, 1, 0, 0],
        "score": [0.9, 0.6, 0.4, 0.3, 0.1, 2 / 3, 0.5, 0.2],
        "model": ["a"] * 5 + ["b"] * 3,
        "fold": [1, 1, 2, 2, 2, 1, 2, 2],
    }
)


def tables_of(log=LOG, **options):
    options = ReportOptions(label="label", score="score", **options)
    return report_tables(log, options, *areas_and_curves(log, options)), options


def recommended(log=LOG, **options):
    return recommendations(*tables_of(log, **options))


def rows_of(result):
    """Return the rows of the table as dicts from titles to cells."""
    titles = [column.title for column in result.table.columns]
    return [dict(zip(titles, row, strict=True)) for row in result.table.rows]


def columns_of(result, *titles):
    return [tuple(row[title] for title in titles) for row in rows_of(result)]


def test_without_costs_and_constraints_nothing_is_recommended():
    assert recommended() is None


def test_the_threshold_and_its_effect_are_stated_per_model():
    result = recommended(by="model", costs={"fp": 1, "fn": 5})
    # Model a: tp = 2, fp = 1, fn = 0, tn = 2 at 0.4. Without alerts, 2 of 5 rows cost 5; if all
    # rows are alerts, 3 of 5 rows cost 1.
    shown = ("model", "threshold", "cost", "from the best", "verdict", "alerts", "recall")
    assert columns_of(result, *shown) == [
        ("b", "0.666667", "0.000", "–", "best", "1", "1.000"),
        ("a", "0.4", "0.200", "0.200", "not tested", "3", "1.000"),
    ]
    more = ("precision", "positives", "cost without alerts", "cost if all are alerts")
    assert columns_of(result, *more) == [
        ("1.000", "1", "1.667", "0.667"),
        ("0.667", "2", "2.000", "0.600"),
    ]
    assert result.introduction == (
        "Costs: 1 per false positive and 5 per false negative. These thresholds have the lowest "
        "expected cost per row."
    )
    assert result.sentences == [
        "Lowest expected cost per row: b, 0.000.",
        "The differences are not tested, because the rows are not paired.",
    ]
    assert result.key_number == ("Lowest expected cost per row", "0.000", "b, score ≥ 0.666667")
    assert result.remarks == [
        (
            "Threshold and numbers are computed from the same rows. The numbers are therefore "
            "optimistic: expect worse numbers on other data. The intervals hold for the threshold "
            "as it is, at the prevalence of the table, and those of differences hold together for "
            "all models of a group."
        ),
        (
            "Thresholds are rounded to 6 significant digits; the function operating_point returns "
            "all digits."
        ),
    ]


def test_folds_of_a_model_are_pooled():
    folds = recommended(by=["model", "fold"], costs={"fp": 1, "fn": 5})
    assert folds.table == recommended(by="model", costs={"fp": 1, "fn": 5}).table
    assert folds.remarks[0] == (
        "The rows are pooled over fold: one threshold for all values of fold."
    )


def test_costs_and_precision_are_those_at_the_prevalence():
    result = recommended(LOG.filter(model="a"), costs={"fp": 1, "fn": 5}, prevalence=0.25)
    # TPR 1 and FPR 1/3 at 0.4: alerts 0.25 + 0.25 = 0.5, cost 0.25, without alerts 0.25 * 5.
    assert columns_of(result, "threshold", "cost", "alerts", "recall", "precision") == [
        ("0.4", "0.250", "3", "1.000", "0.500")
    ]
    assert result.introduction.endswith(
        "per row, at a prevalence of 0.25. Without alerts, the cost is 1.250; if all rows are "
        "alerts, 0.750."
    )


SEGMENTS = pl.concat(
    pl.select(id=pl.int_range(240))
    .with_columns(
        model=pl.lit(model),
        segment=pl.lit(["east", "north", "west"]).list.get(pl.col("id") % 3),
        label=pl.col("id").hash(1) % 4 == 0,
    )
    .with_columns(score=pl.col("id").hash(seed) % 200 + signal * pl.col("label"))
    for seed, (model, signal) in enumerate({"boost": 150, "logit": 110, "rules": 10}.items())
)


def expected_limits(rows, thresholds, costs, prevalence, *, level, baseline=None):
    """Return the limits of the costs, by `decision_intervals` of the decisions as scores."""
    threshold = pl.col("model").replace_strict(thresholds)
    decisions = rows.with_columns(alert=(pl.col("score") >= threshold).cast(pl.Int8))
    odds = costs["fp"] / costs["fn"]
    result = rf.decision_intervals(
        decisions,
        "label",
        "alert",
        id="id",
        grid=odds / (1 + odds),
        prevalence=prevalence,
        baseline=baseline,
        ci="mover",
        level=level,
    )
    cost = costs["fn"] * (prevalence - pl.col("net_benefit"))
    upper, lower = (costs["fn"] * (prevalence - pl.col(name)) for name in ("lower", "upper"))
    high, low = (-costs["fn"] * pl.col(f"difference_{name}") for name in ("lower", "upper"))
    return {
        row["model"]: row
        for row in result.select(
            "model", cost=cost, lower=lower, upper=upper, low=low, high=high
        ).to_dicts()
    }


@pytest.mark.parametrize("layout", ["below each other", "side by side"])
def test_the_costs_of_the_models_of_each_segment_are_compared_on_the_same_rows(layout):
    costs = {"fp": 1, "fn": 5}
    log, options = SEGMENTS, {"by": ["model", "segment"], "id": "id"}
    if layout == "side by side":
        log = log.pivot("model", index=["id", "segment", "label"], values="score")
        options = {"by": "segment", "score": dict.fromkeys(["boost", "logit", "rules"])}
        options["score"] = {name: name for name in options["score"]}
    options = ReportOptions(**{"label": "label", "score": "score", "costs": costs, **options})
    tables = report_tables(log, options, *areas_and_curves(log, options))
    result = recommendations(tables, options)
    curves = rf.curve(SEGMENTS, "label", "score", by=["segment", "model"])
    points = rf.operating_point(curves, "expected_cost", costs=costs)
    expected, n_significant = [], 0
    for segment in ("east", "north", "west"):
        own = points.filter(segment=segment).sort("value").to_dicts()
        rows = SEGMENTS.filter(segment=segment)
        thresholds = {row["model"]: row["threshold"] for row in own}
        prevalence = rows["label"].mean()
        best = own[0]["model"]
        arguments = (rows, thresholds, costs, prevalence)
        single = expected_limits(*arguments, level=0.95)
        joint = expected_limits(*arguments, level=1 - 0.05 / 2, baseline=best)
        for row in own:
            one, both = single[row["model"]], joint[row["model"]]
            assert one["cost"] == pytest.approx(row["value"])
            is_best = row["model"] == best
            is_worse = not is_best and both["low"] > 0
            n_significant += is_worse
            difference = "–" if is_best else f"{row['value'] - own[0]['value']:.3f}"
            limits = "–" if is_best else f"{both['low']:.3f} to {both['high']:.3f}"
            expected.append(
                {
                    "segment": segment,
                    "model": row["model"],
                    "threshold": f"{row['threshold']:g}",
                    "cost": f"{row['value']:.3f}",
                    "95 % interval": f"{one['lower']:.3f} to {one['upper']:.3f}",
                    "from the best": difference,
                    "95 % interval of the difference": limits.replace("-", "−"),
                    "verdict": "best" if is_best else "worse" if is_worse else "not significant",
                    "alerts": f"{row['tp'] + row['fp']}",
                    "recall": f"{row['tp'] / (row['tp'] + row['fn']):.3f}",
                    "precision": f"{row['tp'] / (row['tp'] + row['fp']):.3f}",
                    "positives": f"{row['tp'] + row['fn']}",
                }
            )
    keys = list(expected[0])
    assert [{key: row[key] for key in keys} for row in rows_of(result)] == expected
    assert 0 < n_significant < 6
    assert result.sentences[-1] == (
        f"{n_significant} of the 6 differences from the best model of a group are significant "
        "(joint 95 % interval does not contain 0)."
    )


def test_a_capacity_is_a_rule_of_the_report():
    for capacity in ({"alerts": (0, 30)}, {"alert_rate": (None, 0.1)}):
        result = recommended(SEGMENTS, by=["model", "segment"], id="id", subject_to=capacity)
        curves = rf.curve(SEGMENTS, "label", "score", by=["segment", "model"])
        points = rf.operating_point(curves, "recall", subject_to=capacity)
        best = points.sort("segment", "value", descending=[False, True], maintain_order=True)
        assert columns_of(result, "segment", "model", "recall", "alerts") == [
            (segment, model, f"{value:.3f}", f"{tp + fp}")
            for segment, model, value, tp, fp in best.select(
                "segment", "model", "value", "tp", "fp"
            ).iter_rows()
        ]
        # The limits of a recall at a given threshold are Wilson's limits of a proportion.
        for row, point in zip(rows_of(result), best.to_dicts(), strict=True):
            low, high = wilson(point["tp"], point["tp"] + point["fn"])
            assert row["95 % interval"] == f"{low:.3f} to {high:.3f}"
    assert result.introduction == (
        "These thresholds have the highest recall subject to alert_rate ≤ 0.1 in each group."
    )
    assert result.sentences[0].startswith("Models with the highest recall in 3 groups: boost in ")
    both = recommended(
        SEGMENTS, by="model", costs={"fp": 1, "fn": 5}, subject_to={"alerts": (0, 30)}
    )
    assert "lowest expected cost per row subject to alerts ≤ 30 in each group" in both.introduction
    assert all(int(row["alerts"]) <= 30 for row in rows_of(both))


def wilson(count, total, z=1.959963984540054):
    middle = (count + z**2 / 2) / (total + z**2)
    half = z / (total + z**2) * math.sqrt(count * (total - count) / total + z**2 / 4)
    return max(middle - half, 0), min(middle + half, 1)


def test_models_that_did_not_score_the_same_rows_are_compared_by_the_cost_of_the_common_rows():
    fewer = SEGMENTS.filter((pl.col("model") != "logit") | (pl.col("id") > 40))
    common = SEGMENTS.filter(pl.col("id") > 40)
    options = {"by": "model", "id": "id", "costs": {"fp": 1, "fn": 5}}
    result = recommended(fewer, **options, unmatched="drop")
    assert result.table == recommended(common, **options).table
    assert result.remarks[0] == "The rows are those that all models of a group scored."
    assert result.points is None  # the points are not on the curves of the page


def test_limits_are_computed_only_for_the_thresholds_that_are_shown():
    log = pl.concat([LOG.with_columns(model=pl.lit(f"m{i:03}")) for i in range(105)])
    tables, options = tables_of(log, by="model", costs={"fp": 1, "fn": 5})
    assert tables.decisions.points.height == tables.decisions.values.height == 100
    result = recommendations(tables, options)
    assert (len(result.table.rows), result.table.omitted) == (100, "Not shown here: 5 thresholds.")


def test_all_four_costs_count():
    costs = {"tp": 1, "fp": 3, "fn": 6, "tn": -1}
    result = recommended(LOG.filter(model="a"), costs=costs)
    curves = rf.curve(LOG.filter(model="a"), "label", "score")
    best = rf.operating_point(curves, "expected_cost", costs=costs)
    (row,) = rows_of(result)
    assert row["cost"] == f"{best['value'].item():.3f}".replace("-", "−")
    low, high = (float(limit.replace("−", "-")) for limit in row["95 % interval"].split(" to "))
    assert low < best["value"].item() < high
    # Never: (2 * 6 - 3) / 5 = 1.8. Always: (2 * 1 + 3 * 3) / 5 = 2.2.
    assert result.introduction.endswith("the cost is 1.800; if all rows are alerts, 2.200.")
    assert costs_text(costs) == (
        "1 per true positive, 3 per false positive, 6 per false negative and −1 per true negative"
    )


def test_given_costs_have_all_digits_and_computed_costs_at_least_three():
    costs = {"fp": 999.7, "fn": 12345.5, "tp": 1.2345e-5, "tn": -1000}
    result = recommended(LOG.filter(model="a"), costs=costs, prevalence=0.12345)
    assert result.introduction.startswith(
        "Costs: 1.2345e−05 per true positive, 999.7 per false positive, 12,345.5 per false "
        "negative and −1,000 per true negative. These thresholds have the lowest expected cost per "
        "row, at a prevalence of 0.12345."
    )
    result = recommended(LOG.filter(model="a"), costs={"fp": 999.7, "fn": 1666})
    # Always alerting: 3 * 999.7 / 5 = 599.82; never: 2 * 1666 / 5 = 666.4.
    assert rows_of(result)[0]["cost"] == "199.9"
    assert result.introduction.endswith("the cost is 666.4; if all rows are alerts, 599.8.")
    result = recommended(LOG.filter(model="a"), costs={"fp": 0.0001, "fn": 0.0005})
    assert rows_of(result)[0]["cost"] == "0.0000200"


def test_it_can_be_best_never_to_alert():
    log = LOG.filter(model="a").with_columns(-pl.col("score"))
    result = recommended(log, costs={"fp": 9, "fn": 1})
    assert columns_of(result, "threshold", "cost", "alerts") == [("no alerts", "0.400", "0")]
    assert result.introduction.endswith("the cost is 0.400; if all rows are alerts, 5.400.")
    # If false negatives cost nothing, there are no limits.
    (row,) = rows_of(recommended(log, costs={"fp": 9}))
    assert (row["threshold"], row["cost"], "95 % interval" in row) == ("no alerts", "0.000", False)


def test_an_infinite_score_is_a_threshold():
    log = pl.DataFrame({"label": [1, 0, 1, 0], "score": [float("inf"), 0.4, 0.3, 0.2]})
    shown = ("threshold", "cost", "alerts", "recall")
    assert columns_of(recommended(log, costs={"fp": 10, "fn": 1}), *shown) == [
        ("∞", "0.250", "1", "0.500")
    ]
    # A negative without a score is a false positive at every threshold.
    missing = pl.DataFrame({"label": [1, 0, 0, 0], "score": [0.1, 0.4, 0.3, None]})
    result = recommended(missing, costs={"fp": 10, "fn": 1}, missing="worst")
    assert columns_of(result, "threshold", "alerts") == [("no alerts", "1")]


def test_groups_without_a_class_have_no_recommendation():
    log = LOG.with_columns(label=pl.when(pl.col("model") == "b").then(0).otherwise("label"))
    result = recommended(log, by="model", costs={"fn": 5, "fp": 1})
    shown = ("model", "threshold", "cost", "verdict", "alerts", "note")
    assert columns_of(result, *shown) == [
        ("a", "0.4", "0.200", "best", "3", ""),
        ("b", "–", "–", "undefined", "–", "no positives"),
    ]


def test_weighted_rows_have_no_limits():
    costs = {"fp": 1, "fn": 5}
    log = LOG.with_columns(weight=0.5)
    weighted = recommended(log, by="model", costs=costs, weight="weight")
    assert columns_of(weighted, "threshold", "cost") == columns_of(
        recommended(by="model", costs=costs), "threshold", "cost"
    )
    assert "95 % interval" not in rows_of(weighted)[0]
    paired = recommended(
        SEGMENTS.with_columns(weight=0.5), by="model", id="id", costs=costs, weight="weight"
    )
    assert paired.sentences[1].endswith("because the rows have weights.")


def test_counts_are_numbers_of_rows():
    costs = {"fp": 1, "fn": 5}
    wide = SEGMENTS.pivot("model", index=["id", "segment", "label"], values="score")
    names = {name: name for name in ("boost", "logit", "rules")}
    tables = []
    for log, count in ((pl.concat([wide, wide]), None), (wide.with_columns(n=2), "n")):
        options = ReportOptions(label="label", score=names, by="segment", costs=costs, count=count)
        decisions = report_tables(log, options, *areas_and_curves(log, options))
        tables.append(recommendations(decisions, options).table)
    assert tables[0] == tables[1]


def test_the_page_has_the_recommended_thresholds_after_the_best_model(tmp_path):
    pytest.importorskip("vl_convert")
    path = tmp_path / "page.html"
    with without_dashboard():
        rf.report(LOG.rename({"model": "m<"}), "label", "score", path=path, by="m<",
                  costs={"fp": 1, "fn": 5})  # fmt: skip
    page = path.read_text(encoding="utf-8")
    part = page[page.index('<h2 id="recommended"') : page.index('<h2 id="curves"')]
    assert page.index('<h2 id="best"') < page.index('<h2 id="recommended"')
    assert "<caption>Thresholds with the lowest expected cost per row</caption>" in part
    assert '<a href="#recommended">' in page
    assert "<dt><bdi>Costs</bdi></dt><dd><bdi>1 per false positive and 5 per false" in page
    with without_dashboard():
        rf.report(LOG, "label", "score", path=path, costs={"fn": 1}, prevalence=0.12345678)
    page = path.read_text(encoding="utf-8")
    assert "<dt><bdi>Prevalence of the costs</bdi></dt><dd><bdi>0.12345678</bdi></dd>" in page
