"""Expressions of areas and KS against exact definitions, published values and other packages."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import ks_2samp
from sklearn import metrics

import rocframe as rf
from tests import oracles
from tests.areas.expr_tables import ANY, TIED, WEIGHTS, actual, expected, holed
from tests.strategies import examples

SCORE = pl.col("score").roc
few = examples(1 / 4)  # of each case
RANGES = [("fpr", 0, 0.1), ("fpr", 0.25, 0.75), ("fpr", 0, 1), ("tpr", 0.9, 1), ("tpr", 0.3, 0.5)]


def partial(rate, a, b):
    """Return the expression of a partial area and its definition."""
    return (
        lambda label, **weights: SCORE.auc(label, **{rate: (a, b)}, **weights),
        lambda cases: oracles.partial_areas(cases, rate, a, b).auc,
    )


def error(cases):
    variance = oracles.delong_variance(cases)
    return math.sqrt(variance) if variance else None


def ks(cases):
    return max(y - x for x, y in oracles.axes(oracles.curve(cases)))


# The expression, its definition for groups with both classes, and the error of rounding. Areas of
# rows without weights are exact.
STATISTICS = {
    "auc": (SCORE.auc, lambda cases: oracles.areas(cases).auc, 0),
    "gini": (SCORE.gini, lambda cases: 2 * float(oracles.areas(cases).auc) - 1, 0),
    "ks": (SCORE.ks, ks, 0),
    # The root of a variance that is the small sum of squared differences of rounded placements.
    "auc_se": (SCORE.auc_se, error, 1e-9),
    **{f"{rate} {a}-{b}": (*partial(rate, a, b), 1e-12) for rate, a, b in RANGES},
}
# These need positives only. The definition of `pr_auc` integrates numerically.
OF_POSITIVES = {
    "average_precision": (SCORE.average_precision, oracles.average_precision, 1e-12),
    "pr_auc": (SCORE.pr_auc, oracles.pr_auc, 1e-9),
}


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("name", [*STATISTICS, *OF_POSITIVES])
@few
@given(data=st.data(), engine=st.sampled_from(["in-memory", "streaming"]))
def test_each_group_has_the_value_of_the_definition(name, weights, data, engine):
    table = data.draw(holed(scores=ANY if name == "pr_auc" else TIED | ANY))
    expression, definition, tolerance = {**STATISTICS, **OF_POSITIVES}[name]

    def oracle(cases):
        pos, neg = oracles.sides(cases)
        if name in OF_POSITIVES:
            return definition(oracles.curve(cases)) if pos else None
        return definition(cases) if pos and neg else None

    tolerance = max(tolerance, 1e-12) if "weight" in weights else tolerance
    found = actual(table, expression("label", **weights), engine=engine)
    wanted = expected(table, weights, oracle)
    assert_frame_equal(found, wanted, rel_tol=0, abs_tol=tolerance)


@pytest.mark.parametrize(("rate", "a", "b"), [part for part in RANGES if part[1:] != (0, 1)])
@few
@given(table=holed())
def test_standardized_areas_equal_the_results_of_auc(rate, a, b, table):
    options = {rate: (a, b), "standardize": "mcclish"}
    found = actual(table, SCORE.auc("label", **options))
    verb = rf.auc(
        table, "label", "score", by="group", ci=None, missing="drop", count=None, **options
    )
    wanted = verb.select("group", score="partial_auc")
    assert_frame_equal(found, wanted, rel_tol=0, abs_tol=1e-12)


@given(
    pairs=st.lists(st.tuples(st.booleans(), st.integers(2**62, 2**62 + 3)), min_size=1, max_size=9)
)
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int128])
def test_integers_that_are_equal_as_float64_are_distinguished(dtype, pairs):
    table = pl.DataFrame(pairs, schema={"label": pl.Boolean, "score": dtype}, orient="row")
    pos = [score for label, score in pairs if label]
    neg = [score for label, score in pairs if not label]
    twice = sum((x > y) + (x >= y) for x in pos for y in neg)
    wanted = float(Fraction(twice, 2 * len(pos) * len(neg))) if pos and neg else None
    assert table.select(SCORE.auc("label")).item() == wanted


@pytest.mark.parametrize(
    "dtype",
    [pl.Boolean, pl.UInt8, pl.Int8, pl.UInt64, pl.Float16, pl.Float32, pl.Decimal(10, 2)],
    ids=str,
)
def test_scores_of_any_dtype_are_ranked_without_conversion(dtype):
    scores = pl.Series([0, 1, 0, 1, None]).cast(dtype)
    table = pl.DataFrame({"label": [0, 0, 1, 1, 1], "score": scores})
    found = table.select(
        plain=SCORE.auc("label"),
        counted=SCORE.auc("label", count=pl.lit(2, pl.UInt8)),
        weighted=SCORE.auc("label", weight=pl.lit(2)),
        rate=SCORE.tpr("label").max(),
    )
    wanted = pl.DataFrame({"plain": [0.5], "counted": [0.5], "weighted": [0.5], "rate": [1.0]})
    assert_frame_equal(found, wanted, check_exact=True)


def test_products_of_counts_beyond_int64_are_exact():
    counts = [2**60, 2**59, 2**59, 2**60]
    table = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.6], "count": counts})
    pairs = (2**60 + 2**59) ** 2
    # Two roundings of whole numbers, then one of their quotient.
    found = table.select(SCORE.auc("label", count="count")).item()
    assert found == pytest.approx((pairs - 2**59 * 2**59) / pairs, rel=4e-16, abs=0)


def test_the_area_needs_two_classes():
    table = pl.DataFrame({"label": [True, True], "score": [0.1, 0.2]})
    empty = pl.DataFrame({"score": [None]}, schema={"score": pl.Float64})
    for expression in (SCORE.auc("label"), SCORE.auc("label", weight=pl.lit(0.5))):
        assert_frame_equal(table.select(expression), empty)
        assert_frame_equal(table.select(expression.over("label")), pl.concat([empty, empty]))
        assert_frame_equal(table.clear().select(expression), empty)


FAWCETT = [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0]
DYAKONOV = [0, 0, 0, 1, 1, 1, 0], [0.5, 0.1, 0.2, 0.6, 0.2, 0.3, 0.0]
FIGURE_4 = [0.99999, 0.99999, 0.99993, 0.99986, 0.99964, 0.99955, 0.68139, 0.50961, 0.4888, 0.44951]
# Each with its source. Areas and KS are those printed there; average precisions are recomputed as
# fractions. KS in figure 3 is that of the point (0.1, 0.5).
PUBLISHED = [
    ("Fawcett 2006, figure 3", FAWCETT, range(20, 0, -1), SCORE.auc, Fraction(68, 100)),
    ("Fawcett 2006, figure 3", FAWCETT, range(20, 0, -1), SCORE.ks, Fraction(4, 10)),
    (
        *("Fawcett 2006, figure 3", FAWCETT, range(20, 0, -1)),
        *(SCORE.average_precision, Fraction(6796689, 9237800)),
    ),
    ("Fawcett 2006, figure 4", [1] * 6 + [0] * 4, FIGURE_4, SCORE.auc, Fraction(1)),
    ("Dyakonov 2017, seven rows", *DYAKONOV, SCORE.auc, Fraction(19, 24)),
    ("Dyakonov 2017, seven rows", *DYAKONOV, SCORE.average_precision, Fraction(34, 45)),
    (
        *("Muschelli 2019, binary score", [0] * 35 + [1] * 17 + [0] + [1] * 31),
        *([0] * 52 + [1] * 32, SCORE.auc, Fraction(233, 288)),
    ),
]


@pytest.mark.parametrize(("source", "label", "score", "method", "value"), PUBLISHED)
def test_published_values_are_reproduced(source, label, score, method, value):
    found = pl.DataFrame({"label": label, "score": score}, strict=False).select(method("label"))
    rounding = 1e-15 if "precision" in method.__name__ else 0  # the last place of a sum
    assert found.item() == pytest.approx(float(value), rel=0, abs=rounding), source


@pytest.mark.parametrize(
    ("positives", "negatives", "pr_auc", "average_precision"),
    [
        (5, 5, 0.3068528194400547, 893 / 2520),
        (10, 90, 0.05175535907956341, 19642966051223 / 346206189128800),
    ],
)
def test_the_worst_order_has_the_smallest_areas(positives, negatives, pr_auc, average_precision):
    # Boyd, Santos Costa, Davis & Page (2012): 1 + (1 - p)/p·ln(1 - p), and the sum of i/(i + N)/P.
    rows = positives + negatives
    table = pl.DataFrame({"label": [1] * positives + [0] * negatives, "score": range(rows)})
    found = table.select(a=SCORE.pr_auc("label"), b=SCORE.average_precision("label"))
    # The integral of each step is a small difference of numbers near 1.
    assert found.row(0) == pytest.approx((pr_auc, average_precision), rel=0, abs=1e-14)


def test_hanley_and_mcneils_table_has_the_published_error():
    # 58 normal and 51 abnormal cases rated 1 to 5 (Hanley & McNeil 1982); .0307 is Stata's roctab.
    counts = [33, 6, 6, 11, 2, 3, 2, 2, 11, 33]
    table = pl.DataFrame({"label": [0] * 5 + [1] * 5, "score": [1, 2, 3, 4, 5] * 2, "n": counts})
    found = table.select(a=SCORE.auc("label", count="n"), b=SCORE.auc_se("label", count="n"))
    # As many digits as are written.
    assert found.row(0) == pytest.approx((0.893171061528059, 0.030724408379381), abs=1e-14)


@pytest.mark.parametrize("ties", [3, 50, 100_000])
def test_results_equal_those_of_scikit_learn(ties):
    rng = np.random.default_rng(ties)
    table = pl.DataFrame(
        {
            "label": rng.random(1000) < 0.3,
            "score": rng.integers(0, ties, 1000) / ties,
            "weight": rng.random(1000),
        }
    )
    label, score, weight = table
    for method, function in (
        (SCORE.auc, metrics.roc_auc_score),
        (SCORE.average_precision, metrics.average_precision_score),
    ):
        found = table.select(a=method("label"), b=method("label", weight="weight")).row(0)
        wanted = function(label, score), function(label, score, sample_weight=weight)
        assert found == pytest.approx(wanted, rel=0, abs=1e-12)
    # McClish's scale is what scikit-learn has for max_fpr.
    part = table.select(SCORE.auc("label", fpr=(0, 0.2), standardize="mcclish")).item()
    assert part == pytest.approx(metrics.roc_auc_score(label, score, max_fpr=0.2), abs=1e-12)


def test_ks_equals_scipys_if_positives_score_higher():
    pos, neg = [0.9, 0.8, 0.4, 0.4, 0.3], [0.7, 0.4, 0.3, 0.2, 0.2, 0.1]
    table = pl.DataFrame({"label": [1] * 5 + [0] * 6, "score": pos + neg})
    wanted = ks_2samp(neg, pos, alternative="greater", method="exact").statistic
    # Both are differences of rounded rates.
    assert table.select(SCORE.ks("label")).item() == pytest.approx(wanted, rel=0, abs=1e-15)


@pytest.mark.parametrize(
    "scores",
    [[1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1]],
    ids=["apart", "apart, upside down", "all equal"],
)
def test_a_variance_of_0_is_null_despite_rounding(scores):
    weights = pl.Series([0.1, 0.2, 0.3, 0.7])
    table = pl.DataFrame({"label": [0, 0, 1, 1], "score": scores, "weight": weights})
    found = table.select(a=SCORE.auc_se("label"), b=SCORE.auc_se("label", weight="weight"))
    assert found.row(0) == (None, None)


def test_weights_of_any_magnitude_have_the_results_of_moderate_weights():
    magnitudes = [5e-324, 3e-320, 2e-310, 1e-300, 1e-160, 1.0, 1e140]
    rows = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, 1, 0, 1],
            "score": [4, 4, 3, 2, 1, 1, 0],
            "weight": [1.0, 2.0, 3.0, 1.0, 2.0, 2.0, 1.0],
        }
    )
    by_class = pl.DataFrame({"pos": magnitudes}).join(
        pl.DataFrame({"neg": magnitudes}), how="cross"
    )
    table = by_class.join(rows, how="cross").with_columns(
        weight=pl.col("weight") * pl.when(pl.col("label") == 1).then("pos").otherwise("neg")
    )
    statistics = [
        SCORE.auc("label", weight="weight").alias("auc"),
        SCORE.auc("label", weight="weight", fpr=(0, 0.3)).alias("partial"),
        SCORE.auc_se("label", weight="weight").alias("se"),
        SCORE.ks("label", weight="weight").alias("ks"),
    ]
    found = table.group_by("pos", "neg", maintain_order=True).agg(*statistics)
    wanted = by_class.join(rows.select(*statistics), how="cross")
    assert_frame_equal(found, wanted, rel_tol=1e-14, abs_tol=0)
    # Precision depends on the ratio of the classes, so both have the same magnitude here.
    same = table.filter(pl.col("pos") == pl.col("neg")).group_by("pos", maintain_order=True)
    precision = SCORE.average_precision("label", weight="weight")
    values = same.agg(precision)["score"].to_list()
    assert values == pytest.approx([rows.select(precision).item()] * len(magnitudes), rel=1e-14)
