"""`fold_auc` and `pooling_gap`: areas of folds, and of all rows together."""

from __future__ import annotations

import statistics
from fractions import Fraction
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests import oracles
from tests.averages.test_average import fold_tables
from tests.strategies import examples, shuffled

TABLE = {
    "fold": [1, 1, 1, 1, 2, 2, 2, 2, 3],
    "label": [1, 0, 1, 0, 1, 0, 1, 0, 1],
    "score": [0.9, 0.4, 0.4, 0.1, 0.3, 0.2, 0.1, 0.2, 0.0],
}


def pairs(first: list[oracles.Case], second: list[oracles.Case]) -> tuple[Fraction, int]:
    """Return how many positives of one fold have higher scores than negatives of another."""
    pos, neg = oracles.sides(first)[0], oracles.sides(second)[1]
    won = sum((oracles.beats(x, y) for x in pos for y in neg), Fraction(0))
    return won, len(pos) * len(neg)


def squares(every: list[oracles.Case]) -> tuple[Fraction, Fraction]:
    """Return the sums of squared differences of placements from the area, by class."""
    middle, values = oracles.areas(every).auc, oracles.placements(every)
    of_class = {True: Fraction(0), False: Fraction(0)}
    for case, value in zip(every, values, strict=True):
        of_class[case.positive] += (value - middle) ** 2
    return of_class[True], of_class[False]


def test_the_mean_of_areas_equals_the_calculation_by_hand(frame):
    areas = rf.fold_auc(frame(TABLE), "label", "score", ci="delong")
    # The placements are (1, 3/4) and (3/4, 1) in the first fold, (1, 0) and (1/2, 1/2) in the
    # second. DeLong's variances are 1/64 + 1/64 and 1/4; the variance of the mean is their sum / 4.
    se = sqrt((1 / 32 + 1 / 4) / 4)
    expected = frame(
        {
            "mean_auc": [0.6875],
            "lower": [0.6875 - 1.959963984540054 * se],
            "upper": [1.0],
            "sd": [0.375 / sqrt(2)],
            "se": [se],
            "auc_of_mean": [0.68875],
            "pooled_auc": [0.55],
            "n_curves": [2],
            "n_pos": [5],
            "n_neg": [4],
            "n_missing": [0],
            "ci_level": [0.95],
            "ci_method": ["delong"],
            "note": ["left_out:1 (3)"],
        }
    )
    assert_frame_equal(areas, expected, abs_tol=1e-14)


def test_the_influence_curve_equals_the_calculation_by_hand():
    areas = rf.fold_auc(pl.DataFrame(TABLE), "label", "score", ci="ledell")
    # Each class has half of the rows, so the squares 1/16 and 1/2 have the factor 2². Each fold has
    # four rows.
    variance = (4 * (1 / 16) / 4 + 4 * (1 / 2) / 4) / 2 / 8
    assert areas["se"].item() == pytest.approx(sqrt(variance), abs=1e-15)
    assert areas["ci_method"].item() == "ledell"


@pytest.mark.slow
@given(table=fold_tables())
def test_areas_and_variances_equal_those_from_exact_fractions(table):
    members = oracles.folds(table)
    assume(members)
    found = {
        ci: rf.fold_auc(table, "label", "score", ci=ci).row(0, named=True)
        for ci in ("delong", "ledell", None)
    }
    areas = [oracles.areas(every).auc for every in members]
    k = len(members)
    for row in found.values():
        assert row["n_curves"] == k
        assert row["mean_auc"] == pytest.approx(float(statistics.mean(areas)), abs=1e-14)
        assert row["pooled_auc"] == float(oracles.areas(oracles.cases(table)).auc)
        sd = sqrt(statistics.variance(areas)) if k > 1 else None
        assert row["sd"] == (None if sd is None else pytest.approx(sd, abs=1e-7))
    variances = [oracles.delong_variance(every) for every in members]
    delong = 0 if None in variances else sum(variances) / k**2
    both = [(*squares(every), *map(len, oracles.sides(every))) for every in members]
    pos, neg = (sum(sizes) for sizes in zip(*((m, n) for _, _, m, n in both), strict=True))
    whole = Fraction(pos + neg)
    ledell = sum(
        ((whole / pos) ** 2 * s + (whole / neg) ** 2 * t) / (m + n) for s, t, m, n in both
    ) / (k * whole)
    for ci, value in (("delong", delong), ("ledell", ledell)):
        expected = pytest.approx(sqrt(value), abs=1e-12) if value else None
        assert found[ci]["se"] == expected


