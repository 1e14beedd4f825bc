"""`average(fixed=, metrics=)`: averages of metrics at fixed values of any metric."""

from __future__ import annotations

import statistics
from fractions import Fraction
from math import inf, sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.averages.test_average import LEFT_OUT, SAME, TABLE, TAIL, curves, fold_tables
from tests.strategies import examples

BETTER = {"fpr": "lower", "fnr": "lower", "alert_rate": None, "rnp": None, "tp": None}
AVERAGED = ["precision", "npv", "accuracy", "kappa"]
SPREAD = ("sd", "se", "lower", "upper")
GRID = [Fraction(i, 12) for i in range(13)]
FIXED = [name for name in oracles.METRICS if name not in {"lift", "skill"}]
fewer = examples(1 / 4)


def usable_folds(table: pl.DataFrame) -> list[list[oracles.Counts]]:
    members = oracles.fold_counts(table)
    assume(members)
    return members


def compare(found: pl.DataFrame, points: list[list[oracles.Counts | None]], members, names) -> None:
    """Compare a table with the points of each value on each curve."""
    there = [[point for point in row if point is not None] for row in points]
    assert found["n_curves"].to_list() == [len(row) for row in there]
    for name in names:
        every = [
            [
                oracles.value_at(name, rows, point)
                for rows, point in zip(members, row, strict=True)
                if point is not None
            ]
            for row in points
        ]
        known = [[value for value in row if value is not None] for row in every]
        means = [float(statistics.mean(row)) if row else None for row in known]
        assert found[name].to_list() == pytest.approx(means, abs=1e-9), name
        sds = [sqrt(statistics.variance(row)) if len(row) > 1 else None for row in known]
        assert found[f"{name}_sd"].to_list() == pytest.approx(sds, abs=1e-7), name
        fewer = [
            f"{name} ({len(subset)})" if len(subset) < len(row) else ""
            for subset, row in zip(known, every, strict=True)
        ]
        notes = found["note"].fill_null("").to_list()
        assert all(part in note for part, note in zip(fewer, notes, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("fixed", FIXED)
@fewer
@given(table=fold_tables())
def test_means_equal_those_from_exact_fractions(fixed, table):
    members = usable_folds(table)
    grid = [Fraction(i) for i in range(6)] if fixed == "tp" else GRID
    names = [name for name in AVERAGED if name != fixed]
    found = rf.average(curves(table), fixed=fixed, metrics=names, grid=[float(g) for g in grid])
    points = [[oracles.counts_between(rows, fixed, value) for rows in members] for value in grid]
    assert found[fixed].to_list() == [float(value) for value in grid]
    compare(found, points, members, names)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", FIXED)
@fewer
@given(table=fold_tables())
def test_nearest_rows_equal_those_from_exact_fractions(fixed, table):
    members = usable_folds(table)
    grid = [Fraction(2 * i + 1, 34) for i in range(17)]
    if fixed == "tp":
        grid = [Fraction(i, 2) for i in range(12)]
    names = [name for name in AVERAGED if name != fixed]
    found = rf.average(
        curves(table), fixed=fixed, metrics=names, nearest=True, grid=[float(g) for g in grid]
    )
    better = BETTER.get(fixed, "higher")
    points = [
        [oracles.nearest_counts(rows, fixed, value, better) for rows in members] for value in grid
    ]
    compare(found, points, members, names)


@pytest.mark.parametrize("fixed", ["accuracy", "precision", "youden", "f1"])
@fewer
@given(table=fold_tables())
def test_the_union_contains_all_values_of_all_curves(fixed, table):
    members = usable_folds(table)
    every = {oracles.metric(fixed, row) for rows in members for row in rows} - {None}
    grid = sorted(every)
    found = rf.average(curves(table), fixed=fixed, grid="union")
    assert found[fixed].to_list() == pytest.approx([float(value) for value in grid], abs=1e-11)
    points = [[oracles.counts_between(rows, fixed, value) for rows in members] for value in grid]
    compare(found, points, members, ["fpr", "tpr"])


def test_the_means_at_fixed_accuracy_by_hand(frame):
    # Fold 1 has the accuracies 1/3 2/3 2/3, fold 2 has 1/2 3/4 1/2 3/4 1/2; fold 3 is excluded.
    two_thirds, most = 2 / 3, 0.7
    averaged = rf.average(
        curves(frame(TABLE)),
        fixed="accuracy",
        metrics=["tpr", pl.col("fp").alias("false")],
        grid=[most, two_thirds, 0.4, 0.8],
        ci="t",
    )
    found = averaged.lazy().collect()
    rows = found.select("accuracy", "tpr", "false", "n_curves", "threshold_mean", "note").rows()
    # The accuracy 0.4 occurs only in fold 1, between its first two rows, at tp = 1/5. At 2/3, the
    # last row of fold 1 is used, and the point one third between the last two rows of fold 2.
    third = 1 + 1 / 3
    assert rows == [
        (0.4, pytest.approx(0.1), 0.0, 1, 0.9, f"one_curve; {LEFT_OUT}"),
        (two_thirds, 1.0, pytest.approx((1 + third) / 2), 2, pytest.approx(0.45), SAME),
        (most, 1.0, pytest.approx(1.2), 1, 0.5, f"one_curve; {LEFT_OUT}"),
        (0.8, None, None, 0, None, LEFT_OUT),
    ]
    assert found["false_sd"].to_list() == [None, pytest.approx((third - 1) / sqrt(2)), None, None]
    assert found.columns == ["accuracy", *mean_columns("tpr"), *mean_columns("false"), *TAIL]


def mean_columns(name: str) -> list[str]:
    return [name, *(f"{name}_{part}" for part in SPREAD)]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("vertical", {"fixed": "fpr"}),
        ("vertical", {"kind": "gain", "fixed": "alert_rate"}),
        ("horizontal", {"fixed": "tpr"}),
        ("horizontal", {"kind": "det", "fixed": "fnr"}),
        ("threshold", {"fixed": "threshold"}),
    ],
)
@pytest.mark.parametrize("grid", [7, "union"])
def test_a_fixed_axis_equals_the_method_of_that_axis(method, options, grid):
    many = curves(drawn(3))
    kind = options.get("kind")
    expected = many.roc.average(method=method, grid=grid, kind=kind)
    assert_frame_equal(many.roc.average(**options, grid=grid), expected)


