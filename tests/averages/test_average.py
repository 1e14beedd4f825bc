"""`average`: means of curves, standard deviations and limits."""

from __future__ import annotations

import statistics
from fractions import Fraction
from itertools import pairwise
from math import inf, sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.strategies import examples, shuffled

fewer = examples(1 / 2)

# Two folds of ROC points (0,0) (0,1/2) (1,1) and (0,0) (0,1/2) (1/2,1/2) (1/2,1) (1,1), and one
# without negatives.
TABLE = {
    "fold": [1, 1, 1, 2, 2, 2, 2, 3],
    "label": [1, 0, 1, 1, 0, 1, 0, 1],
    "score": [0.9, 0.4, 0.4, 0.8, 0.6, 0.5, 0.1, 0.3],
}
LEFT_OUT = "left_out:1 (3)"
SAME = f"zero_variance; {LEFT_OUT}"
TAIL = ["ci_level", "n_curves", "threshold_mean", "threshold_sd", "note"]
AXES = {
    "roc": ("fpr", "tpr"),
    "precision_recall": ("recall", "precision"),
    "det": ("fpr", "fnr"),
    "gain": ("alert_rate", "tpr"),
    "lift": ("alert_rate", "lift"),
    "lift_chart": ("alert_rate", "tp"),
    "predictive_value": ("alert_rate", "ppv"),
    "skill": ("alert_rate", "skill"),
}
HORIZONTAL = ("roc", "det", "gain")
ALIASES = {"recall": "tpr", "ppv": "precision"}


def curves(table, **more):
    return rf.curve(table, "label", "score", by="fold", **more)


def by_model(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    return rf.curve(table, "label", "score", by=["model", "fold"], **more)


@st.composite
def fold_tables(draw):
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(1, 3), st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
            ),
            min_size=8,
            max_size=24,
        )
    )
    return pl.DataFrame(
        rows, {"fold": pl.Int64, "label": pl.Boolean, "score": pl.Float64}, orient="row"
    )


def test_the_mean_at_fixed_fpr_by_hand(frame):
    mean = rf.average(curves(frame(TABLE)), grid=3)
    # Two of three folds are used. The sd of 3/4 and 1 is 1/(4√2), and the se is sd·√(1/2 + 1/2).
    # With the quantile t(1) = 12.706, the limits are clipped to 0 and 1.
    sd = 1 / sqrt(32)
    expected = frame(
        {
            "fpr": [0.0, 0.5, 1.0],
            "tpr": [0.5, 0.875, 1.0],
            "tpr_sd": [0.0, sd, 0.0],
            "tpr_se": [None, sd, None],
            "tpr_lower": [None, 0.0, None],
            "tpr_upper": [None, 1.0, None],
            "ci_level": [0.95] * 3,
            "n_curves": [2, 2, 2],
            "threshold_mean": [0.85, 0.7, 0.25],
            "threshold_sd": [0.1 / sqrt(2), 0.4 / sqrt(2), 0.3 / sqrt(2)],
            "note": [SAME, LEFT_OUT, SAME],
        }
    )
    assert_frame_equal(mean, expected, abs_tol=1e-14)


def test_union_grids_have_both_sides_of_each_jump(frame):
    mean = curves(frame(TABLE)).roc.average(over="fold", grid="union").select("side", "fpr", "tpr")
    expected = frame(
        {
            "side": ["left", "right"] * 3,
            "fpr": [0.0, 0.0, 0.5, 0.5, 1.0, 1.0],
            "tpr": [0.0, 0.5, 0.625, 0.875, 1.0, 1.0],
        }
    )
    assert_frame_equal(mean, expected)


def test_the_mean_at_fixed_tpr_by_hand(frame):
    mean = rf.average(curves(frame(TABLE)), method="horizontal", grid=[0.5, 0.75, 1])
    # At a TPR of 3/4, the first curve has an FPR of 1/2.
    expected = frame({"fpr": [0.0, 0.5, 0.75], "tpr": [0.5, 0.75, 1.0]})
    assert_frame_equal(mean.select("fpr", "tpr"), expected)