def test_the_three_areas_equal_those_of_other_functions():
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], 600),
            "fold": rng.integers(0, 5, 600),
            "label": rng.random(600) < 0.4,
        }
    ).with_columns(score=pl.Series(rng.normal(size=600).round(1)) + pl.col("label"))
    areas = rf.fold_auc(table, "label", "score", by="model")
    curves = rf.curve(table, "label", "score", by=["model", "fold"])
    mean = curves.roc.average().roc.area()
    assert_frame_equal(areas.select("model", "auc_of_mean"), mean)
    pooled = curves.roc.average(method="pooled").group_by("model", maintain_order=True).first()
    for name in ("pooled_auc", "mean_auc"):
        assert_frame_equal(areas.select("model", name), pooled.select("model", name))
    every = rf.auc(table, "label", "score", by=["model", "fold"], ci="delong")
    expected = every.group_by("model", maintain_order=True).agg(
        mean_auc=pl.col("auc").mean(),
        sd=pl.col("auc").std(),
        se=(pl.col("se") ** 2).sum().sqrt() / pl.len(),
    )
    assert_frame_equal(areas.select("model", "mean_auc", "sd", "se"), expected)


def test_logit_limits_are_wald_limits_of_the_logit():
    areas = rf.fold_auc(pl.DataFrame(TABLE), "label", "score").row(0, named=True)
    middle = np.log(0.6875 / 0.3125)
    half = 1.959963984540054 * areas["se"] / (0.6875 * 0.3125)
    assert areas["lower"] == pytest.approx(1 / (1 + np.exp(half - middle)), abs=1e-12)
    assert areas["upper"] == pytest.approx(1 / (1 + np.exp(-half - middle)), abs=1e-12)


@examples(1 / 2)
@given(table=fold_tables())
def test_the_gap_is_the_sum_of_effects_within_and_between_folds(table):
    members = oracles.folds(table)
    assume(members)
    row = rf.pooling_gap(table, "label", "score").row(0, named=True)
    every = {name: oracles.cases(part) for (name,), part in table.group_by("fold")}
    crossed = {(i, j): pairs(a, b) for i, a in every.items() for j, b in every.items()}
    same = [both for (i, j), both in crossed.items() if i == j]
    other = [both for (i, j), both in crossed.items() if i != j]
    total = sum(n for _, n in crossed.values())
    within = sum(w for w, _ in same) / Fraction(sum(n for _, n in same))
    middle = statistics.mean(oracles.areas(every).auc for every in members)
    pooled = sum(w for w, _ in crossed.values()) / Fraction(total)
    assert row["within_auc"] == pytest.approx(float(within), abs=1e-14)
    assert row["gap"] == pytest.approx(float(pooled - middle), abs=1e-14)
    assert row["gap_between"] == pytest.approx(float(pooled - within), abs=1e-14)
    assert row["gap_within"] == pytest.approx(float(within - middle), abs=1e-14)
    crossing = sum(n for _, n in other)
    assert row["between_share"] == pytest.approx(crossing / total, abs=1e-14)
    if not crossing:
        assert row["between_auc"] is row["worst_auc"] is None
        return
    assert row["between_auc"] == pytest.approx(float(sum(w for w, _ in other) / Fraction(crossing)))
    moved = {key: (w - within * n) / total for key, (w, n) in crossed.items() if key[0] != key[1]}
    largest = max(map(abs, moved.values()))
    if largest:
        key = (int(row["worst_positives"]), int(row["worst_negatives"]))
        assert abs(moved[key]) == largest
        assert row["worst_gap"] == pytest.approx(float(moved[key]), abs=1e-14)
        assert row["worst_auc"] == pytest.approx(
            float(crossed[key][0] / crossed[key][1]), abs=1e-14
        )


