"""`intervals`: whole tables, all possible resamples, other libraries, seeds and errors."""

from __future__ import annotations

from itertools import product
from math import hypot, inf, isnan, nan
from statistics import stdev

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import bootstrap, norm

import rocframe as rf
from rocframe import kinds as metric_options
from rocframe.kernel import arrays as threads
from rocframe.kernel.scan import GroupRows
from rocframe.metrics.intervals import PROPORTIONS, parse_interval_metrics
from rocframe.metrics.statistics import CURVE_STATISTICS, PointSearch, influence_at
from rocframe.rates import Settings
from rocframe.resampling import sample_acceleration
from tests import oracles
from tests.kernel.scans import scan_of

PREDICTIONS = {"label": [1, 0, 1, 0, 1], "score": [0.9, 0.4, 0.4, 0.6, 0.7]}
SCHEMA = {
    "metric": pl.String,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "at": pl.String,
    "at_value": pl.Float64,
    "threshold": pl.Float64,
    "se": pl.Float64,
    "n_pos": pl.Int64,
    "n_neg": pl.Int64,
    "n_missing": pl.Int64,
    "ci_level": pl.Float64,
    "ci_method": pl.String,
    "note": pl.String,
}
EVERY = ["auc", "gini", "ks", "eer", "average_precision", "pr_auc"]


def intervals(table: pl.DataFrame, metrics: object, **more: object) -> pl.DataFrame:
    return rf.intervals(
        table, "label", "score", metrics=metrics, **{"seed": 1, "n_boot": 200, **more}
    )


def one(table: pl.DataFrame, metrics: str, **more: object) -> dict:
    return intervals(table, metrics, **more).row(0, named=True)