def test_the_means_at_thresholds_by_hand(frame):
    mean = rf.average(curves(frame(TABLE)), method="threshold", grid=[inf, 0.7, 0.45, 0.4])
    expected = frame(
        {
            "fpr": [0.0, 0.0, 0.25, 0.75],
            "tpr": [0.0, 0.5, 0.75, 1.0],
            "threshold_mean": [inf, 0.7, 0.45, 0.4],
            "threshold_sd": [0.0] * 4,
        }
    )
    assert_frame_equal(mean.select(expected.lazy().collect_schema().names()), expected)
    every = rf.average(curves(frame(TABLE)), method="threshold").lazy().collect()
    assert every["threshold_mean"].to_list() == [inf, 0.9, 0.8, 0.6, 0.5, 0.4, 0.1]
    some = rf.average(curves(frame(TABLE)), method="threshold", grid=3).lazy().collect()
    assert some["threshold_mean"].to_list() == [inf, 0.6, 0.1]


def test_pooled_folds_are_the_curve_of_all_rows(frame):
    pooled = rf.average(curves(frame(TABLE)), method="pooled")
    whole = rf.curve(frame(TABLE), "label", "score")
    expected = whole.with_columns(
        pooled_auc=pl.lit(0.7),
        mean_auc=pl.lit(0.75),
        n_curves=pl.lit(2, pl.Int64),
        note=pl.lit(LEFT_OUT),
    )
    assert_frame_equal(pooled, expected)
    assert_frame_equal(rf.area(pooled), frame({"auc": [0.7]}))


def test_ranks_within_folds_remove_a_shift_of_the_scores():
    # The second fold has the scores of the first fold plus a constant.
    one = pl.DataFrame({"fold": 1, "label": [1, 0, 1, 0], "score": [4.0, 3.0, 2.0, 2.0]})
    two = one.with_columns(fold=pl.lit(2, pl.Int32), score=pl.col("score") + 100)
    both = curves(pl.concat([one, two]))
    assert rf.average(both, method="pooled")["pooled_auc"][0] != 0.625
    ranked = rf.average(both, method="pooled", ranks="within")
    assert ranked["threshold"].to_list() == [inf, 0.875, 0.625, 0.25]
    assert ranked["tp"].to_list() == [0, 2, 2, 4]
    assert ranked["pooled_auc"][0] == ranked["mean_auc"][0] == 0.625


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vertical", "horizontal"])
@pytest.mark.parametrize("kind", AXES)
@fewer
@given(table=fold_tables())
def test_means_equal_those_from_exact_fractions(kind, method, table):
    if method == "horizontal" and kind not in HORIZONTAL:
        return
    members = oracles.fold_counts(table)
    assume(members)
    fixed, averaged = AXES[kind] if method == "vertical" else AXES[kind][::-1]
    x, y = (ALIASES.get(name, name) for name in (fixed, averaged))
    grid = [Fraction(i, 8) for i in range(9)]
    found = rf.average(curves(table), method=method, kind=kind, grid=[float(g) for g in grid])
    every = [[oracles.best_at(rows, x, value, y) for rows in members] for value in grid]
    assert found[averaged].to_list() == pytest.approx(
        [float(statistics.mean(values)) for values in every], abs=1e-12
    )
    assert found[fixed].to_list() == [float(value) for value in grid]
    assert found["n_curves"].to_list() == [len(members)] * 9
    if len(members) > 1:
        sd = [sqrt(statistics.variance(values)) for values in every]
        assert found[f"{averaged}_sd"].to_list() == pytest.approx(sd, abs=1e-7)


@fewer
@given(table=fold_tables())
def test_threshold_means_equal_those_from_exact_fractions(table):
    members = [
        part
        for part in table.partition_by("fold", maintain_order=True)
        if part["label"].n_unique() == 2
    ]
    assume(members)
    found = rf.average(curves(table), method="threshold", grid=[0.1, 0.5, 2.0])
    for threshold, fpr, tpr in zip(
        found["threshold_mean"], found["fpr"], found["tpr"], strict=True
    ):
        called = [part.filter(pl.col("score") >= threshold) for part in members]
        for label, rate in ((True, tpr), (False, fpr)):
            shares = [
                Fraction((some["label"] == label).sum(), (part["label"] == label).sum())
                for some, part in zip(called, members, strict=True)
            ]
            assert rate == pytest.approx(float(statistics.mean(shares)), abs=1e-12)


