"""Very many groups: results equal those of polars alone, and no code runs per group."""

from __future__ import annotations

import cProfile
import gc
import pstats
import weakref
from math import inf

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

GROUPS = 100_000


def predictions(groups: int, most: int, ties: int) -> pl.DataFrame:
    rng = np.random.default_rng(groups)
    sizes = rng.integers(1, most + 1, groups)
    rows = int(sizes.sum())
    frame = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), sizes),
            "label": rng.random(rows) < 0.4,
            "score": rng.integers(0, ties, rows) / ties,
            "w": rng.integers(0, 5, rows) / 2,
        }
    )
    return frame.sample(fraction=1, shuffle=True, seed=1)


def curves_by_polars(rows: pl.DataFrame, mass: pl.Expr) -> pl.DataFrame:
    """Compute curves with group_by, sort and sums over groups only."""
    steps = (
        rows.group_by("g", "score")
        .agg(pos=mass.filter("label").sum(), neg=mass.filter(~pl.col("label")).sum())
        .rename({"score": "threshold"})
    )
    tops = rows.select("g").unique().with_columns(threshold=pl.lit(inf), pos=0, neg=0)
    walk = pl.concat(
        [steps, tops.select(pl.col(name).cast(dtype) for name, dtype in steps.schema.items())]
    ).sort("g", "threshold", descending=[False, True])
    tp, fp = pl.col("pos").cum_sum(), pl.col("neg").cum_sum()
    return walk.select(
        "g",
        "threshold",
        tp=tp.over("g"),
        fp=fp.over("g"),
        fn=pl.col("pos").sum().over("g") - tp.over("g"),
        tn=pl.col("neg").sum().over("g") - fp.over("g"),
    ).with_columns(
        fpr=pl.when(pl.col("fp") + pl.col("tn") > 0).then(
            pl.col("fp") / (pl.col("fp") + pl.col("tn"))
        ),
        tpr=pl.when(pl.col("tp") + pl.col("fn") > 0).then(
            pl.col("tp") / (pl.col("tp") + pl.col("fn"))
        ),
    )


def areas_by_polars(rows: pl.DataFrame) -> pl.DataFrame:
    """Compute Mann-Whitney's statistic from mid-ranks within each group."""
    rank = pl.col("score").rank("average").over("g")
    return (
        rows.with_columns(rank=rank)
        .group_by("g")
        .agg(
            n_pos=pl.col("label").sum().cast(pl.Int64),
            n_neg=(~pl.col("label")).sum().cast(pl.Int64),
            ranks=pl.col("rank").filter("label").sum(),
        )
        .sort("g")
        .with_columns(wins=pl.col("ranks") - pl.col("n_pos") * (pl.col("n_pos") + 1) / 2)
        .select(
            "g",
            "n_pos",
            "n_neg",
            auc=pl.when((pl.col("n_pos") > 0) & (pl.col("n_neg") > 0)).then(
                pl.col("wins") / (pl.col("n_pos") * pl.col("n_neg"))
            ),
        )
    )


SHAPES = {"many tiny": (GROUPS, 5, 4), "some larger": (10_000, 150, 40)}


@pytest.fixture(
    scope="module", params=["many tiny", pytest.param("some larger", marks=pytest.mark.slow)]
)
def rows(request) -> pl.DataFrame:
    return predictions(*SHAPES[request.param])


def test_the_curves_of_very_many_groups_are_those_of_polars(rows):
    actual = rf.curve(rows, "label", "score", by="g")
    expected = curves_by_polars(rows.with_columns(one=pl.lit(1, pl.Int64)), pl.col("one"))
    assert_frame_equal(actual, expected, rel_tol=1e-15)


def test_the_areas_of_very_many_groups_are_those_of_polars(rows):
    actual = rf.auc(rows, "label", "score", by="g").select("g", "n_pos", "n_neg", "auc")
    assert_frame_equal(actual, areas_by_polars(rows), rel_tol=1e-14)


@pytest.mark.slow
def test_areas_read_back_from_very_many_curves_are_the_same(rows):
    curves = rf.curve(rows, "label", "score", by="g")
    expected = areas_by_polars(rows).select("g", "auc")
    assert_frame_equal(rf.area(curves), expected, rel_tol=1e-14)
    assert_frame_equal(rf.area(curves.sample(fraction=1, shuffle=True, seed=2)), rf.area(curves))