@pytest.mark.parametrize("interval", ["corrected", "t", "normal", "binomial", "bootstrap", None])
@pytest.mark.parametrize(("kind", "x", "y"), [("roc", "fpr", "tpr"), ("gain", "alert_rate", "tpr")])
def test_metrics_have_the_same_limits_as_axes(interval, kind, x, y):
    many = curves(drawn(4))
    options = {"grid": 9, "ci": interval, "weights": "rows"}
    options |= {"seed": 1, "n_boot": 50} if interval == "bootstrap" else {}
    axes = many.roc.average(kind=kind, **options)
    assert_frame_equal(many.roc.average(fixed=x, metrics=y, **options), axes)
    among = many.roc.average(fixed=x, metrics=["accuracy", y], **options)
    assert_frame_equal(among.select(x, *mean_columns(y), *TAIL), axes)


def test_aliases_and_expressions_equal_the_named_metrics():
    many = curves(drawn(5))
    named = many.roc.average(fixed="precision", metrics=["recall", "specificity"], grid=9)
    own = many.roc.average(
        fixed=(pl.col("tp") / (pl.col("tp") + pl.col("fp"))).alias("mine"),
        metrics=[
            (pl.col("tp") / (pl.col("tp") + pl.col("fn"))).alias("a"),
            (1 - pl.col("fp") / (pl.col("fp") + pl.col("tn"))).alias("b"),
        ],
        grid=[i / 8 for i in range(9)],
    )
    plain = ["n_curves", "threshold_sd", "note"]
    assert_frame_equal(own.select(plain), named.select(plain))
    for ours, mine in (("precision", "mine"), ("recall", "a"), ("specificity", "b")):
        assert own[mine].to_list() == pytest.approx(named[ours].to_list(), abs=1e-9)
    ppv = many.roc.average(fixed="ppv", metrics=["tpr", "tnr"], grid=9)
    renamed = dict(zip(ppv.columns, named.columns, strict=True))
    assert_frame_equal(ppv.rename(renamed), named)