def area_under(rows: list[oracles.Counts], fixed: str, averaged: str) -> Fraction:
    """Return the area under the straight lines between the points of a curve."""
    line = [(oracles.metric(fixed, row), oracles.metric(averaged, row)) for row in rows]
    return sum(((b - a) * (low + high) / 2 for (a, low), (b, high) in pairwise(line)), Fraction(0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["roc", "det", "gain"])
@pytest.mark.parametrize("method", ["vertical", "horizontal"])
@fewer
@given(table=fold_tables())
def test_the_area_of_the_mean_is_the_mean_of_the_areas(kind, method, table):
    members = oracles.fold_counts(table)
    assume(members)
    x, y = AXES["roc" if kind == "det" else kind]
    expected = statistics.mean([area_under(rows, x, y) for rows in members])
    mean = rf.average(curves(table), method=method, kind=kind, grid="union")
    area = rf.area(shuffled(mean, 1))
    name = "area_of_mean" if kind == "gain" else "auc_of_mean"
    assert area.columns == [name]
    assert area[name].item() == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.slow
@fewer
@given(table=fold_tables())
def test_the_mean_of_one_curve_is_that_curve(table):
    one = table.filter(pl.col("label").n_unique().over("fold") == 2).filter(
        pl.col("fold") == pl.col("fold").min()
    )
    assume(one.height)
    own = curves(one)
    for kind, (x, y) in AXES.items():
        rated = curves(one, kind=kind).drop_nulls()
        mean = rf.average(rated if kind == "roc" else own, kind=kind, grid="union", ci="t")
        assert mean[f"{y}_sd"].null_count() == mean[f"{y}_lower"].null_count() == mean.height
        # The union contains both ends of each jump.
        ends = rated.group_by(x).agg(pl.first(y), pl.last(y).alias("last"))
        corners = {*ends.select(x, y).rows(), *ends.select(x, "last").rows()}
        if y in {"precision", "lift", "ppv"}:  # the first row has no precision
            corners = {(at, up) for at, up in corners if at}
        assert corners <= set(mean.select(x, y).rows())
    threshold = rf.average(own, method="threshold", grid="union")
    expected = own.select("fpr", "tpr", threshold_mean="threshold")
    assert_frame_equal(threshold.select("fpr", "tpr", "threshold_mean"), expected)


@pytest.mark.slow
@fewer
@given(table=fold_tables())
def test_pooled_curves_equal_curves_without_the_fold_key(table):
    for kind in AXES:
        pooled = rf.average(curves(table, kind=kind), method="pooled")
        whole = rf.curve(table, "label", "score", kind=kind)
        assert_frame_equal(pooled.select(whole.columns), whole)
        auc = rf.auc(table, "label", "score", ci=None)["auc"].item()
        assert pooled["pooled_auc"].to_list() == [auc] * pooled.height


# Ten folds whose values at FPR 1/2 are 0, 1/10, …, 9/10: mean .45, variance 11/120.
SPREAD = pl.concat(
    [
        pl.DataFrame(
            {
                "fold": fold,
                "label": [True] * 10 + [False] * 2,
                "score": [2.0] * fold + [-2.0] * (10 - fold) + [1.0, -1.0],
            }
        )
        for fold in range(10)
    ]
)


@pytest.mark.parametrize(
    ("interval", "se", "quantile"),
    [
        ("corrected", sqrt(11 / 120 * (1 / 10 + 1 / 9)), 2.262157162798205),
        ("t", sqrt(11 / 120 / 10), 2.262157162798205),
        ("normal", sqrt(11 / 120 / 10), 1.959963984540054),
    ],
)
def test_limits_by_hand(interval, se, quantile):
    mean = rf.average(curves(SPREAD), grid=[0.5], ci=interval)
    assert mean["tpr"].item() == pytest.approx(0.45, abs=1e-15)
    assert mean["tpr_sd"].item() == pytest.approx(sqrt(11 / 120), abs=1e-15)
    assert mean["tpr_se"].item() == pytest.approx(se, abs=1e-15)
    assert mean["tpr_lower"].item() == pytest.approx(max(0, 0.45 - quantile * se), abs=1e-12)
    assert mean["tpr_upper"].item() == pytest.approx(0.45 + quantile * se, abs=1e-12)


def test_the_corrected_interval_uses_test_per_train():
    mean = rf.average(curves(SPREAD), grid=[0.5], test_per_train=1 / 4)
    assert mean["tpr_se"].item() == pytest.approx(sqrt(11 / 120 * (1 / 10 + 1 / 4)), abs=1e-15)
    several = rf.curve(
        SPREAD.with_columns(again=pl.col("fold") // 5), "label", "score", by=["again", "fold"]
    )
    other = rf.average(several, over=["again", "fold"], grid=[0.5], test_per_train=1 / 4)
    assert_frame_equal(other, mean)


def test_the_bootstrap_resamples_folds():
    mean = rf.average(curves(SPREAD), grid=[0.5], ci="bootstrap", seed=1, n_boot=20_000)
    # The variance of a mean of ten draws with replacement has the divisor n instead of n - 1.
    assert mean["tpr_se"].item() == pytest.approx(sqrt(11 / 120 * 9 / 10 / 10), rel=0.02)
    assert mean["tpr_lower"].item() == pytest.approx(0.27, abs=0.011)
    assert mean["tpr_upper"].item() == pytest.approx(0.63, abs=0.011)
    again = rf.average(curves(SPREAD), grid=[0.5], ci="bootstrap", seed=1, n_boot=20_000)
    assert_frame_equal(mean, again, check_exact=True)


def test_the_draws_of_a_group_do_not_depend_on_other_groups():
    both = pl.concat(
        [SPREAD.with_columns(model=pl.lit("a")), SPREAD.with_columns(model=pl.lit("b"))]
    )
    options = {"grid": 5, "ci": "bootstrap", "seed": 1, "n_boot": 50}
    every = by_model(both).roc.average(**options)
    one = by_model(both.filter(model="b")).roc.average(**options)
    assert_frame_equal(every.filter(model="b"), one, check_exact=True)
    assert not every.filter(model="a").drop("model").equals(one.drop("model"))


def test_curves_can_have_weights():
    table = pl.DataFrame(TABLE)
    grid = {"grid": [0.5], "ci": "t"}
    rows = rf.average(curves(table), weights="rows", **grid)
    assert rows["tpr"].item() == pytest.approx((3 * 0.75 + 4 * 1) / 7, abs=1e-15)
    # The weights are p = 3/7 and 4/7. The variance is Σp·(y - m)² / (1 - Σp²); the variance of the
    # mean is this variance times Σp².
    p, q = 3 / 7, 4 / 7
    assert rows["tpr_sd"].item() == pytest.approx(sqrt(p * q / 16 / (1 - p**2 - q**2)), abs=1e-15)
    assert rows["tpr_se"].item() == pytest.approx(rows["tpr_sd"].item() * sqrt(p**2 + q**2))
    given = rf.average(curves(table), weights={1: 6, 2: 8, 3: 1}, **grid)
    assert_frame_equal(given, rows, abs_tol=1e-15)
    equal = rf.average(curves(table), weights="positives", **grid)
    assert_frame_equal(equal, rf.average(curves(table), **grid), abs_tol=1e-15)


def test_groups_are_all_other_keys_in_any_position(frame):
    table = pl.DataFrame(TABLE)
    both = pl.concat([table.with_columns(model=pl.lit("b")), table.with_columns(model=pl.lit("a"))])
    for by in (["model", "fold"], ["fold", "model"]):
        every = rf.curve(frame(both), "label", "score", by=by).roc.average(grid=3)
        one = rf.average(curves(frame(TABLE)), grid=3)
        keyed = [one.select(pl.lit(name).alias("model"), pl.all()) for name in "ab"]
        assert_frame_equal(every, pl.concat(keyed))


def test_a_group_without_curves_of_both_classes_has_no_mean():
    table = pl.DataFrame({"fold": [None, 2, 3], "label": [1, 0, 1], "score": [0.1, 0.2, 0.3]})
    mean = rf.average(curves(table), grid=2)
    expected = pl.DataFrame(
        {
            "fpr": [0.0, 1.0],
            "tpr": None,
            "tpr_sd": None,
            "tpr_se": None,
            "tpr_lower": None,
            "tpr_upper": None,
            "ci_level": 0.95,
            "n_curves": 0,
            "threshold_mean": None,
            "threshold_sd": None,
            "note": "left_out:3 (null, 2, 3)",
        },
        schema_overrides={
            **dict.fromkeys(
                [
                    "tpr",
                    "tpr_sd",
                    "tpr_se",
                    "tpr_lower",
                    "tpr_upper",
                    "threshold_mean",
                    "threshold_sd",
                ],
                pl.Float64,
            ),
            "n_curves": pl.Int64,
        },
    )
    assert_frame_equal(mean, expected)
    assert rf.area(mean).rows() == [(None,)]
    pooled = rf.average(curves(table), method="pooled")
    assert pooled.select("n_curves", "pooled_auc", "mean_auc").row(0) == (0, 0.5, None)


def test_a_table_without_curves_has_no_averages():
    none = curves(pl.DataFrame(TABLE).clear())
    for options in (
        {},
        {"grid": "union"},
        {"method": "threshold"},
        {"method": "pooled"},
        {"method": "pooled", "fixed": "fpr"},
        {"method": "micro", "fixed": "threshold", "metrics": "f1", "ranks": "within"},
    ):
        full = rf.average(curves(pl.DataFrame(TABLE)), **options)
        empty = rf.average(none, **options)
        assert_frame_equal(empty, full.clear())


@pytest.mark.parametrize("count", ["tp", "fp", "fn", "tn"])
def test_pooled_counts_are_floats_if_one_count_of_the_curves_is_a_float(frame, count):
    table = curves(pl.DataFrame(TABLE)).with_columns(pl.col(count).cast(pl.Float64))
    pooled = rf.average(table.lazy() if frame is pl.LazyFrame else table, method="pooled")
    expected = rf.average(curves(pl.DataFrame(TABLE)), method="pooled")
    expected = expected.with_columns(pl.col("tp", "fp", "fn", "tn").cast(pl.Float64))
    assert_frame_equal(pooled.lazy().collect(), expected)


def test_unscored_rows_change_both_ends_of_the_curve():
    table = pl.DataFrame({"fold": 1, "label": [1, 1, 0, 0], "score": [0.9, None, 0.5, None]})
    worst = curves(table, missing="worst")
    mean = rf.average(worst, grid=[0, 0.5, 0.75, 1])
    # An unscored negative is predicted positive at every threshold, an unscored positive at none.
    assert mean["tpr"].to_list() == [0.0, 0.5, 0.5, 0.5]
    across = rf.average(worst, method="horizontal", grid=[0, 0.5, 1])
    assert across["fpr"].to_list() == [0.5, 0.5, None]
    assert across["n_curves"].to_list() == [1, 1, 0]


def test_curves_without_their_last_rows_have_no_mean_beyond_them():
    short = curves(pl.DataFrame(TABLE), thresholds=[0.9, 0.8, 0.6, 0.5])
    mean = rf.average(short, grid=3)
    assert mean["n_curves"].to_list() == [2, 1, 0]
    assert mean["tpr"].to_list() == [0.5, 1.0, None]
    assert rf.area(mean).rows() == [(None,)]
    pooled = rf.average(short, method="pooled")
    counts = [(0, 0), (1, 0), (2, 0), (2, 1), (3, 1)]
    assert pooled.select("tp", "fp", "pooled_auc").rows() == [(*row, None) for row in counts]


def test_weighted_curves_end_at_one():
    weighted = pl.DataFrame(TABLE).with_columns(w=pl.lit(0.1) * (pl.col("fold") + 0.2))
    every = curves(weighted, weight="w")
    plain = rf.average(curves(pl.DataFrame(TABLE)), grid=5)
    assert_frame_equal(rf.average(every, grid=5), plain, abs_tol=1e-12)
    across = rf.average(every, method="horizontal", grid=5)
    assert across["n_curves"].to_list() == [2] * 5


def test_blocks_of_a_large_group_do_not_change_the_result(monkeypatch):
    from rocframe.averages import means as grids

    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "fold": rng.integers(0, 7, 900),
            "label": rng.random(900) < 0.4,
            "score": rng.integers(0, 50, 900),
        }
    )
    for options in ({"grid": "union"}, {"ci": "bootstrap", "seed": 1, "n_boot": 30}):
        whole = rf.average(curves(table), **options)
        monkeypatch.setattr(grids, "MAX_CELLS", 40)
        assert_frame_equal(rf.average(curves(table), **options), whole, abs_tol=1e-15)
        monkeypatch.undo()