def test_weighted_curves_of_very_many_groups_are_those_of_polars(rows):
    actual = rf.curve(rows, "label", "score", by="g", weight="w")
    # Rows of weight 0 are no rows, but their groups stay.
    some = rows.with_columns(score=pl.when(pl.col("w") > 0).then("score"))
    expected = curves_by_polars(some, pl.col("w")).filter(pl.col("threshold").is_not_null())
    assert_frame_equal(actual, expected, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.slow
def test_given_thresholds_of_very_many_groups_are_rows_of_their_curves(rows):
    given = [0.0, 0.25, 0.5, 2.0]
    actual = rf.curve(rows, "label", "score", by="g", thresholds=given)
    points = rf.curve(rows, "label", "score", by="g").roc.at(threshold=given[::-1])
    read = points.with_columns(threshold="at_value").drop("at", "at_value")
    # Below the lowest score no row reaches the value; all rows are predicted positive there.
    within = read.filter(pl.col("tp").is_not_null())
    found = actual.filter(pl.col("threshold").is_finite()).join(
        within.select("g", "threshold"), on=["g", "threshold"], how="semi", maintain_order="left"
    )
    assert_frame_equal(found.drop("error", "area_error"), within)


def test_simplified_curves_of_very_many_groups_are_those_of_simplify(rows):
    actual = rf.curve(rows, "label", "score", by="g", max_error=0.01)
    curves = rf.curve(rows, "label", "score", by="g")
    assert_frame_equal(actual, rf.simplify(curves, max_error=0.01), check_exact=True)


def test_simplified_curves_of_few_rows_keep_all_corners():
    tiny = predictions(5_000, 9, 20)
    up, right = (pl.col(name).diff().over("g") for name in ("tp", "fp"))
    next_up, next_right = (step.shift(-1).over("g") for step in (up, right))
    is_corner = (up * next_right != next_up * right).fill_null(True)
    corners = rf.curve(tiny, "label", "score", by="g").filter(is_corner)
    actual = rf.curve(tiny, "label", "score", by="g", max_error=0.01)
    assert actual["error"].max() < 1e-15
    remaining = corners.join(actual, on=["g", "threshold"], how="semi", nulls_equal=True)
    assert remaining.height == corners.height


OF_GROUPS = {
    "curve": lambda rows: rf.curve(rows, "label", "score", by="g"),
    "weighted curve": lambda rows: rf.curve(rows, "label", "score", by="g", weight="w"),
    "curve at thresholds": lambda rows: rf.curve(rows, "label", "score", by="g", thresholds=[0.5]),
    "simplified curve": lambda rows: rf.curve(rows, "label", "score", by="g", max_error=0.01),
    "auc": lambda rows: rf.auc(rows, "label", "score", by="g"),
    "partial auc": lambda rows: rf.auc(rows, "label", "score", by="g", fpr=(0, 0.5)),
    "auc of models": lambda rows: rf.auc(rows, "label", ["score", "w"], by="g", missing="drop"),
    "calibration": lambda rows: rf.calibration(rows, "label", "score", by="g"),
    "isotonic calibration": lambda rows: rf.calibration(
        rows, "label", "score", by="g", method="isotonic", weight="w"
    ),
    "calibration summary": lambda rows: rf.calibration_summary(rows, "label", "score", by="g"),
    "calibration summary, uniform bins": lambda rows: rf.calibration_summary(
        rows, "label", "score", by="g", method="uniform"
    ),
    "fit of calibration": lambda rows: rf.fit_calibration(rows, "label", "score", by="g"),
    "logistic fit of calibration": lambda rows: rf.fit_calibration(
        rows, "label", "score", by="g", method="logistic"
    ),
    "murphy curve": lambda rows: rf.curve(rows, "label", "score", by="g").roc.murphy_curve(grid=5),
    "curve from calibration": lambda rows: rf.calibration(
        rows, "label", "score", by="g"
    ).roc.curve_from_calibration(),
    "auc test": lambda rows: rf.auc_test(rows, "label", "score", by="g"),
    "auc test by ranks": lambda rows: rf.auc_test(
        rows, "label", "score", by="g", method="mann_whitney"
    ),
    "compare": lambda rows: rf.compare(rows, "label", ["score", "w"], by="g"),
    "auc covariance": lambda rows: rf.auc_covariance(rows, "label", ["score", "w"], by="g"),
    "at": lambda rows: rf.curve(rows, "label", "score", by="g").roc.at(fpr=[0.1, 0.5]),
    "area": lambda rows: rf.curve(rows, "label", "score", by="g").roc.area(),
    "relative superiority": lambda rows: rf.curve(
        rows, "label", ["score", "w"], by="g"
    ).roc.relative_superiority(across="model"),
    "transfer": lambda rows: rf.curve(rows, "label", "score", by="g").roc.transfer(over="g"),
    "multiclass auc without one class": lambda rows: rf.multiclass_auc(
        rows, pl.col("label").cast(pl.Int8), {0: "score", 1: "w", 2: "w"}, by="g", ci=None
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", OF_GROUPS.values(), ids=OF_GROUPS)
def test_python_is_not_called_group_by_group(verb):
    tiny = predictions(20_000, 5, 4)
    n_groups = tiny["g"].n_unique()
    verb(tiny.head(10))  # what is imported on first use is imported now
    profile = cProfile.Profile()
    profile.runcall(verb, tiny)
    assert pstats.Stats(profile).total_calls < n_groups


def test_temporary_frames_are_released_after_their_use():
    gone = []
    gc.disable()
    try:
        for seed in range(5):
            frame = predictions(100, 5, 4).sample(fraction=1, seed=seed)
            frame.roc.auc("label", "score", by="g")
            gone.append(weakref.ref(frame))
            del frame
        assert [reference() for reference in gone] == [None] * 5
    finally:
        gc.enable()