WITHOUT_EFFECT = {
    "fold": [0, 0, 0, 0, 1, 0],
    "label": [1, 1, 0, 1, 1, 1],
    "score": [1, 1, 0, 1, 2, 2],
    "w": [0.7, 0.1, 0.1, 0.3, 0.1, 0.1],
}
OPPOSITE_EFFECTS = {
    "fold": [1, 2, 2, 2, 1, 1, 0, 0, 2, 1],
    "label": [0, 1, 0, 0, 1, 0, 1, 1, 0, 0],
    "score": [1, 1, 2, 2, 1, 0, 1, 1, 2, 0],
    "w": [0.1, 0.7, 0.3, 0.7, 0.7, 0.3, 0.1, 0.1, 0.1, 0.3],
}


@pytest.mark.parametrize(
    ("table", "worst"),
    [
        (WITHOUT_EFFECT, (None, None, None, None)),
        (OPPOSITE_EFFECTS, ("1", "2", 0.0, -0.455 / 1.26 * 0.77 / 2.88)),
    ],
    ids=["no effect", "opposite effects"],
)
def test_rounding_errors_of_weights_do_not_change_the_folds_with_the_largest_effect(table, worst):
    names = ["worst_positives", "worst_negatives", "worst_auc", "worst_gap"]
    for seed in range(5):
        rows = shuffled(pl.DataFrame(table), seed)
        row = rf.pooling_gap(rows, "label", "score", weight="w").select(names).row(0)
        assert row == pytest.approx(worst)


def test_predicted_base_rates_have_a_pooled_auc_below_one_half():
    # The score of each fold is the proportion of positives in the other folds.
    rng = np.random.default_rng(5)
    labels = rng.random(500) < 0.3
    fold = rng.integers(0, 10, 500)
    rate = {i: labels[fold != i].mean() for i in range(10)}
    table = pl.DataFrame({"fold": fold, "label": labels, "score": [rate[i] for i in fold]})
    gap = rf.pooling_gap(table, "label", "score").row(0, named=True)
    assert gap["mean_auc"] == gap["within_auc"] == 0.5
    assert gap["pooled_auc"] < 0.45
    assert gap["gap_between"] == gap["gap"]


def test_unscored_rows_count_as_errors_in_all_columns():
    table = pl.DataFrame({**TABLE, "score": [0.9, None, *TABLE["score"][2:]]})
    worst = rf.fold_auc(table, "label", "score", missing="worst").row(0, named=True)
    assert (worst["n_neg"], worst["n_missing"]) == (4, 1)
    assert worst["mean_auc"] == (0.5 + 0.5) / 2
    gap = rf.pooling_gap(table, "label", "score", missing="worst").row(0, named=True)
    assert gap["pooled_auc"] == worst["pooled_auc"]
    total = gap["between_share"] * gap["between_auc"]
    total += (1 - gap["between_share"]) * gap["within_auc"]
    assert total == pytest.approx(gap["pooled_auc"], abs=1e-14)
    dropped = rf.fold_auc(table, "label", "score", missing="drop").row(0, named=True)
    assert (dropped["n_neg"], dropped["n_missing"]) == (3, 1)


@pytest.mark.parametrize("verb", [rf.fold_auc, rf.pooling_gap])
def test_groups_without_rows_or_classes_have_notes(frame, verb):
    none = verb(frame(pl.DataFrame(TABLE).clear()), "label", "score").lazy().collect()
    assert none.select("n_pos", "n_curves", "mean_auc", "note").rows() == [(0, 0, None, "no_rows")]
    grouped = verb(
        frame(pl.DataFrame(TABLE).clear()).with_columns(g=pl.lit("a")), "label", "score", by="g"
    )
    assert grouped.lazy().collect().height == 0
    struct = pl.lit(None, pl.Struct({}))
    grouped = verb(
        frame(pl.DataFrame(TABLE).clear()).with_columns(g=struct), "label", "score", by="g"
    )
    assert grouped.lazy().collect().height == 0
    single = verb(frame({"fold": [1, 2], "label": [1, 1], "score": [1, 2]}), "label", "score")
    assert single.lazy().collect().select("n_curves", "mean_auc", "note").rows() == [
        (0, None, "no_negatives; left_out:2 (1, 2)")
    ]