def normal_table(rows: int, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.4
    return pl.DataFrame({"label": label, "score": np.round(rng.normal(size=rows) + label, 1)})


# Tables


def test_a_row_is_a_group_a_metric_and_a_point(frame):
    result = rf.intervals(
        frame(PREDICTIONS), "label", "score", metrics="recall", threshold=[0.7, 0.1], ci="wilson"
    )
    high = ["recall", 2 / 3, 0.207659602, 0.938508055, "threshold", 0.7, 0.7]
    low = ["recall", 1.0, 0.438502968, 1.0, "threshold", 0.1, 0.4]
    expected = pl.DataFrame(
        [[*high, 0.272165527, 3, 2, 0], [*low, None, 3, 2, 0]],
        schema=list(SCHEMA)[:-3],
        orient="row",
    ).with_columns(ci_level=pl.lit(0.95), ci_method=pl.lit("wilson"), note=pl.lit(None, pl.String))
    assert isinstance(result, frame)
    assert result.lazy().collect_schema() == SCHEMA
    assert_frame_equal(result.lazy().collect(), expected, abs_tol=1e-9)


def test_rows_are_sorted_by_group_with_metrics_and_points_in_the_given_order(frame):
    table = frame({**PREDICTIONS, "g": [2, 2, 1, 1, 1]})
    result = rf.intervals(
        table, "label", "score", metrics=["tpr", "auc", "f1"], fpr=[0.5, 0.0], by="g", ci=None
    )
    result = result.lazy().collect()
    assert result.columns == ["g", *SCHEMA]
    assert result.select("g", "metric", "at_value").rows() == [
        (g, *row)
        for g in (1, 2)
        for row in (("tpr", 0.5), ("tpr", 0.0), ("auc", None), ("f1", 0.5), ("f1", 0.0))
    ]
    assert result["ci_level"].null_count() == result["ci_method"].null_count() == result.height


def test_custom_metrics_and_settings_are_used_at_points():
    wrong = (pl.col("fp") + pl.col("fn")).alias("wrong")
    result = intervals(
        pl.DataFrame(PREDICTIONS),
        [wrong, "f_beta", "expected_cost", "precision"],
        threshold=0.6,
        prevalence=0.5,
        beta=2,
        costs={"fp": 3},
        ci=None,
    )
    # tp 2, fn 1, fp 1, tn 1; at prevalence ½: 2.5 of 5 each.
    tp, fp, fn = 5 / 3, 5 / 4, 5 / 6
    assert result["estimate"].to_list() == pytest.approx(
        [2, 5 * tp / (5 * tp + 4 * fn + fp), 3 * fp / 5, tp / (tp + fp)]
    )


TP = pl.col("tp")
ROWWISE = "\nDo not use sums, filters or windows, because they would combine rows of all groups. "


@pytest.mark.parametrize(
    ("metric", "wrong"),
    [
        (TP / TP.sum(), f"the value in a row depends on other rows.{ROWWISE}"),
        (TP.cum_sum(), f"the value in a row depends on other rows.{ROWWISE}"),
        (TP.max(), f"the value in a row depends on other rows.{ROWWISE}"),
        (TP.rank(), f"the value in a row depends on other rows.{ROWWISE}"),
        (TP.sum().over("fp"), f"the value in a row depends on other rows.{ROWWISE}"),
        (TP.forward_fill(), f"the value in a row depends on other rows.{ROWWISE}"),
        (pl.len(), f"the value in a row depends on other rows.{ROWWISE}"),
        (TP.filter(TP > 1), "the expression cannot be computed for each row separately: "),
        (TP.head(2), "the expression cannot be computed for each row separately: "),
        (TP.str.len_chars(), "the expression cannot be computed for each row separately: "),
    ],
)
def test_a_custom_metric_that_is_not_one_number_per_row_raises_an_error(metric, wrong):
    with pytest.raises(rf.OptionValueError) as caught:
        intervals(pl.DataFrame(PREDICTIONS), metric.alias("x"), threshold=0.5)
    assert str(caught.value).startswith(f"metrics='x': {wrong}")


def test_a_custom_metric_may_be_any_number_computed_from_a_row():
    metrics = [
        (TP > 2).alias("many"),
        TP.log().alias("log"),
        (pl.col("threshold") * 2).alias("twice"),
        pl.when(TP > 5).then(TP).alias("none"),
        pl.lit(0.5).alias("half"),
        (TP / (TP + pl.col("fp"))).alias("precision"),
    ]
    result = intervals(pl.DataFrame(PREDICTIONS), metrics, threshold=0.5, ci=None)
    assert result["estimate"].to_list() == [0, pytest.approx(np.log(2)), 1, None, 0.5, 2 / 3]


@pytest.mark.parametrize("ci", ["bootstrap", "bootstrap_basic", "bootstrap_bca"])
@pytest.mark.parametrize("power", [-700, -45, 700])
def test_intervals_of_expected_cost_scale_with_the_costs(ci, power):
    more = {"threshold": 0.5, "ci": ci}
    result = one(normal_table(40), "expected_cost", costs={"fp": 1, "fn": 5}, **more)
    unit = 2.0**power
    costs = {"fp": unit, "fn": 5 * unit}
    scaled = one(normal_table(40), "expected_cost", costs=costs, **more)
    for name in ("estimate", "se", "lower", "upper"):
        assert scaled[name] == result[name] * unit
    assert scaled["note"] == result["note"]


def test_the_interval_of_the_auc_equals_that_of_the_function_auc():
    table = normal_table(60)
    for ci in ("bootstrap", "bootstrap_basic", "bootstrap_bca"):
        result = intervals(table, ["auc", "gini"], ci=ci)
        area = rf.auc(table, "label", "score", ci=ci, seed=1, n_boot=200)
        columns = ["se", "lower", "upper", "ci_level", "ci_method", "note"]
        assert_frame_equal(result[:1].select(columns), area.select(columns), check_exact=True)
        low, high = result.select("lower", "upper").row(1)
        limits = result.select("lower", "upper").row(0)
        assert (low, high) == pytest.approx([2 * limit - 1 for limit in limits])


# All resamples there are


FOUR = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]})


def resamples(*, mixed: bool) -> list[list[oracles.Case]]:
    """Return all possible resamples that have both classes, with repetitions."""
    rows = oracles.cases(FOUR)
    if mixed:
        every = [list(some) for some in product(rows, repeat=4)]
        return [some for some in every if len({case.positive for case in some}) == 2]
    pos, neg = oracles.sides(rows)
    return [[*a, *b] for a in product(pos, repeat=2) for b in product(neg, repeat=2)]


def tpr(p: oracles.Point) -> float:
    return float(p.tp / (p.tp + p.fn))


