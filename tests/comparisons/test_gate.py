from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.comparisons.delong import AreaDifference
from tests.comparisons.tables import METHODS


def simulate(n_groups, n_pos, n_neg, *, area, margin, correlation, seed=0):
    """Return groups with normal scores of two models whose true areas differ by the margin."""
    from scipy.special import ndtri

    rng = np.random.default_rng(seed)
    positive = np.tile(np.arange(n_pos + n_neg) < n_pos, n_groups)
    common, own = rng.standard_normal((2, len(positive)))
    return pl.DataFrame(
        {
            "g": np.repeat(np.arange(n_groups), n_pos + n_neg),
            "id": np.arange(len(positive)),
            "label": positive,
            "old": ndtri(area) * 2**0.5 * positive + common,
            "new": ndtri(area - margin) * 2**0.5 * positive
            + correlation * common
            + (1 - correlation**2) ** 0.5 * own,
        }
    )


WIDE = simulate(4, 120, 150, area=0.85, margin=0.0, correlation=0.99)
OPTIONS = {"baseline": "old", "margin": 0.05}


def long(wide):
    return wide.unpivot(["old", "new"], index=["g", "id", "label"], variable_name="model",
                        value_name="score")  # fmt: skip


LONG = long(WIDE)


def decide(table=WIDE, **options):
    score = "score" if "score" in table.lazy().collect_schema() else ["old", "new"]
    return rf.gate(table, "label", score, **{"by": "g", **OPTIONS, **options})