def test_the_metadata_of_an_averaged_curve_has_its_kind(tmp_path):
    mean = by_model(pl.DataFrame({**TABLE, "model": "a"})).roc.average(grid="union")
    rf.write(mean, tmp_path / "mean.parquet")
    output = rf.about(tmp_path / "mean.parquet")
    assert (output["table"], output["kind"], output["by"]) == ("average", "roc", ["model"])
    assert_frame_equal(rf.area(rf.scan(tmp_path / "mean.parquet")).collect(), rf.area(mean))
    rf.write(rf.area(mean), tmp_path / "area.parquet")
    assert rf.about(tmp_path / "area.parquet")["table"] == "area"


def test_a_mean_of_different_curves_at_different_points_has_no_area():
    # The second fold has an unscored negative, so its curve begins at the FPR 1/2.
    table = pl.DataFrame(
        {"fold": [1, 1, 2, 2, 2], "label": [1, 0, 1, 0, 0], "score": [0.9, 0.2, 0.7, 0.4, None]}
    )
    worst = curves(table, missing="worst")
    across = rf.average(worst, method="horizontal", grid=[0, 0.5, 1])
    assert across["n_curves"].to_list() == [2, 2, 2]
    assert rf.area(across)["auc_of_mean"].item() == 0.75
    lost = table.with_columns(score=pl.Series([0.9, 0.2, None, 0.4, 0.3]))
    short = rf.average(curves(lost, missing="worst"), method="horizontal", grid=[0, 0.5, 1])
    assert short["n_curves"].to_list() == [2, 1, 1]
    assert short["fpr"].to_list() == [0.0, 0.0, 0.0]
    assert rf.area(short).rows() == [(None,)]
    recalled = rf.average(curves(lost, missing="worst"), kind="pr", grid=3)
    assert recalled["n_curves"].to_list() == [2, 1, 1]
    assert rf.area(recalled).rows() == [(None,)]