def precision(p: oracles.Point) -> float:
    return float(p.tp / (p.tp + p.fp)) if p.tp + p.fp else nan


@pytest.mark.parametrize(
    ("metric", "rate", "axis", "value", "mixed"),
    [
        ("tpr", tpr, "fpr", 0.5, False),
        ("tpr", tpr, "alert_rate", 0.5, True),
        ("tpr", tpr, "alerts", 2, True),
        ("tpr", tpr, "threshold", 0.5, False),
        ("precision", precision, "fpr", 0.5, True),
        ("precision", precision, "tpr", 0.5, True),
        ("precision", precision, "threshold", 0.5, True),
    ],
)
def test_limits_at_points_approach_those_of_all_possible_resamples(
    metric, rate, axis, value, mixed
):
    found = [oracles.at(oracles.curve(some), axis, value) for some in resamples(mixed=mixed)]
    rates = [rate(point) for point in found if point is not None]
    every = sorted(one for one in rates if not isnan(one))
    row = one(FOUR, metric, n_boot=6_000, level=0.8, **{axis: value})
    assert row["se"] == pytest.approx(stdev(every), rel=0.03)
    for limit, p in (("lower", 0.1), ("upper", 0.9)):
        near = [every[int(len(every) * q)] for q in (p - 0.01, p + 0.01)]
        assert near[0] <= row[limit] <= near[1]
    # Left out is what has no such metric, drawn again what has one class: 1/8 of all draws.
    lost = len(rates) - len(every) + len(found) - len(rates)
    expected = 6_000 * (lost / len(found) + mixed / 7)
    noted = int((row["note"] or "redrawn:0").removeprefix("redrawn:"))
    assert noted == pytest.approx(expected, abs=5 * expected**0.5)


@pytest.mark.parametrize("metric", ["average_precision", "ks"])
def test_limits_of_whole_curves_approach_those_of_all_possible_resamples(metric):
    mixed = metric == "average_precision"
    every = sorted(
        float(oracles.average_precision(points))
        if mixed
        else max(float(y - x) for x, y in oracles.axes(points))
        for points in map(oracles.curve, resamples(mixed=mixed))
    )
    row = one(FOUR, metric, n_boot=6_000, level=0.8, ci="bootstrap_bca")
    assert row["se"] == pytest.approx(stdev(every), rel=0.03)
    for limit, p in (("lower", 0.1), ("upper", 0.9)):
        near = [every[int(len(every) * q)] for q in (p - 0.01, p + 0.01)]
        assert near[0] <= row[limit] <= near[1]


def test_limits_of_ks_approach_those_of_all_possible_resamples():
    def differences(some: list[oracles.Case]) -> list[float]:
        points = [oracles.point(some, threshold) for threshold in (0.4, 0.6, 0.9)]
        return [0.0, *(float(y - x) for x, y in oracles.axes(points))]

    observed = np.array(differences(oracles.cases(FOUR)))
    every = np.array([differences(some) for some in resamples(mixed=False)])
    columns = ((every - observed).max(axis=1), (2 * observed - every).max(axis=1))
    margins, uppers = (np.sort(values) for values in columns)
    row = one(FOUR, "ks", n_boot=6_000, level=0.8)
    assert row["se"] == pytest.approx(every.max(axis=1).std(ddof=1), rel=0.03)
    near = [int(len(every) * p) for p in (0.89, 0.91)]
    lower, upper = (np.clip(limit, 0, 1) for limit in (0.5 - margins[near], uppers[near]))
    assert lower[1] <= row["lower"] <= lower[0]
    assert upper[0] <= row["upper"] <= upper[1]