def test_grids_of_metrics_without_bounds_are_observed_values():
    many = curves(drawn(6))
    every = many.roc.average(fixed="lift", grid="union")
    subset = many.roc.average(fixed="lift", grid=5)
    points = np.rint(np.linspace(0, every.height - 1, 5)).astype(int).tolist()
    assert_frame_equal(subset, every[points])
    between = many.roc.average(fixed="youden", grid=5)
    assert between["youden"].to_list() == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_infinite_metrics_have_an_infinite_mean_and_no_limits():
    many = curves(drawn(7))
    for options in ({"ci": "t"}, {"ci": "bootstrap", "n_boot": 20, "seed": 1}):
        ends = many.roc.average(metrics="lr_pos", grid=[0, 0.5], **options)
        assert ends["lr_pos"].to_list()[0] == inf
        assert ends.select(mean_columns("lr_pos")[1:]).row(0) == (None,) * 4
        assert None not in ends.select(mean_columns("lr_pos")).row(1)


def test_the_note_has_metrics_that_are_undefined_for_some_curves():
    table = pl.DataFrame(
        {"fold": [1, 1, 2, 2, 2], "label": [1, 0, 1, 0, 0], "score": [0.9, 0.1, 0.9, 0.1, 0.5]}
    )
    # At the threshold 0.1, no row is predicted negative, so both metrics are undefined.
    found = rf.average(curves(table), fixed="threshold", metrics=["npv", "lr_neg"], grid=[0.3, 0.1])
    assert found.select("npv", "lr_neg", "n_curves", "note").rows() == [
        (1.0, 0.0, 2, "zero_variance"),
        (None, None, 2, "fewer:npv (0), lr_neg (0)"),
    ]
    # No row of fold 2 is predicted positive at 0.8, so its precision is undefined.
    some = rf.average(
        curves(table.with_columns(score=pl.col("score") - (pl.col("fold") == 2) * 0.5)),
        fixed="threshold",
        metrics=(pl.col("tp") / (pl.col("tp") + pl.col("fp"))).alias("own"),
        grid=[0.8],
    )
    assert some.select("own", "n_curves", "note").rows() == [(1.0, 2, "fewer:own (1)")]


def test_the_nearest_threshold_is_selected_for_each_curve():
    table = pl.DataFrame(TABLE)
    found = rf.average(
        curves(table), fixed="threshold", metrics="tp", nearest=True, grid=[5, 0.7, 0.3, -inf, inf]
    )
    # Fold 1 has the scores 0.9 and 0.4, fold 2 has 0.8, 0.6, 0.5 and 0.1. The scores 0.8 and 0.6
    # are equally near to 0.7, and 0.5 and 0.1 to 0.3: the higher score is used.
    assert found.select("threshold", "tp", "threshold_mean").rows() == [
        (inf, 0.0, inf),
        (5.0, 1.0, pytest.approx(0.85)),
        (0.7, 1.0, pytest.approx(0.85)),
        (0.3, 2.0, pytest.approx(0.45)),
        (-inf, 2.0, pytest.approx(0.25)),
    ]


def test_net_benefit_is_averaged_at_fixed_thresholds():
    rng = np.random.default_rng(9)
    table = drawn(9).with_columns(score=pl.Series(rng.random(300)))
    found = rf.average(curves(table), fixed="threshold", metrics="net_benefit", grid=[0.5, 0.2])
    for at, mean in found.select("threshold", "net_benefit").rows():
        each = []
        for part in table.partition_by("fold"):
            called = part.filter(pl.col("score") >= at)["label"]
            odds = at / (1 - at)
            each.append((called.sum() - (~called).sum() * odds) / part.height)
        assert mean == pytest.approx(np.mean(each), abs=1e-12)