def test_means_at_given_thresholds_are_those_of_full_curves():
    table = pl.DataFrame(TABLE)
    full, some = curves(table), curves(table, thresholds=[0.1, 0.5])
    assert (some["error"] > 0).any()
    found, expected = (
        rf.average(each, method="threshold", grid=[inf, 0.5, 0.1]) for each in (some, full)
    )
    assert_frame_equal(found, expected, check_exact=True)
    assert_frame_equal(rf.area(found), rf.area(expected), check_exact=True)


def test_a_curve_at_given_thresholds_has_no_values_at_others():
    table = pl.DataFrame(TABLE).filter(pl.col("fold") < 3)
    one = curves(table.filter(fold=1), thresholds=[0.5, 0.1])
    # No score of the first fold is between 0.4 and 0.1, so two neighboring rows have equal counts.
    three = curves(table.filter(fold=1).with_columns(fold=3), thresholds=[0.4, 0.2, 0.1])
    mixed = pl.concat([one.with_columns(fold=1), three.with_columns(fold=3)])
    at = rf.average(mixed, method="threshold", grid=[0.5, 0.4, 0.2, 0.1, 0.05])
    # Missing rows of the first curve are not detected: its scores are treated as 0.5 and 0.1.
    assert at["n_curves"].to_list() == [1, 2, 2, 2, 1]
    assert at["tpr"].to_list() == [0.5, 0.75, 0.75, 1.0, 1.0]