@pytest.mark.parametrize("columns", [[], ["weight"], ["cluster"], ["weight", "cluster"]])
def test_limits_of_ks_are_close_to_those_of_another_bootstrap(columns):
    rng = np.random.default_rng(5)
    label = np.repeat([1, 0], [80, 60])
    pair = np.arange(140) // 2
    weight = rng.integers(1, 4, 140) if "weight" in columns else np.ones(140)
    score = np.round(rng.normal(size=70)[pair] + rng.normal(1.5 * label), 1)
    unscored = rng.random(140) < 0.1
    alerts = np.where(unscored, label == 0, score >= np.unique(score)[:, None])

    def differences(times: np.ndarray) -> np.ndarray:
        """Return TPR - FPR at each score, from the number of times that each row is drawn."""
        pos, neg = times * weight * label, times * weight * (1 - label)
        tpr, fpr = (side @ alerts.T / side.sum(axis=1, keepdims=True) for side in (pos, neg))
        return np.hstack([tpr - fpr, np.zeros((len(times), 1))])

    def drawn(rows: int) -> np.ndarray:
        return rng.multinomial(rows, np.full(rows, 1 / rows), 4000)

    times = drawn(70)[:, pair] if "cluster" in columns else np.hstack([drawn(80), drawn(60)])
    observed, resampled = differences(np.ones((1, 140))), differences(times)
    margin, upper = (
        np.quantile(values.max(axis=1), 0.975)
        for values in (resampled - observed, 2 * observed - resampled)
    )
    table = pl.DataFrame(
        {
            "label": label,
            "score": [None if lost else x for lost, x in zip(unscored, score, strict=True)],
            "weight": weight,
            "cluster": pair,
        }
    )
    more = {name: name for name in columns}
    row = one(table, "ks", n_boot=4000, missing="worst", **more)
    assert row["estimate"] == pytest.approx(observed.max())
    assert row["lower"] == pytest.approx(max(0, observed.max() - margin), abs=0.015)
    assert row["upper"] == pytest.approx(upper, abs=0.015)
    assert row["ci_method"] == "bootstrap_supremum"


@pytest.mark.parametrize("mean", [0.0, 0.36])
def test_limits_of_ks_cover_a_true_value_near_0(mean):
    rng = np.random.default_rng(4)
    samples, n, means = 200, 50, np.array([[mean], [0]])
    table = pl.DataFrame(
        {
            "sample": np.repeat(np.arange(samples), 2 * n),
            "label": np.tile(np.repeat([1, 0], n), samples),
            "score": (means + rng.normal(size=(samples, 2, n))).ravel(),
        }
    )
    result = intervals(table, "ks", by="sample")
    true_ks = 2 * norm.cdf(mean / 2) - 1
    assert true_ks == pytest.approx([0, 0.143][mean > 0], abs=1e-3)
    covered = (result["lower"] <= true_ks) & (result["upper"] >= true_ks)
    assert 0.93 <= covered.mean() <= 0.99  # 0.51 and 0.83 with "bootstrap_bca"


# Other libraries, and formulas


def average_precision(label: np.ndarray, score: np.ndarray) -> float:
    order = np.argsort(-score, kind="stable")
    label, score = label[order], score[order]
    last = np.append(score[1:] != score[:-1], True)
    tp = np.cumsum(label)[last]
    return float((np.diff(tp, prepend=0) * tp / (np.flatnonzero(last) + 1)).sum() / label.sum())


@pytest.mark.parametrize("ci", ["bootstrap", "bootstrap_basic", "bootstrap_bca"])
def test_limits_of_the_average_precision_are_close_to_scipys(ci):
    table = normal_table(80)
    method = {"bootstrap": "percentile", "bootstrap_basic": "basic", "bootstrap_bca": "BCa"}[ci]
    other = bootstrap(
        (table["label"].to_numpy(), table["score"].to_numpy()),
        average_precision,
        paired=True,
        vectorized=False,
        method=method,
        n_resamples=4000,
        rng=np.random.default_rng(2),
    )
    row = one(table, "average_precision", ci=ci, n_boot=6_000)
    assert row["se"] == pytest.approx(other.standard_error, rel=0.05)
    width = row["upper"] - row["lower"]
    assert row["lower"] == pytest.approx(other.confidence_interval.low, abs=width / 15)
    assert row["upper"] == pytest.approx(other.confidence_interval.high, abs=width / 15)


def test_the_standard_error_of_a_proportion_at_a_threshold_is_binomial():
    table = normal_table(300)
    result = intervals(table, [*PROPORTIONS], threshold=0.5, n_boot=4000)
    binomial = intervals(table, [*PROPORTIONS], threshold=0.5, ci="wilson")
    for row, formula in zip(
        result.iter_rows(named=True), binomial.iter_rows(named=True), strict=True
    ):
        assert row["estimate"] == formula["estimate"]
        assert row["se"] == pytest.approx(formula["se"], rel=0.06), row["metric"]
        width = formula["upper"] - formula["lower"]
        assert row["lower"] == pytest.approx(formula["lower"], abs=width / 8), row["metric"]