@pytest.mark.parametrize("options", [{"weight": "w"}, {"cluster": "c"}])
def test_weights_and_clusters_have_another_default_method(options):
    rows = WIDE.with_columns(w=pl.col("id") % 3 + 1, c=pl.col("id") // 2)
    found = decide(rows, **options)
    assert found["test"].unique().to_list() == ["delong_t"]
    pairs = rf.compare(rows, "label", ["old", "new"], by="g", **OPTIONS, family="all", level=0.9,
                       **options)  # fmt: skip
    assert found["p_value"].to_list() == pairs["p_value"].to_list()
    losses = rows.with_columns(pl.col("old", "new").rank() / rows.height)
    assert decide(losses, metric="brier", **options)["test"].unique().to_list() == ["t_test"]


@pytest.mark.parametrize("method", ["delong_t", "delong", "delong_t_unpaired", "delong_unpaired"])
def test_other_methods_have_the_p_values_of_compare(method):
    gate = decide(method=method)
    pairs = rf.compare(WIDE, "label", ["old", "new"], by="g", **OPTIONS, method=method,
                       family="all", level=0.9)  # fmt: skip
    assert gate["p_value"].to_list() == pairs["p_value"].to_list()
    assert gate["p_adjusted"].to_list() == pairs["p_adjusted"].to_list()
    assert gate["limit"].to_list() == pairs["upper"].to_list()
    assert gate["deterioration"].to_list() == pairs["difference"].to_list()


def root(function, low, high):
    """Find the root of a function that is negative at `low` and positive at `high`."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


def newcombe_limit(area, n_pos, n_neg, z, end):
    """Solve |area - x| = z·se(x) between the area and `end`."""
    half = (n_pos + n_neg) / 2 - 1

    def excess(x):
        factor = 1 + half * (1 - x) / (2 - x) + half * x / (1 + x)
        return abs(area - x) - z * (x * (1 - x) * factor / (n_pos * n_neg)) ** 0.5

    return root(excess, area, end)


def placements(rows, model):
    pos, neg = (rows.filter(label=side)[model].to_numpy() for side in (True, False))
    wins = (pos[:, None] > neg).astype(float) + 0.5 * (pos[:, None] == neg)
    return wins.mean(axis=1), wins.mean(axis=0)


@pytest.mark.parametrize("paired", [True, False])
def test_limits_and_p_values_are_those_of_the_definition(paired):
    from scipy.stats import t

    method, margin = ("newcombe", 0.02) if paired else ("newcombe_unpaired", 0.2)
    gate = decide(by=None, margin=margin, method=method)
    values = {name: placements(WIDE, name) for name in ("old", "new")}
    old, new = (pos.mean() for pos, _ in values.values())
    n_pos, n_neg = (len(side) for side in values["old"])
    cov = sum(np.cov(values["old"][i], values["new"][i]) / len(values["old"][i]) for i in (0, 1))
    correlation = cov[0, 1] / (cov[0, 0] * cov[1, 1]) ** 0.5 if paired else 0.0

    def upper(z):
        x = newcombe_limit(old, n_pos, n_neg, z, 1) - old
        y = new - newcombe_limit(new, n_pos, n_neg, z, 0)
        return old - new + (x * x - 2 * correlation * x * y + y * y) ** 0.5

    # The variances of the mean placement values of both classes, with paired or separate models.
    contrasts = [values["old"][i] - values["new"][i] for i in (0, 1)]
    sides = contrasts if paired else [*values["old"], *values["new"]]
    parts = [(side.var(ddof=1) / len(side), len(side)) for side in sides]
    df = sum(v for v, _ in parts) ** 2 / sum(v**2 / (n - 1) for v, n in parts)
    assert gate["limit"].item() == pytest.approx(upper(t.ppf(0.95, df)), rel=1e-9)
    p_value = t.sf(root(lambda z: upper(z) - margin, 0, 30), df)
    assert gate["p_value"].item() == pytest.approx(p_value, rel=1e-6)
    assert gate.select("margin", "n_pos", "n_neg", "test").row(0) == (margin, 480, 600, method)


def test_a_decision_with_few_positives_has_a_note_and_still_counts():
    scores = simulate(1, 3, 40, area=0.9, margin=0.0, correlation=0.5)
    gate = decide(scores)
    assert gate.select("passed", "n_pos", "n_neg", "note").row(0) == (False, 3, 40, "few_rows:3")


def test_many_pairs_of_models_have_the_results_of_single_pairs():
    table = WIDE.with_columns(third=pl.col("old") + (pl.col("id") % 7 - 3) / 5)
    both = rf.gate(table, "label", ["old", "new", "third"], by="g", adjust=None, **OPTIONS)
    for model in ("new", "third"):
        alone = rf.gate(table, "label", ["old", model], by="g", adjust=None, **OPTIONS)
        assert_frame_equal(both.filter(model_new=model), alone, check_exact=True)


def test_the_limit_agrees_with_the_p_value():
    scores = simulate(300, 15, 25, area=0.9, margin=0.1, correlation=0.5)
    gate = decide(scores, margin=0.1, adjust=None)
    assert 0 < gate["passed"].sum() < gate.height
    assert_frame_equal(gate.select(passed=pl.col("limit") < 0.1), gate.select("passed"))
    inferior = gate.select((pl.col("p_value") >= 0.95).sum()).item()
    assert inferior == (gate["verdict"] == "inferior").sum() > 0


def test_groups_of_one_model_do_not_pass():
    table = LONG.filter(~((pl.col("g") == 1) & (pl.col("model") == "new")))
    table = table.filter(~((pl.col("g") == 3) & (pl.col("model") == "old")))
    for options in ({"id": "id"}, {"method": "newcombe_unpaired", "margin": 0.2}):
        gate = decide(table, **options)
        assert gate["g"].to_list() == [0, 1, 2, 3]
        assert gate["passed"].to_list() == [True, False, True, False]
        assert gate["verdict"].to_list()[1::2] == ["undecided"] * 2
        assert gate["note"].to_list() == [None, "not_in_new", None, "not_in_old"]
        assert gate["p_value"].null_count() == 2


def test_keys_can_be_null_or_nan():
    keys = pl.col("g").replace_strict({0: float("nan"), 1: None, 2: 2.0, 3: 3.0})
    table = LONG.with_columns(keys)
    table = table.filter(~(pl.col("g").is_nan().fill_null(False) & (pl.col("model") == "old")))
    gate = decide(table, id="id", min_rows=2)
    assert str(gate["g"].to_list()) == "[None, 2.0, 3.0, nan]"
    assert gate["verdict"].to_list() == [*["non_inferior"] * 3, "undecided"]
    one = decide(table.filter(g=2).with_columns(g=float("nan")), id="id", min_rows=2)
    assert str(one["g"].to_list()) == "[nan]"
    assert one["verdict"].to_list() == ["non_inferior"]


@pytest.mark.parametrize("method", [*METHODS[:5], "newcombe", "newcombe_unpaired"])
def test_identical_models_do_not_pass_with_a_margin_of_0(method):
    gate = decide(WIDE.with_columns(new="old"), margin=0, method=method, n_boot=20, seed=0)
    assert gate["verdict"].to_list() == ["not_shown"] * 4
    assert gate["p_value"].round(6).to_list() == [0.5] * 4


def test_a_group_of_the_new_model_alone_counts_unless_it_has_few_rows():
    table = LONG.filter((pl.col("g") != 3) | (pl.col("model") == "new"))
    expected = {120: ("undecided", False, "not_in_old"), 121: ("ignored", None, "not_in_old")}
    for min_rows, row in expected.items():
        repeated = pl.when(pl.col("g") == 3).then(1).otherwise(2)
        gate = decide(table.with_columns(n=repeated), method="newcombe_unpaired", margin=0.3,
                      min_rows=min_rows, count="n")  # fmt: skip
        assert gate.select("verdict", "passed", "note").row(3) == row
        assert gate["passed"].to_list()[:3] == [True] * 3


def test_a_group_of_one_class_does_not_pass_unless_it_is_left_out():
    table = WIDE.filter((pl.col("g") != 0) | pl.col("label"))
    table = table.filter((pl.col("g") != 1) | ~pl.col("label") | (pl.col("id") == 270))
    gate = decide(table)
    assert gate["verdict"].to_list() == [*["undecided"] * 2, *["non_inferior"] * 2]
    assert gate["note"].to_list() == ["no_negatives", "one_positive", None, None]
    identical = decide(table.with_columns(new="old"))
    assert identical["verdict"].to_list() == gate["verdict"].to_list()
    assert identical["note"].to_list() == [*gate["note"][:2], *["identical_scores"] * 2]
    gate = decide(table, min_rows=2)
    assert gate["verdict"].to_list() == [*["ignored"] * 2, *["non_inferior"] * 2]
    assert gate["passed"].to_list() == [None, None, True, True]
    assert gate["note"].to_list() == ["below_min_rows", "below_min_rows", None, None]
    # Only the old model decides which groups are left out, so that a new log with few rows fails.
    subset = LONG.filter((pl.col("model") == "old") | (pl.col("g") != 2) | (pl.col("id") % 50 == 0))
    gate = decide(subset, method="newcombe_unpaired", margin=0.2, min_rows=100)
    assert gate["verdict"].to_list()[2] == "not_shown"


@pytest.mark.parametrize("old_resolution", [0.0625, None])
def test_models_with_scores_of_different_resolutions_are_an_error(old_resolution):
    resolutions = {"old": old_resolution, "new": 0.5}
    table = pl.concat(
        LONG.filter(model=model).pipe(
            rf.compress, "label", "score", by=["g", "model"], resolution=resolution
        )
        for model, resolution in resolutions.items()
    )
    functions = {rf.gate: "newcombe_unpaired", rf.compare: "delong_unpaired"}
    for function, method in functions.items():
        with pytest.raises(rf.errors.ScoreError) as error:
            function(table, "label", "score", by="g", **OPTIONS, method=method, count="count")
        assert str(error.value) == (
            "score_width: the compared rows of group g=0 have scores that were rounded to "
            "different resolutions. This difference alone can change the results.\n"
            f"Widths in column 'score_width': new: 0.5; old: {old_resolution or 0.0}.\n"
            "Round the scores of all compared rows to the largest width: "
            'compress(…, resolution=0.5, count="count").'
        )
    coarse = table.drop("score_width").pipe(
        rf.compress, "label", "score", by=["g", "model"], resolution=0.5, count="count"
    )
    assert decide(coarse, method="newcombe_unpaired", count="count")["p_value"].null_count() == 0


def test_min_rows_counts_repeated_rows():
    gate = decide(WIDE.with_columns(n=pl.when(pl.col("g") == 0).then(2).otherwise(1)), count="n",
                  min_rows=121)  # fmt: skip
    assert gate["verdict"].to_list() == ["non_inferior", *["ignored"] * 3]


PERFECT = pl.DataFrame(
    {"g": 0, "id": range(40), "label": [True] * 20 + [False] * 20, "old": np.arange(40.0)[::-1],
     "new": [*np.arange(20.0) + 100, *np.arange(20.0)]}
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS[:5])
def test_two_perfect_models_are_undecided_if_the_variance_is_0(method):
    gate = decide(PERFECT, method=method, seed=1)
    assert gate.select("passed", "verdict", "note", "p_value").row(0) == (
        False,
        "undecided",
        "zero_variance",
        None,
    )


@pytest.mark.parametrize("table", [PERFECT, long(PERFECT)], ids=["wide", "long"])
def test_without_groups_the_decision_is_that_of_one_group(table):
    options = {"method": "delong", "id": "id" if "model" in table.columns else None}
    for more in ({}, {"min_rows": 20}):
        one, grouped = decide(table, by=None, **options, **more), decide(table, **options, **more)
        assert_frame_equal(one, grouped.drop("g"))
        assert one["verdict"].item() == "undecided"


def test_two_perfect_models_pass_only_with_enough_rows():
    assert decide(PERFECT)["verdict"].item() == "not_shown"
    more = pl.concat([PERFECT] * 10)
    assert decide(more)["verdict"].item() == "non_inferior"


@pytest.mark.parametrize("metric", ["auc", "brier", "log_loss", "average_precision"])
def test_identical_scores_pass_and_identical_ranks_need_rows(metric):
    table = WIDE.with_columns(old=1 / (1 + (-pl.col("old")).exp()))[:40:4]
    table = pl.concat([table, WIDE.with_columns(old=1 / (1 + (-pl.col("old")).exp()))[120:135]])
    same = table.with_columns(new="old")
    gate = decide(same, metric=metric, margin=0.001, seed=1)
    assert gate.select("passed", "note", "limit", "p_value").row(0) == (
        True,
        "identical_scores",
        0,
        0,
    )
    assert str(gate["deterioration"].item()) == "0.0"
    assert not decide(same, metric=metric, margin=0, seed=1)["passed"].item()
    assert not decide(same.with_columns(new=pl.col("old") / 2), metric=metric, margin=0.001,
                      seed=1)["passed"].item()  # fmt: skip
    paired = decide(long(same), metric=metric, margin=0.001, id="id", seed=1)
    assert paired["note"].item() == "identical_scores"


@pytest.mark.parametrize(("old", "new"), [("old", None), (1.0, float("nan"))], ids=["null", "NaN"])
def test_the_name_of_the_new_model_can_be_missing(old, new):
    same = WIDE.filter(pl.col("g") < 2).with_columns(
        new=pl.when(pl.col("g") == 0).then("old").otherwise("new")
    )
    named = decide(long(same), id="id", min_rows=1)
    assert named["note"].to_list() == ["identical_scores", None]
    models = long(same).with_columns(
        model=pl.when(pl.col("model") == "old").then(pl.lit(old)).otherwise(pl.lit(new))
    )
    unnamed = decide(models, id="id", min_rows=1, baseline=old)
    assert unnamed["model_new"].to_list() == [None] * 2
    assert_frame_equal(unnamed.drop("model_old", "model_new"), named.drop("model_old", "model_new"))
    half = models.filter((pl.col("g") == 0) | (pl.col("model") == old))
    gate = decide(half, id="id", baseline=old, min_rows=1)
    assert gate["note"].to_list() == ["identical_scores", "not_in_new"]


def test_a_higher_loss_is_a_deterioration():
    better = WIDE.with_columns(pl.col("old", "new").rank() / WIDE.height)
    noise = np.random.default_rng(1).uniform(0, 1, WIDE.height)
    worse = better.with_columns(new=0.7 * pl.col("new") + 0.3 * pl.Series(noise))
    gate = decide(worse, by=None, metric="brier", margin=0.001)
    pairs = rf.compare(worse, "label", ["old", "new"], metric="brier", level=0.9, **OPTIONS)
    assert gate["deterioration"].item() == -pairs["difference"].item() > 0
    assert gate["limit"].item() == -pairs["lower"].item() > 0
    assert gate["verdict"].item() == "inferior"
    assert gate["margin"].item() == 0.001
    assert gate["brier_new"].item() > gate["brier_old"].item()


def test_several_new_models_are_one_family():
    table = WIDE.with_columns(third=pl.col("old") + 0.0)
    gate = rf.gate(table, "label", ["old", "new", "third"], by="g", **OPTIONS)
    assert gate["model_new"].to_list() == ["new", "third"] * 4
    alone = decide(adjust=None)["p_value"]
    assert gate["p_value"].to_list()[::2] == alone.to_list()
    assert gate["p_adjusted"].max() == pytest.approx(min(1, 4 * alone.max()), abs=alone.max() * 4)


def test_no_limit_is_below_the_difference_and_the_statistic_is_the_first_crossing():
    rng = np.random.default_rng(2)
    n = 2000
    a = rng.uniform(0, 1, n)
    b = np.clip(a + rng.normal(0, 0.1, n), 0, 1)
    sizes = rng.integers(2, 300, (2, n))
    difference = AreaDifference(
        a=a, b=b, sizes_a=tuple(sizes), sizes_b=tuple(sizes), correlation=rng.uniform(-1, 1, n)
    )
    z = -difference._statistic(0.15)
    below = z > 0
    for share in (0.25, 0.5, 0.9, 0.999):
        _, upper = difference.limits(z * share)
        assert (upper[below] < 0.15 + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 8])
@pytest.mark.parametrize(
    ("area", "margin", "correlation", "sizes"),
    [
        (0.8, 0.05, 0.5, (100, 100)),
        (0.8, 0.05, 0.95, (30, 30)),
        (0.97, 0.02, 0.5, (50, 200)),
        (0.97, 0.05, 0.95, (10, 10)),
        (0.99, 0.01, 0.95, (50, 50)),
    ],
)
def test_a_model_that_is_worse_by_the_margin_seldom_passes(
    n_groups, area, margin, correlation, sizes
):
    samples = 500
    rows = simulate(samples * n_groups, *sizes, area=area, margin=margin, correlation=correlation)
    p_value = decide(rows, margin=margin, adjust=None)["p_value"].fill_null(1).to_numpy()
    # Holm's method passes a group if and only if the smallest p-value is at most 0.05 / n_groups.
    passes = p_value.reshape(samples, n_groups).min(axis=1) <= 0.05 / n_groups
    assert passes.mean() <= 0.05 + 3 * (0.05 * 0.95 / samples) ** 0.5


def decisions(both, only_old, only_new, neither):
    """Return the positives of a paired table of decisions, and as many negatives."""
    cells = [(1, 1)] * both + [(1, 0)] * only_old + [(0, 1)] * only_new + [(0, 0)] * neither
    old, new = np.array(cells, float).T
    positive = pl.DataFrame({"label": True, "old": old, "new": new})
    negative = positive.with_columns(label=pl.lit(False), new=1 - pl.col("new"))
    return pl.concat([positive, negative]).with_row_index("id")


def tango_p_value(both, only_old, only_new, neither, margin):
    """Return the p-value of the score test; the likelihood is maximized by a search."""
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    n = both + only_old + only_new + neither

    def loss(q):  # the probability that only the new model is right; that of the old one is higher
        concordant = 1 - 2 * q - margin
        return -(
            only_old * np.log(q + margin)
            + only_new * np.log(q)
            + (both + neither) * np.log(concordant)
        )

    q = minimize_scalar(loss, bounds=(1e-12, (1 - margin) / 2 - 1e-12), method="bounded",
                        options={"xatol": 1e-12}).x  # fmt: skip
    variance = n * (2 * q + margin * (1 - margin))
    return norm.cdf((only_old - only_new - n * margin) / variance**0.5)


@pytest.mark.parametrize("cells", [(80, 6, 4, 10), (60, 10, 2, 28), (90, 1, 9, 0)])
def test_recall_at_a_threshold_is_tested_by_the_score_test_of_paired_proportions(cells):
    gate = decide(decisions(*cells), by=None, metric="recall", threshold=0.5)
    assert gate["test"].item() == "mcnemar"
    assert gate["recall_old"].item() == pytest.approx((cells[0] + cells[1]) / sum(cells))
    assert gate["recall_new"].item() == pytest.approx((cells[0] + cells[2]) / sum(cells))
    p_value = tango_p_value(*cells, 0.05)
    assert gate["p_value"].item() == pytest.approx(p_value, rel=1e-6)
    assert gate["passed"].item() is bool(p_value <= 0.05)
    # The limit is the margin that would just be passed.
    limit = gate["limit"].item()
    assert limit == pytest.approx(root(lambda m: 0.05 - tango_p_value(*cells, m), 1e-9, 0.9)
                                  if limit > 0 else limit, rel=1e-5)  # fmt: skip


def test_a_higher_false_positive_rate_is_a_deterioration():
    # The new model has 20 false alarms more among 100 negatives.
    negative = decisions(70, 0, 20, 10).filter("label").with_columns(label=pl.lit(False))
    table = pl.concat([negative, negative.with_columns(label=pl.lit(True))])
    gate = decide(table, by=None, metric="fpr", threshold=0.5)
    assert gate["deterioration"].item() == pytest.approx(0.2)
    assert gate["verdict"].item() == "inferior"
    assert decide(table, by=None, metric="recall", threshold=0.5)["passed"].item()


@pytest.mark.parametrize(
    ("metric", "point"),
    [
        ("recall", {"threshold": {"old": 0.5, "new": 0.4}}),
        ("precision", {"threshold": 0.5}),
        ("recall", {"alert_rate": 0.3}),
        ("precision", {"alerts": 50}),
        ("tpr", {"fpr": 0.1}),
        ("auc", {"fpr": (0, 0.2)}),
        ("mcc", {"rule": "youden"}),
        ("expected_cost", {"rule": "expected_cost", "costs": {"fp": 1, "fn": 3}}),
        ("ks", {}),
    ],
)
def test_metrics_and_points_are_those_of_compare(metric, point):
    options = {"metric": metric, "n_boot": 50, "seed": 3, **point}
    table = pl.concat([WIDE.filter(g=0), WIDE.filter(g=2)])
    for rows in (table, long(table)):
        keys = {"id": "id"} if "model" in rows.columns else {}
        gate = decide(rows, **options, **keys)
        pairs = rf.compare(rows, "label", ["old", "new"] if not keys else "score", by="g",
                           **OPTIONS, **options, **keys, family="all", level=0.9)  # fmt: skip
        sign = -1 if metric == "expected_cost" else 1
        end = "lower" if sign < 0 else "upper"
        name = "partial_auc" if metric == "auc" else metric
        found = gate.select(pl.col("deterioration", "limit") * sign, "p_value", "p_adjusted",
                            f"{name}_old", f"{name}_new")  # fmt: skip
        expected = pairs.select("difference", end, "p_value", "p_adjusted", f"{name}_a",
                                f"{name}_b")  # fmt: skip
        assert found.rows() == expected.rows()
        assert gate["margin"].to_list() == [0.05, 0.05]


def test_groups_of_different_rows_are_paired_only_by_id():
    rows = long(WIDE).rename({"model": "log"}).sample(fraction=1, shuffle=True, seed=1)
    options = {"between": "log", "metric": "recall", "threshold": 0.5}
    assert decide(rows, **options)["test"].unique().item() == "miettinen_nurminen"
    assert decide(rows, **options, id="id")["test"].unique().item() == "mcnemar"
    assert decide(rows, between="log")["test"].unique().item() == "newcombe_unpaired"


def test_identical_decisions_need_rows_and_identical_scores_do_not():
    table = decisions(8, 0, 0, 2).with_columns(new="old")
    options = {"by": None, "metric": "recall", "threshold": 0.5}
    same = decide(table, **options)
    assert same.select("passed", "note", "limit").row(0) == (True, "identical_scores", 0)
    other = decide(table.with_columns(pl.col("new") * 2), **options)
    assert other.select("passed", "note", "verdict").row(0) == (False, None, "not_shown")
    other = decide(table, **options | {"threshold": {"old": 0.5, "new": 0.6}})
    assert other["verdict"].item() == "not_shown"
    many = pl.concat([table] * 20).with_columns(pl.col("new") * 2)
    assert decide(many, **options)["passed"].item()