def test_a_group_without_rows_has_a_confidence_level_if_there_is_an_interval():
    none = pl.DataFrame(TABLE).clear()
    areas = rf.fold_auc(none, "label", "score", level=0.9)
    assert areas.select("mean_auc", "ci_level", "ci_method").rows() == [(None, 0.9, None)]
    assert rf.fold_auc(none, "label", "score", ci=None)["ci_level"].to_list() == [None]


def test_the_metadata_of_tables_of_folds_has_their_type(tmp_path):
    for verb in (rf.fold_auc, rf.pooling_gap):
        rf.write(verb(pl.DataFrame(TABLE), "label", "score"), tmp_path / "table.parquet")
        assert rf.about(tmp_path / "table.parquet")["table"] == verb.__name__


def test_blocks_of_large_groups_do_not_change_the_result(monkeypatch):
    from rocframe.averages import fold_auc as gap

    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "fold": rng.integers(0, 6, 400),
            "label": rng.random(400) < 0.4,
            "score": rng.integers(0, 60, 400),
        }
    )
    expected = rf.pooling_gap(table, "label", "score")
    monkeypatch.setattr(gap, "BLOCK_ROWS", 7)
    assert_frame_equal(rf.pooling_gap(table, "label", "score"), expected, check_exact=True)


@pytest.mark.parametrize("scores", [3, 10**6], ids=["few scores", "distinct scores"])
def test_pairs_of_many_folds_are_counted_once_each(monkeypatch, scores):
    from rocframe.averages import fold_auc as gap

    monkeypatch.setattr(gap, "BLOCK_ROWS", 50)
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "fold": rng.integers(0, 12, 150),
            "label": rng.random(150) < 0.4,
            "score": rng.integers(0, scores, 150),
        }
    )
    every = [oracles.cases(part) for part in table.partition_by("fold")]
    won_pairs = {(i, j): pairs(a, b) for i, a in enumerate(every) for j, b in enumerate(every)}
    row = rf.pooling_gap(table, "label", "score").row(0, named=True)
    for name, same in (("within_auc", True), ("between_auc", False)):
        some = [both for (i, j), both in won_pairs.items() if (i == j) == same]
        expected = sum(w for w, _ in some) / Fraction(sum(n for _, n in some))
        assert row[name] == pytest.approx(float(expected), abs=1e-14)


def test_a_fold_with_one_positive_precedes_a_fold_with_one_negative_in_the_note():
    for first, second in (([1, 0, 0], [1, 1, 0]), ([1, 1, 0], [1, 0, 0])):
        predictions = pl.DataFrame(
            {"fold": [1, 1, 1, 2, 2, 2], "label": first + second, "score": [5, 1, 9, 2, 8, 4]}
        )
        found = rf.fold_auc(predictions, "label", "score", over="fold")
        assert found.get_column("note").to_list() == ["one_positive"]


@pytest.mark.parametrize("ci", ["logit_delong", "delong"])
def test_readers_that_give_the_same_scores_have_the_limits_of_one_reader(ci):
    rng = np.random.default_rng(0)
    case = pl.DataFrame({"case": range(40), "label": [True] * 15 + [False] * 25})
    case = case.with_columns(score=pl.col("label") + pl.Series(rng.normal(size=40).round(1)))
    readers = pl.concat([case.with_columns(reader=pl.lit(k)) for k in range(3)])
    mean = rf.fold_auc(readers, "label", "score", over="reader", id="case", ci=ci)
    one = rf.fold_auc(case.with_columns(reader=0), "label", "score", over="reader", ci=ci)
    columns = ["mean_auc", "lower", "upper", "se", "ci_method"]
    assert_frame_equal(mean.select(columns), one.select(columns))
    assert (mean["note"].item(), one["note"].item()) == (None, "one_curve")
    area = rf.auc(case, "label", "score", ci="delong")
    assert mean["se"].item() == pytest.approx(area["se"].item())