def test_limits_of_81_of_263_equal_those_in_newcombe_1998():
    table = pl.DataFrame({"label": [1, 1], "score": [1, 0], "n": [81, 182]})
    printed = {"wilson": (0.2553, 0.3662), "clopper_pearson": (0.2527, 0.3676)}
    for ci, limits in printed.items():
        row = one(table, "tpr", threshold=1, count="n", ci=ci)
        assert (round(row["lower"], 4), round(row["upper"], 4)) == limits
        assert row["se"] == pytest.approx((81 * 182 / 263**3) ** 0.5)
        assert (row["ci_method"], row["note"]) == (ci, "no_negatives")


@pytest.mark.parametrize("metric", PROPORTIONS)
def test_the_acceleration_of_a_proportion_is_binomial(metric):
    table = normal_table(100)
    scan = scan_of(table)
    search = PointSearch(rate=None, values=[0.5])
    parsed = parse_interval_metrics(metric, Settings())[metric]
    population = GroupRows.from_scan(scan, 0)
    found = sample_acceleration(population, lambda sample: influence_at(parsed, search, 0, sample))
    points = search.points(scan)
    part, whole = (
        sum(float(getattr(points, name)[0, 0]) for name in names)
        for names in (parsed.count_ratio.numerator, parsed.count_ratio.denominator)
    )
    p = part / whole
    assert found == pytest.approx((1 - 2 * p) / (6 * (whole * p * (1 - p)) ** 0.5), rel=1e-6)


# Degenerate groups


def test_the_default_is_bca_except_for_ks_and_points_at_given_rates():
    metrics = ["ks", "eer", "average_precision", "f1"]
    table = normal_table(60)
    result = intervals(table, metrics, threshold=0.4)
    bca = intervals(table, metrics, threshold=0.4, ci="bootstrap_bca")
    assert_frame_equal(result[1:], bca[1:])
    assert_frame_equal(result[:1], intervals(table, "ks", ci="bootstrap_supremum"))
    assert bca["ci_method"].to_list() == ["bootstrap_bca"] * 4
    result = intervals(table, metrics, fpr=0.2)
    assert result["ci_method"].to_list() == [
        "bootstrap_supremum",
        *["bootstrap_bca"] * 2,
        "bootstrap",
    ]
    point = intervals(table, "f1", fpr=0.2, ci="bootstrap")
    assert_frame_equal(result.filter(metric="f1"), point)


@pytest.mark.parametrize("reverse", [False, True])
def test_metrics_of_perfect_curves_have_limits_of_another_method(reverse):
    table = pl.DataFrame({"label": [0] * 8 + [1] * 5, "score": range(13)})
    table = table.with_columns(score=-pl.col("score")) if reverse else table
    result = intervals(table, [*EVERY, "f1"], threshold=-7.0 if reverse else 8.0)
    limits = {
        row["metric"]: (row["estimate"], row["lower"], row["upper"], row["ci_method"])
        for row in result.iter_rows(named=True)
    }
    squared = norm.ppf(0.975) ** 2  # Wilson's limits of 0 and n of n: z²/(n + z²) and n/(n + z²)
    five, eight = squared / (5 + squared), squared / (8 + squared)
    if reverse:
        assert limits["ks"] == (0, 0, pytest.approx(five), "newcombe")
        assert limits["eer"] == (1, pytest.approx(1 - five), 1, "wilson")
        assert limits["f1"] == (0, 0, pytest.approx(f1_of(squared / (13 + squared))), "wilson")
        assert limits["average_precision"][3] == limits["pr_auc"][3] == "bootstrap_bca"
    else:
        assert limits["ks"] == (1, pytest.approx(1 - hypot(five, eight)), 1, "newcombe")
        assert limits["eer"] == (0, 0, pytest.approx(five), "wilson")
        assert limits["f1"] == (1, pytest.approx(f1_of(1 - five)), 1, "wilson")
        for name in ("average_precision", "pr_auc"):
            assert limits[name] == (1, pytest.approx(1 - five), 1, "wilson")


