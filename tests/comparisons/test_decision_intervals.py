"""Intervals of decision and cost curves are compared with closed-form variances."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import binomtest

import rocframe as rf
from rocframe.inference import paired_difference
from tests.charts.specifications import records

VOTES = rf.datasets.vote().filter(pl.col("model").is_in(["naive_bayes", "decision_tree"]))
GRID = [0.1, 0.3, 0.7]
WIDE = VOTES.pivot("model", index=["id", "label"], values="score")
MODELS = ["decision_tree", "naive_bayes"]


def intervals(frame: pl.DataFrame = WIDE, score: object = MODELS, **options: object):
    defaults = {"grid": GRID, "baseline": "naive_bayes", "n_boot": 200, "seed": 1}
    return rf.decision_intervals(frame, "label", score, **defaults | options)


def benefits(threshold: float, prevalence: float | None = None) -> dict[str, np.ndarray]:
    """Return the terms of each row whose mean is the net benefit of a model."""
    label = WIDE.get_column("label").to_numpy().astype(bool)
    share = label.mean()
    pi = share if prevalence is None else prevalence
    weight = np.where(label, pi / share, -(1 - pi) / (1 - share) * threshold / (1 - threshold))
    return {name: weight * (WIDE.get_column(name).to_numpy() >= threshold) for name in MODELS}


@pytest.mark.parametrize("prevalence", [None, 0.2])
@pytest.mark.parametrize(("ci", "error"), [("mover", 1e-9), ("bootstrap", 0.06)])
def test_standard_errors_are_those_of_means_of_rows(ci, error, prevalence):
    table = intervals(n_boot=4000, prevalence=prevalence, ci=ci)
    label = WIDE.get_column("label").to_numpy().astype(bool)
    for row in table.iter_rows(named=True):
        terms = benefits(row["probability_threshold"], prevalence)
        difference = terms[row["model"]] - terms["naive_bayes"]
        for name, values in (("se", terms[row["model"]]), ("difference_se", difference)):
            variance = values.var() / len(values)
            if prevalence is not None:  # each class keeps its number of rows
                parts = [values[label], values[~label]]
                variance = sum(part.var() * len(part) for part in parts) / len(values) ** 2
            if variance < 1e-30:
                assert row[name] is None
            else:
                assert row[name] == pytest.approx(np.sqrt(variance), rel=error)
        estimate = terms[row["model"]].mean()
        assert row["net_benefit"] == pytest.approx(estimate)
        if row["se"] is not None:
            half_width = (row["upper"] - row["lower"]) / 2
            assert half_width == pytest.approx(1.96 * row["se"], rel=0.1)


@pytest.mark.parametrize(
    ("counts", "limits"),
    [
        ((14, 5, 0, 22), (0.011, 0.226)),  # Altman et al. (2000), "Statistics with Confidence"
        ((1, 1, 7, 12), (-0.507, -0.026)),  # Fagerland, Lydersen and Laake (2017), chapter 8
    ],
)
def test_limits_of_paired_proportions_are_those_that_are_published(counts, limits):
    both, only_a, only_b, _ = (np.array([float(count)]) for count in counts)
    difference = paired_difference(both, only_a, only_b, sum(counts), 0.95)
    assert (difference.lower.round(3)[0], difference.upper.round(3)[0]) == limits


@pytest.mark.parametrize("prevalence", [None, 0.02])
def test_mover_combines_the_limits_of_two_proportions(prevalence):
    label, score = [1] * 4 + [0] * 96, [0.9, 0.4, 0.1, 0.1, *[0.5] * 3, *[0.05] * 93]
    frame = pl.DataFrame({"label": label, "score": score})
    row = rf.decision_intervals(frame, "label", "score", grid=0.3, prevalence=prevalence)
    odds = 0.3 / 0.7
    totals = (100, 100) if prevalence is None else (4, 96)
    scale = (1, odds) if prevalence is None else (0.02, 0.98 * odds)
    (p, l1, u1), (q, l2, u2) = (
        (k / n * c, *(c * limit for limit in binomtest(k, n).proportion_ci(method="wilson")))
        for k, n, c in zip((2, 3), totals, scale, strict=True)
    )
    r = 0 if prevalence else -sqrt(0.02 * 0.03 / (0.98 * 0.97))
    lower = sqrt((p - l1) ** 2 + (u2 - q) ** 2 - 2 * r * (p - l1) * (u2 - q))
    upper = sqrt((u1 - p) ** 2 + (q - l2) ** 2 - 2 * r * (u1 - p) * (q - l2))
    assert row.select("net_benefit", "lower", "upper").row(0) == pytest.approx(
        (p - q, p - q - lower, p - q + upper)
    )
    assert row.select("ci_method", "note").row(0) == ("mover", None)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "prevalence"), [(200, 0.02), (1000, 0.1)])
def test_limits_of_net_benefits_of_rare_events_keep_their_level(n, prevalence):
    rng = np.random.default_rng(3)
    samples, threshold = 1000, 0.2
    label = rng.random((samples, n)) < prevalence
    both = rng.random((samples, n)) < 0.5  # half of the decisions of two equal models agree
    rate = np.where(label, 0.3, 0.02)
    first, second = rng.random((2, samples, n)) < rate
    alerts = {"a": first, "b": np.where(both, first, second)}
    frame = pl.DataFrame(
        {
            "sample": np.repeat(np.arange(samples), n),
            "label": label.ravel(),
            **{name: alert.ravel().astype(float) for name, alert in alerts.items()},
        }
    )
    table = rf.decision_intervals(
        frame, "label", ["a", "b"], by="sample", grid=threshold, baseline="a"
    ).filter(model="b")
    true = prevalence * 0.3 - (1 - prevalence) * 0.02 * threshold / (1 - threshold)
    defined = table.filter(pl.col("lower").is_not_null())
    covered = defined.select(
        (pl.lit(true).is_between("lower", "upper")).mean().alias("net_benefit"),
        (pl.lit(0.0).is_between("difference_lower", "difference_upper")).mean().alias("difference"),
    ).row(0)
    assert min(covered) > 0.93  # three standard errors below 0.95 are 0.929


def test_the_default_for_clusters_is_the_bootstrap():
    frame = WIDE.with_columns(c=pl.col("id") // 2)
    assert intervals(frame, cluster="c")["ci_method"].unique().to_list() == ["bootstrap"]


def test_standard_errors_of_costs_are_those_of_all_possible_resamples():
    frame = pl.DataFrame(
        {
            "label": [1, 1, 1, 0, 0, 0],
            "a": [0.9, 0.4, 0.3, 0.6, 0.4, 0.1],
            "b": [0.7, 0.8, 0.2, 0.3, 0.9, 0.1],
        }
    )
    label = frame.get_column("label").to_numpy().astype(bool)
    values = {name: frame.get_column(name).to_numpy() for name in ("a", "b")}

    def cost(name: str, rows: list[int], x: float) -> float:
        score, y = values[name][rows], label[rows]
        return min(
            (score[~y] >= t).mean() * (1 - x) + (score[y] < t).mean() * x
            for t in (*values[name], np.inf)
        )

    resamples = [
        [*pos, *neg]
        for pos in product(range(3), repeat=3)
        for neg in product(range(3, 6), repeat=3)
    ]
    table = rf.decision_intervals(
        frame,
        "label",
        ["a", "b"],
        kind="cost",
        grid=[0.3, 0.6],
        baseline="b",
        n_boot=20_000,
        seed=1,
    )
    for row in table.iter_rows(named=True):
        x = row["probability_cost"]
        costs = {name: np.array([cost(name, rows, x) for rows in resamples]) for name in values}
        assert row["expected_cost"] == pytest.approx(cost(row["model"], [*range(6)], x))
        assert row["se"] == pytest.approx(costs[row["model"]].std(), rel=0.02)
        if row["model"] == "a":
            assert row["difference_se"] == pytest.approx((costs["a"] - costs["b"]).std(), rel=0.02)


def test_the_curves_are_those_of_decision_curve_and_cost_curve():
    curves = rf.curve(VOTES, "label", "score", by="model")
    for kind, table, names in (
        ("decision", curves.roc.decision_curve(), ["net_benefit", "treat_all"]),
        ("cost", curves.roc.cost_curve(), ["expected_cost", "trivial_cost"]),
    ):
        found = rf.decision_intervals(VOTES, "label", "score", id="id", kind=kind, ci=None)
        columns = ["model", table.columns[1], *names]
        assert_frame_equal(found.select(columns), table.select(columns))
        limits = found.select("lower", "upper", "se", "difference", "ci_level", "ci_method")
        assert set(limits.null_count().row(0)) == {found.height}


def test_at_a_prevalence_the_curves_are_those_of_decision_curve():
    curves = rf.curve(VOTES, "label", "score", by="model").roc.decision_curve(
        thresholds=GRID, prevalence=0.05
    )
    found = intervals(prevalence=0.05, ci=None)
    names = ["model", "probability_threshold", "net_benefit", "treat_all"]
    assert_frame_equal(found.select(names), curves.select(names))


@pytest.mark.parametrize("kind", ["decision", "cost"])
def test_a_difference_is_that_of_the_model_less_the_baseline(kind):
    a = intervals(kind=kind).filter(model="decision_tree")
    b = intervals(kind=kind, baseline="decision_tree").filter(model="naive_bayes")
    y = a.columns[2]
    assert_frame_equal(
        a.select("difference"), (a.select(y) - b.select(y)).rename({y: "difference"})
    )
    assert (a.get_column("difference_lower") <= a.get_column("difference")).all()
    assert_frame_equal(
        a.select(lower="difference_lower", upper="difference_upper", se="difference_se"),
        b.select(
            lower=-pl.col("difference_upper"), upper=-pl.col("difference_lower"), se="difference_se"
        ),
    )
    own = intervals(kind=kind).filter(model="naive_bayes")
    assert own.select("^difference.*$").null_count().sum_horizontal().item() == 4 * len(GRID)
    # Intervals of differences are narrower than those of separate samples.
    separate = (a.get_column("se") ** 2 + own.get_column("se") ** 2).sqrt()
    assert (a.get_column("difference_se") < separate).all()


def test_without_an_id_each_group_is_one_model():
    table = rf.decision_intervals(VOTES, "label", "score", by="model", grid=GRID, n_boot=50, seed=1)
    assert table.columns[:2] == ["model", "probability_threshold"]
    one = VOTES.filter(model="decision_tree")
    single = rf.decision_intervals(
        one.drop("model"), "label", "score", grid=GRID, n_boot=50, seed=1, kind="cost"
    )
    assert single.columns[:2] == ["probability_cost", "expected_cost"]
    assert single.get_column("lower").null_count() == 0
    limits = single.select("lower", "expected_cost", "upper")
    assert all(low <= value <= high for low, value, high in limits.iter_rows())


def test_the_cost_of_clusters_and_weights_has_intervals():
    weighted = WIDE.with_columns(w=pl.lit(2.0), c=pl.col("id") // 2)
    same = intervals(weighted, weight="w")
    assert_frame_equal(same, intervals(ci="bootstrap"), rel_tol=1e-9)
    clustered = intervals(weighted, cluster="c", kind="cost")
    assert clustered.get_column("lower").null_count() == 0
    estimates = ["expected_cost", "difference"]
    assert_frame_equal(clustered.select(estimates), intervals(kind="cost").select(estimates))


def test_limits_are_null_where_resamples_are_equal_or_a_class_is_absent():
    frame = pl.DataFrame({"label": [1, 1, 0, 0], "a": [0.9, 0.8, 0.2, 0.1]})
    separated = rf.decision_intervals(frame, "label", "a", kind="cost", grid=[0, 0.5], n_boot=20)
    assert separated.get_column("note").to_list() == ["zero_variance"] * 2
    assert separated.get_column("expected_cost").to_list() == [0, 0]
    one_class = rf.decision_intervals(frame[:2], "label", "a", grid=0.5, n_boot=20)
    row = one_class.row(0, named=True)
    assert (row["net_benefit"], row["treat_all"], row["lower"]) == (1, 1, None)
    assert row["note"] == "no_negatives"
    cost = rf.decision_intervals(frame[:2], "label", "a", kind="cost", grid=0.5)
    assert cost.row(0, named=True)["expected_cost"] is None
    empty = rf.decision_intervals(frame.clear(), "label", "a", grid=0.5)
    assert empty.row(0, named=True)["note"] == "no_rows"


def test_unscored_positives_are_never_treated():
    frame = pl.DataFrame({"label": [1, 1, 0, 0, 1], "a": [0.9, None, 0.6, 0.1, 0.4]})
    table = rf.decision_intervals(frame, "label", "a", grid=[0, 0.5], missing="worst", n_boot=20)
    curve = rf.curve(frame, "label", "a", missing="worst").roc.decision_curve(thresholds=[0, 0.5])
    assert_frame_equal(table.select("net_benefit"), curve.select("net_benefit"))


def test_charts_draw_bands_differences_and_trivial_decisions():
    table = intervals(grid=None)
    curves = [one for one in records(table.roc.chart()) if "_layer" not in one]
    rows = {(row["model"], row["probability_threshold"]): row for row in table.to_dicts()}
    for one in curves:
        for x, low, high in zip(one["x"], one["lower"], one["upper"], strict=True):
            row = rows[one["model"], x]
            limits = (row["net_benefit"] if row["lower"] is None else row["lower"], row["upper"])
            assert (low, high) == pytest.approx((limits[0], limits[1] or limits[0]), abs=1e-6)
    assert [one["treat_all"][0] for one in curves] == pytest.approx([0.4163, 0.4163], abs=1e-4)
    differences = records(table.roc.chart(y="difference"))
    assert [one["model"] for one in differences if "model" in one] == ["decision_tree"]
    cost = intervals(kind="cost").roc.chart(y="difference", facet="model")
    assert cost.to_dict()["title"]["text"] == "Difference of expected costs"
    for kind, side in (("cost", "below"), ("decision", "above")):
        subtitle = intervals(kind=kind).roc.chart(y="difference").to_dict()["title"]["subtitle"]
        assert f"Dashed: no difference; {side} 0: better than naive_bayes" in str(subtitle)
    assert "difference to naive_bayes against probability cost" in cost.description
    with pytest.raises(rf.OptionValueError, match="the table has no differences"):
        intervals(baseline=None).roc.chart(y="difference")


def test_models_have_the_same_colors_in_charts_of_values_and_of_differences():
    def colors(chart):
        return chart.to_dict()["encoding"]["color"]["scale"]["domain"]

    rows = pl.concat(
        pl.select(
            id=pl.int_range(60),
            model=pl.lit(name),
            label=pl.int_range(60) % 3 == 0,
            score=pl.int_range(60).hash(seed) % 100 / 100,
        )
        for seed, name in enumerate("abc")
    )
    table = rf.decision_intervals(
        rows,
        "label",
        "score",
        kind="cost",
        baseline="b",
        id="id",
        grid=[0.3, 0.5],
        n_boot=20,
        seed=1,
    )
    # The colors of the palette are in the order of the domain.
    assert colors(table.roc.chart()) == ["a", "b", "c"]
    assert colors(table.roc.chart(y="difference")) == ["a", "b", "c"]