def test_costs_beta_and_prevalence_give_the_metrics_of_curve():
    many = curves(drawn(10))
    settings_ = {"beta": 2, "costs": {"fp": 1, "fn": 5}, "prevalence": 0.05}
    names = ["f_beta", "expected_cost", "precision"]
    found = many.roc.average(fixed="threshold", metrics=names, grid="union", **settings_)
    at = found["threshold"][20]
    table = drawn(10)
    each = [
        rf.curve(part, "label", "score", metrics=names, **settings_).roc.at(threshold=at)
        for part in table.partition_by("fold")
    ]
    means = pl.concat(each).select(names).mean()
    assert_frame_equal(found[20].select(names), means)
    # The fixed precision is also computed at this prevalence.
    precise = many.roc.average(fixed="precision", metrics="tpr", grid=[0.2], prevalence=0.05)
    scaled = (pl.col("tp") * 0.05 / (pl.col("tp") + pl.col("fn"))).alias("p")
    share = scaled / (scaled + 0.95 * pl.col("fp") / (pl.col("fp") + pl.col("tn")))
    own = many.roc.average(fixed=share.alias("precision"), metrics="tpr", grid=[0.2])
    assert precise["tpr"].to_list() == pytest.approx(own["tpr"].to_list(), abs=1e-9)
    assert precise["n_curves"].to_list() == [4]


def test_equal_weights_of_rows_do_not_change_the_result():
    table = drawn(11)
    plain = curves(table)
    heavy = rf.curve(table.with_columns(w=0.3), "label", "score", by="fold", weight="w")
    for fixed in ("accuracy", "precision", "kappa"):
        options = {"fixed": fixed, "metrics": ["fpr", "tpr"], "grid": 9}
        assert_frame_equal(heavy.roc.average(**options), plain.roc.average(**options))


def test_blocks_of_a_large_group_do_not_change_the_result(monkeypatch):
    many = rf.curve(
        drawn(12).with_columns(model=pl.col("fold") % 2), "label", "score", by=["model", "fold"]
    )
    calls = [
        {"fixed": "accuracy", "metrics": ["precision", "npv"], "grid": 11},
        {"fixed": "accuracy", "metrics": ["precision", "npv"], "grid": "union"},
        {"fixed": "accuracy", "grid": 5, "nearest": True},
        {"fixed": "threshold", "metrics": "f1", "grid": 7},
    ]
    expected_results = [many.roc.average(**options) for options in calls]
    monkeypatch.setattr("rocframe.averages.means.MAX_CELLS", 4)
    for options, expected in zip(calls, expected_results, strict=True):
        assert_frame_equal(many.roc.average(**options), expected)


def test_a_group_without_curves_of_both_classes_has_one_row_with_a_note():
    table = pl.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "fold": [1, 1, 1, 2],
            "label": [True, False, True, True],
            "score": [0.9, 0.1, 0.5, 0.4],
        }
    )
    many = rf.curve(table, "label", "score", by=["model", "fold"])
    for grid in ("union", [0.5]):
        found = many.roc.average(fixed="accuracy", metrics="f1", grid=grid).filter(model="b")
        at = None if grid == "union" else 0.5
        assert found.select("accuracy", "f1", "n_curves", "note").rows() == [
            (at, None, 0, "left_out:2 (1, 2)")
        ]


@pytest.mark.parametrize(("rate", "other"), [("fpr", "tpr"), ("tpr", "fpr")])
def test_an_axis_that_is_fixed_as_an_expression_is_not_averaged_as_well(rate, other):
    table, fixed = curves(pl.DataFrame(TABLE)), pl.col(rate)
    found = table.roc.average(fixed=fixed, grid=[0.25, 0.5])
    expected = table.roc.average(fixed=fixed.alias("own"), metrics=other, grid=[0.25, 0.5])
    assert_frame_equal(found, expected.rename({"own": rate}), check_exact=True)


def test_averaged_metrics_can_be_stored(tmp_path):
    many = rf.curve(
        drawn(13).with_columns(model=pl.lit("a")), "label", "score", by=["model", "fold"]
    )
    averaged = many.roc.average(fixed="accuracy", metrics=["precision", "tpr"], grid=5)
    rf.write(averaged, tmp_path / "mean.parquet")
    about = rf.about(tmp_path / "mean.parquet")
    assert (about["table"], about["kind"], about["by"]) == ("average", None, ["model"])
    # The mean of y at fixed values of x is an averaged curve, also with fixed= and metrics=.
    axes = many.roc.average(fixed="fpr", metrics="tpr")
    assert_frame_equal(axes.roc.area(), many.roc.average().roc.area())