def f1_of(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)


def test_areas_of_0_and_1_have_newcombes_limits():
    table = pl.DataFrame({"label": [0, 0, 1, 1, 1], "score": [1, 2, 3, 4, 5]})
    result = intervals(table, ["auc", "gini"])
    area = rf.auc(table, "label", "score", ci="newcombe").row(0, named=True)
    assert result["lower"].to_list() == pytest.approx([area["lower"], 2 * area["lower"] - 1])
    assert result["upper"].to_list() == [1, 1]
    assert result["ci_method"].to_list() == ["newcombe", "newcombe"]
    assert result["se"].null_count() == 2
    assert set(result["note"]) == {"zero_variance"}


def test_proportions_of_0_and_1_have_wilsons_limits_at_given_thresholds():
    table = pl.DataFrame({"label": [0, 0, 1, 1, 1], "score": [1, 2, 3, 4, 5]})
    result = intervals(table, ["tpr", "fpr", "youden"], threshold=3)
    formula = intervals(table, ["tpr", "fpr"], threshold=3, ci="wilson")
    columns = ["metric", "se", "lower", "upper", "ci_method"]
    assert_frame_equal(result[:2].select(columns), formula.select(columns), check_exact=True)
    columns = ["se", "lower", "upper", "ci_level", "ci_method"]
    assert result.select(columns).row(2) == (None, None, None, 0.95, None)
    assert one(table, "tpr", fpr=0)["ci_method"] is None


def test_the_jaccard_index_has_the_limits_of_a_proportion():
    table = pl.DataFrame({"label": [0, 0, 1, 1, 1], "score": [1, 2, 3, 4, 5]})
    columns = ["at_value", "estimate", "se", "lower", "upper", "ci_method", "note"]
    for threshold, same in ((4, "tpr"), (3, "tpr"), (2, "precision")):
        found, expected = (
            intervals(table, metric, threshold=threshold, ci="wilson").select(columns)
            for metric in ("jaccard", same)
        )
        assert_frame_equal(found, expected, check_exact=True)
    found, expected = (
        intervals(table, metric, threshold=3).select(columns) for metric in ("jaccard", "tpr")
    )
    assert_frame_equal(found, expected, check_exact=True)


def test_constant_scores_have_no_limits():
    table = pl.DataFrame({"label": [0, 0, 1, 1], "score": [3, 3, 3, 3]})
    result = intervals(table, ["auc", "gini", "ks", "eer"])
    assert result["estimate"].to_list() == [0.5, 0, 0, 0.5]
    assert result.select("se", "lower", "upper", "ci_method").null_count().row(0) == (4, 4, 4, 4)
    assert set(result["note"]) == {"zero_variance"}


def test_a_class_of_one_row_has_intervals_at_given_thresholds_only():
    table = pl.DataFrame({"label": [1, 0, 0, 0], "score": [0.5, 0.4, 0.6, 0.5]})
    result = intervals(table, ["auc", "fpr", "accuracy"], threshold=0.5)
    assert result["lower"].is_null().to_list() == [True, False, False]
    assert set(result["note"]) == {"one_positive"}
    assert one(table, "fpr", tpr=1)["lower"] is None


def test_groups_without_a_class_have_the_defined_metrics_and_do_not_affect_others():
    table = pl.DataFrame({**PREDICTIONS, "g": ["a"] * 5})
    lone = pl.DataFrame({"label": [1, 1], "score": [0.5, 0.7], "g": ["b"] * 2})
    result = intervals(pl.concat([table, lone]), ["tpr", "fpr"], threshold=0.6, by="g")
    assert result["estimate"].to_list() == [2 / 3, 0.5, 0.5, None]
    assert result["note"].to_list()[2:] == ["no_negatives"] * 2
    assert_frame_equal(result[:2], intervals(table, ["tpr", "fpr"], threshold=0.6, by="g"))
    assert result["lower"].is_null().to_list() == [False, False, True, True]