def test_folds_without_common_cases_have_the_same_limits_with_id_as_without():
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "group": np.repeat([0, 1], 60),
            "fold": np.tile(np.repeat([1, 2, 3], 20), 2),
            "label": rng.random(120) < 0.4,
            "weight": rng.integers(1, 4, 120) / 2,
        }
    ).with_columns(
        score=pl.col("label") + pl.Series(rng.normal(size=120)), case=np.arange(120) % 60
    )
    for weight in (None, "weight"):
        options = {"by": "group", "over": "fold", "weight": weight}
        expected = rf.fold_auc(table, "label", "score", **options)
        assert_frame_equal(rf.fold_auc(table, "label", "score", id="case", **options), expected)


def test_the_variance_of_one_fold_with_several_rows_of_a_case_is_that_of_clusters():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"fold": 1, "label": rng.random(60) < 0.5, "case": np.arange(60) // 3})
    table = table.with_columns(score=pl.col("label") + pl.Series(rng.normal(size=60)))
    mean = rf.fold_auc(table, "label", "score", id="case", ci="delong")
    area = rf.auc(table, "label", "score", cluster="case", ci="delong")
    assert mean["se"].item() == pytest.approx(area["se"].item())


@pytest.mark.parametrize(
    ("label", "note"), [(True, "one_positive_cluster"), (False, "one_negative_cluster")]
)
def test_a_class_of_a_single_case_has_the_note_of_clusters(label, note):
    table = pl.DataFrame(
        {
            "fold": [1] * 6 + [2] * 6,
            "label": [label, label, not label, not label, not label, not label] * 2,
            "score": [5, 2, 3, 1, 6, 4, 1, 3, 6, 2, 5, 4],
            "case": [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3],
        }
    )
    found = rf.fold_auc(table, "label", "score", id="case")
    assert found.select("lower", "upper", "se", "note").row(0) == (None, None, None, note)
    fold = table.filter(fold=1)
    assert rf.auc(fold, "label", "score", cluster="case", ci="delong")["note"].item() == note
    assert rf.fold_auc(table, "label", "score")["note"].item() is None


def test_the_variance_of_readers_is_that_of_delongs_covariance_matrix():
    rng = np.random.default_rng(3)
    label = np.arange(50) < 20
    scores = {f"r{k}": rng.normal(size=50) + label for k in range(4)}
    wide = pl.DataFrame({"case": range(50), "label": label, **scores})
    covariance = rf.auc_covariance(wide, "label", list(scores))
    long = wide.unpivot(list(scores), index=["case", "label"], variable_name="reader")
    mean = rf.fold_auc(long, "label", "value", over="reader", id="case")
    assert mean["se"].item() ** 2 == pytest.approx(covariance["covariance"].sum() / 16)
    alone = rf.fold_auc(long, "label", "value", over="reader")
    assert alone["se"].item() ** 2 == pytest.approx(
        covariance.filter(pl.col("model_a") == pl.col("model_b"))["covariance"].sum() / 16
    )


@pytest.mark.slow
def test_the_intervals_of_readers_of_the_same_cases_cover_95_percent():
    rng = np.random.default_rng(4)
    n, readers, cases = 2000, 5, 100
    label = np.tile(np.arange(cases) < 50, n)
    common = rng.normal(size=n * cases) + 1.19 * np.sqrt(2) * label
    tables = [
        pl.DataFrame(
            {
                "sample": np.repeat(np.arange(n), cases),
                "case": np.tile(np.arange(cases), n),
                "reader": k,
                "label": label,
                "score": common + rng.normal(size=n * cases),
            }
        )
        for k in range(readers)
    ]
    # The difference of two scores has the standard deviation 2.
    area = float(stats.norm.cdf(1.19 * np.sqrt(2) / 2))
    coverage = {}
    for case in (None, "case"):
        options = {"over": "reader", "by": "sample", "id": case}
        result = rf.fold_auc(pl.concat(tables), "label", "score", **options)
        coverage[case] = ((result["lower"] <= area) & (result["upper"] >= area)).mean()
    assert coverage[None] < 0.8
    assert 0.935 < coverage["case"] < 0.965