def drawn(seed: int) -> pl.DataFrame:
    """Return four folds of 300 rows with ties."""
    rng = np.random.default_rng(seed)
    label = rng.random(300) < 0.4
    return pl.DataFrame(
        {
            "fold": rng.integers(0, 4, 300),
            "label": label,
            "score": (rng.normal(size=300) + label).round(1),
        }
    )


def test_the_tpr_is_0_at_lower_fprs_than_those_of_a_curve():
    table = pl.DataFrame({"fold": 1, "label": [1, 1, 1, 0, 0], "score": [0.9, 0.6, 0.3, 0.5, None]})
    # The unscored negative is predicted positive at every threshold: the curve begins at FPR 1/2.
    worst = curves(table, missing="worst")
    grid = [0, 0.25, 0.5, 0.75, 1]
    mean = rf.average(worst, grid=grid)
    assert mean["tpr"].to_list() == [0, 0, 2 / 3, pytest.approx(2 / 3), 1]
    also = rf.average(worst, fixed="fpr", metrics=["tpr", "tp"], grid=grid)
    assert also["tpr"].to_list() == mean["tpr"].to_list()
    assert also["tp"].to_list() == [0, 0, 2, 2, 3]
    assert also["threshold_mean"].to_list() == mean["threshold_mean"].to_list()
    alerted = rf.average(worst, fixed="alert_rate", metrics="tp", grid=[0, 0.1, 0.2, 0.4])
    assert alerted["tp"].to_list() == [0, 0, 0, pytest.approx(1)]


@pytest.mark.parametrize("options", [{"fixed": "threshold"}, {"method": "threshold"}])
def test_metrics_of_curves_at_given_thresholds_are_undefined_at_others(options):
    some = curves(pl.DataFrame(TABLE), thresholds=[0.6, 0.4])
    grid = [0.7, 0.6, 0.5, 0.4, 0.3]
    found = rf.average(some, metrics=["tp", "fpr"], grid=grid, ci=None, **options)
    axes = rf.average(some, method="threshold", grid=grid, ci=None)
    # The curve of fold 1 ends at its lowest score, so its missing rows are not detected. The curve
    # of fold 2 lacks the points of its lowest scores.
    assert found["n_curves"].to_list() == axes["n_curves"].to_list() == [1, 2, 1, 2, 1]
    assert found["fpr"].to_list() == axes["fpr"].to_list() == [0, 0.25, 0, 0.75, 1]


@pytest.mark.parametrize("grid", ["union", 7, [0.5, 0.0, -inf]])
def test_metrics_of_many_groups_at_thresholds_equal_the_axes(grid):
    sizes = [30, 300, 3, 120, 40]
    parts = [drawn(i).head(n).with_columns(model=pl.lit(i)) for i, n in enumerate(sizes)]
    many = rf.curve(pl.concat(parts), "label", "score", by=["model", "fold"])
    axes = rf.average(many, method="threshold", grid=grid)
    found = rf.average(many, fixed="threshold", metrics=["fpr", "tpr"], grid=grid)
    assert found["threshold"].to_list() == axes["threshold_mean"].to_list()
    axes = axes.drop("threshold_mean", "threshold_sd")
    assert_frame_equal(found.select(axes.columns), axes, abs_tol=1e-15)


def test_without_a_key_each_curve_has_its_own_values():
    table = curves(pl.DataFrame(TABLE))
    options = {"fixed": "accuracy", "metrics": ["precision", "recall"], "grid": [0.5, 0.75]}
    alone = table.roc.average(over=None, **options)
    constant = table.select(pl.lit("all").alias("key"), pl.all())
    pooled = constant.roc.average(over="key", ci=None, **options)
    assert_frame_equal(alone.drop("note"), pooled.drop("note"))
    assert alone["precision_lower"].null_count() == alone.height
    assert table.roc.average(over=None, grid="union").roc.area()["auc_of_mean"].to_list() == (
        pytest.approx(table.roc.area()["auc"].to_list())
    )
    one = table.filter(pl.col("fold") == table["fold"][0]).drop("fold")
    assert one.lazy().roc.average(over=None, **options).collect().height == 2