@pytest.mark.parametrize("ci", ["wilson", "clopper_pearson"])
def test_proportions_of_one_class_have_limits_without_the_other(ci):
    lone = pl.DataFrame({"label": [1, 1], "score": [0.5, 0.7]})
    both = pl.concat([lone, pl.DataFrame({"label": [0], "score": [0.1]})])
    result, other = (
        intervals(table, ["tpr", "fpr"], threshold=0.6, ci=ci) for table in (lone, both)
    )
    columns = ["estimate", "se", "lower", "upper", "ci_method"]
    assert_frame_equal(result[:1].select(columns), other[:1].select(columns), check_exact=True)
    columns = ["estimate", "se", "lower", "upper", "ci_level", "ci_method"]
    assert result.select(columns).row(1) == (None, None, None, None, 0.95, None)
    assert result["note"].to_list() == ["no_negatives"] * 2


def test_proportions_of_0_and_1_have_no_bootstrap_limits_without_the_other_class():
    table = pl.DataFrame({"label": [1] * 20, "score": range(20)})
    result = intervals(table, "tpr", threshold=[0, 5])
    assert result["estimate"].to_list() == [1, 0.75]
    assert result.select("se", "lower", "upper", "ci_method").null_count().row(0) == (2, 2, 2, 2)
    assert result["note"].to_list() == ["no_negatives"] * 2


def test_a_missing_point_has_the_note_no_solution():
    table = pl.DataFrame(
        {"label": [1, 0, 1, 0, 0], "score": [0.9, 0.4, None, None, 0.6]},
        schema_overrides={"score": float},
    )
    result = intervals(table, ["tpr", "fpr"], tpr=[0.5, 0.9], missing="worst")
    notes = ["redrawn", "no_solution", "redrawn", "no_solution"]
    assert result["note"].str.split(":").list.first().to_list() == notes
    assert result["estimate"].to_list() == [0.5, None, 1 / 3, None]
    assert result["threshold"].to_list() == [0.9, None, 0.9, None]
    assert result["lower"].is_null().to_list()[1::2] == [True, True]


def test_precision_is_null_if_no_row_is_predicted_positive():
    result = intervals(pl.DataFrame(PREDICTIONS), ["precision", "tpr"], threshold=2)
    assert result["estimate"].to_list() == [None, 0]
    assert result["threshold"].to_list() == [float("inf")] * 2
    assert result["note"].to_list() == ["no_solution", "zero_variance"]


def test_infinite_ratios_have_infinite_limits_and_no_standard_error():
    table = pl.DataFrame({"label": [1, 0, 1, 0, 1], "score": [0.9, 0.4, 0.4, 0.6, 0.7]})
    row = one(table, "lr_pos", threshold=0.5)
    assert row["estimate"] == pytest.approx(4 / 3)
    assert (row["upper"], row["se"]) == (float("inf"), None)
    assert row["lower"] < 4 / 3


def test_a_limit_that_is_a_difference_of_infinite_numbers_makes_both_limits_null():
    table = pl.DataFrame({"label": [1, 1, 0, 1, 0, 0], "score": [inf, 3, 3, 2, 1, 0]})
    row = one(table, "threshold", fpr=0, ci="bootstrap_basic")
    assert row["estimate"] == inf
    columns = ["lower", "upper", "se", "ci_method", "note"]
    assert [row[name] for name in columns] == [*[None] * 4, "no_limits"]
    row = one(table, "threshold", fpr=0, ci="bootstrap")
    assert [row[name] for name in columns] == [2, inf, None, "bootstrap", None]


# Weights, clusters and seeds


def test_the_scale_of_weights_changes_no_ratio():
    table = normal_table(80).with_columns(w=pl.Series([1.0, 2.0, 0.5, 3.0] * 20))
    metrics = ["auc", "pr_auc", "tpr", "precision", "chi2"]
    result = intervals(table, metrics, threshold=0.5, weight="w")
    tiny = intervals(
        table.with_columns(pl.col("w") * 2.0**-100), metrics, threshold=0.5, weight="w"
    )
    assert_frame_equal(result[:4], tiny[:4], check_exact=True)
    assert tiny["estimate"][4] == result["estimate"][4] * 2.0**-100
    curve = rf.curve(table, "label", "score", weight="w", metrics=["precision", "chi2"])
    point = rf.at(curve, threshold=0.5).select("tpr", "precision", "chi2").row(0)
    assert result["estimate"].to_list()[2:] == pytest.approx(list(point))