@pytest.mark.parametrize(
    "options",
    [
        {"grid": "union"},
        {"grid": "union", "method": "horizontal", "kind": "det"},
        {"method": "threshold"},
        {"method": "threshold", "grid": 4},
    ],
    ids=["vertical", "horizontal", "thresholds", "some thresholds"],
)
def test_groups_with_different_values_equal_each_group_alone(monkeypatch, options):
    from rocframe.averages import means as grids

    rng = np.random.default_rng(8)
    table = pl.DataFrame(
        {
            "model": np.repeat(np.arange(9), np.arange(9) ** 2 + 4),
            "fold": rng.integers(0, 3, 240),
            "label": rng.random(240) < 0.5,
            "score": rng.integers(0, 40, 240),
        }
    )
    every = by_model(table)
    alone = [rf.average(part, **options) for part in every.partition_by("model")]
    monkeypatch.setattr(grids, "MAX_ROWS", 60)
    monkeypatch.setattr(grids, "MAX_CELLS", 100)
    together = rf.average(every, **options)
    assert_frame_equal(together, pl.concat(alone), abs_tol=1e-14)


def test_simplified_curves_have_a_vertical_average():
    table = pl.DataFrame(TABLE)
    some = curves(table, max_error=0.1)
    remaining = curves(table).join(some, on=["fold", "threshold"], how="semi")
    assert_frame_equal(rf.average(some, grid=5), rf.average(remaining, grid=5))