@pytest.mark.parametrize(
    ("function", "point"),
    [
        (rf.at, {"threshold": 0.5}),
        (rf.operating_point, {"rule": "tpr", "subject_to": {"fp": (0, 9)}}),
    ],
)
def test_counts_at_points_have_the_unit_of_the_weights_of_each_group(function, point):
    table = normal_table(80).with_columns(w=pl.Series(range(80)) / 32)
    small = table.with_columns(pl.col("w") * 2.0**-600)
    both = pl.concat([table.with_columns(g=pl.lit("a")), small.with_columns(g=pl.lit("b"))])
    metrics = [pl.col("tp").alias("true_positives"), "tpr", "precision"]
    result = intervals(both, metrics, weight="w", by="g", **point)
    points = function(rf.curve(both, "label", "score", weight="w", by="g"), **point)
    assert result.filter(metric="true_positives")["estimate"].to_list() == points["tp"].to_list()
    for group in ("a", "b"):
        alone = intervals(both.filter(g=group), metrics, weight="w", by="g", **point)
        assert_frame_equal(result.filter(g=group), alone, check_exact=True)


def test_clusters_of_similar_rows_have_wider_limits():
    table = normal_table(60)
    fourfold = pl.concat([table.with_columns(user=pl.int_range(pl.len()))] * 4)
    metrics = ["auc", "average_precision", "tpr", "accuracy"]
    narrow = intervals(fourfold, metrics, threshold=0.5, n_boot=1000)
    wide = intervals(fourfold, metrics, threshold=0.5, cluster="user", n_boot=1000)
    assert (wide["se"] / narrow["se"]).to_list() == pytest.approx([2] * 4, rel=0.2)
    assert wide["ci_method"].to_list() == ["bootstrap_bca"] * 4


@pytest.mark.parametrize("number", [3])
def test_any_number_of_threads_gives_the_same_table(number, monkeypatch):
    table = normal_table(3000).with_columns(g=pl.int_range(3000) % 3)
    result = {"metrics": [*EVERY, "tpr", "precision"], "fpr": 0.1, "by": "g"}
    expected = intervals(table, **result)
    monkeypatch.setattr(threads, "count_workers", lambda: number)
    threads._pool.cache_clear()
    assert_frame_equal(intervals(table, **result), expected, check_exact=True)
    threads._pool.cache_clear()


# Large counts, small weights, and names


@pytest.mark.parametrize("count", [[10**17, 2], [2, 10**17]])
def test_resamples_end_if_one_class_has_nearly_all_rows(count):
    table = pl.DataFrame({"label": [True, False], "score": [0.7, 0.7], "n": count})
    options = {"metrics": "average_precision", "ci": "bootstrap", "n_boot": 100, "seed": 1}
    result = rf.intervals(table, "label", "score", count="n", **options)
    expected = count[0] / sum(count)
    assert result["estimate"].item() == pytest.approx(expected, rel=1e-12)
    if count[0] == 2:  # the number of positives in a resample has Poisson's distribution, without 0
        assert result["se"].item() / expected == pytest.approx(0.6, abs=0.15)
        assert result["note"].item().startswith("redrawn:")


def test_precision_recall_areas_and_their_influences_do_not_overflow():
    table = pl.DataFrame(
        {
            "label": [True, False, True, False, True, False],
            "score": [0.9, 0.8, 0.7, 0.7, 0.3, 0.2],
            "w": [5e-324, 1e-320, 1.0, 1.0, 1e-300, 1.0],
        }
    )
    options = {"metrics": ["pr_auc", "average_precision"], "ci": "bootstrap_bca", "n_boot": 50}
    # The rows with small weights do not matter: half of the rows at the score 0.7 are positive.
    areas = rf.intervals(table, "label", "score", weight="w", seed=1, **options)["estimate"]
    assert areas.to_list() == pytest.approx([0.5, 0.5], abs=1e-9)
    curve = rf.curve(table, "label", "score", weight="w", kind="precision_recall")
    assert rf.area(curve)["pr_auc"].item() == pytest.approx(0.5, abs=1e-9)


def test_the_names_of_curve_statistics_are_complete():
    assert list(metric_options.CURVE_STATISTIC_NAMES) == list(CURVE_STATISTICS)
