"""Volumes over three classes: by hand, and from every triple of rows in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import exp, isclose, log, sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import shuffled

LMH = ["low", "mid", "high"]
ABC = ["a", "b", "c"]
Z95 = 1.959963984540054


def like(frame, table):
    return table.lazy() if frame is pl.LazyFrame else table


def in_order(x, y, z):
    """Return the credit of three scores: 1 if x < y < z, less for ties."""
    (x,), (y,), (z,) = x, y, z
    if x == y == z:
        return Fraction(1, 6)
    if x <= y <= z:
        return Fraction(1, 1 if x < y < z else 2)
    return Fraction(0)


def by_sum(*rows):
    """Return the credit of three rows with a score per class, by the largest sum."""
    exact = [[Fraction(score) for score in row] for row in rows]
    sums = [
        sum(row[k] for row, k in zip(exact, way, strict=True)) for way in permutations(range(3))
    ]
    right = sum(exact[k][k] for k in range(3))
    return Fraction(right == max(sums), sums.count(max(sums)))


def by_trying(classes, rule):
    """Compute volume and variance from every triple; classes are lists of rows."""
    if not all(classes):
        return None, None
    won = {}
    for indices in product(*(range(len(rows)) for rows in classes)):
        won[indices] = rule(*(rows[i] for rows, i in zip(classes, indices, strict=True)))
    volume = sum(won.values()) / len(won)
    if min(map(len, classes)) < 2:
        return volume, None
    variance = Fraction(0)
    for k, rows in enumerate(classes):
        triples = len(won) // len(rows)
        shares = [
            sum(value for indices, value in won.items() if indices[k] == i) / triples
            for i in range(len(rows))
        ]
        squares = sum((share - volume) ** 2 for share in shares)
        variance += squares / (len(rows) - 1) / len(rows)
    return volume, variance


def logit_limits(volume, se):
    middle, half = log(volume / (1 - volume)), Z95 * se / (volume * (1 - volume))
    return [1 / (1 + exp(-(middle + side * half))) for side in (-1, 1)]


def check(found, volume, variance):
    """Compare a row of the table with the result from every triple."""
    assert found["volume"] == (None if volume is None else float(volume))
    if not variance:
        assert found["se"] is found["lower"] is found["upper"] is found["ci_method"] is None
        return
    se = sqrt(variance)
    assert isclose(found["se"], se, rel_tol=1e-12)
    assert [found["lower"], found["upper"]] == pytest.approx(logit_limits(volume, se), rel=1e-12)


STAGES = pl.DataFrame(
    {
        "g": ["x"] * 7 + ["y"] * 3 + ["z"] * 2,
        "stage": ["low", "low", "mid", "mid", "high", "high", "high", *LMH, "low", "low"],
        "score": [1, 2, 2, 3, 2, 3, 4, 5, 5, 5, 1, 2],
    }
)


def test_an_ordered_volume_by_hand(frame):
    # The terms are six times the shares of triples with high 2, 3 and 4. Low 1: 3 + 6 + 6 with
    # mid 2, 0 + 3 + 6 with mid 3. Low 2: 1 + 3 + 3 with mid 2, 0 + 3 + 6 with mid 3.
    volume = Fraction(15 + 9 + 7 + 9, 6 * 2 * 2 * 3)
    low = [Fraction(24, 36), Fraction(16, 36)]
    mid = [Fraction(22, 36), Fraction(18, 36)]
    high = [Fraction(4, 24), Fraction(15, 24), Fraction(21, 24)]
    variance = sum(
        sum((share - volume) ** 2 for share in shares) / (len(shares) - 1) / len(shares)
        for shares in (low, mid, high)
    )
    se = sqrt(variance)
    lower, upper = logit_limits(volume, se)
    expected = pl.DataFrame(
        {
            "g": ["x", "y", "z"],
            "volume": [float(volume), 1 / 6, None],
            "lower": [lower, None, None],
            "upper": [upper, None, None],
            "se": [se, None, None],
            "rule": ["order"] * 3,
            "n_first": [2, 1, 2],
            "n_second": [2, 1, 0],
            "n_third": [3, 1, 0],
            "n_missing": [0, 0, 0],
            "ci_level": [0.95] * 3,
            "ci_method": ["logit", None, None],
            "note": [None, "single_row", "absent_class"],
        }
    )
    actual = rf.volume(like(frame, STAGES), "stage", "score", classes=LMH, by="g")
    assert_frame_equal(actual, like(frame, expected))


score = st.sampled_from([-1.5, 0.0, 0.25, 0.5, 2.0])
ordered_rows = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(LMH), score), max_size=9)


@pytest.mark.slow
@given(ordered_rows, ordered_rows)
def test_ordered_volumes_equal_those_from_counting_every_triple(one, other):
    schema = {"n": pl.Int64, "stage": pl.String, "score": pl.Float64}
    parts = [pl.DataFrame(rows, schema, orient="row") for rows in (one, other)]
    table = pl.concat(part.with_columns(g=pl.lit(i)) for i, part in enumerate(parts))
    options = {"classes": LMH, "by": "g"}
    found = rf.volume(table, "stage", "score", count="n", **options)
    for row in found.iter_rows(named=True):
        rows = (one, other)[row["g"]]
        classes = [[(s,) for n, c, s in rows if c == name for _ in range(n)] for name in LMH]
        check(row, *by_trying(classes, in_order))
    repeated = table.select(pl.exclude("n").repeat_by("n").explode()) if table.height else table
    assert_frame_equal(
        rf.volume(repeated, "stage", "score", count=None, **options), found, check_exact=True
    )
    assert_frame_equal(
        rf.volume(shuffled(table, 1), "stage", "score", count="n", **options),
        found,
        check_exact=True,
    )
    turned = rf.volume(
        table, "stage", -pl.col("score"), classes=LMH[::-1], by="g", count="n", ci=None
    )
    assert turned["volume"].to_list() == found["volume"].to_list()


wide_rows = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from(ABC), score, score, score), max_size=8
)


@pytest.mark.slow
@given(wide_rows, wide_rows)
def test_volumes_of_sums_equal_those_from_counting_every_triple(one, other):
    schema = {"n": pl.Int64, "truth": pl.String, **dict.fromkeys(ABC, pl.Float64)}
    parts = [pl.DataFrame(rows, schema, orient="row") for rows in (one, other)]
    table = pl.concat(part.with_columns(g=pl.lit(i)) for i, part in enumerate(parts))
    found = rf.volume(table, "truth", ABC, by="g", count="n")
    for row in found.iter_rows(named=True):
        rows = (one, other)[row["g"]]
        classes = [[r[2:] for r in rows if r[1] == name for _ in range(r[0])] for name in ABC]
        check(row, *by_trying(classes, by_sum))
    mixed = rf.volume(shuffled(table, 1), "truth", ABC, by="g", count="n")
    assert_frame_equal(mixed, found, check_exact=True)
    for order in permutations(ABC):
        other = rf.volume(table, "truth", list(order), by="g", count="n", ci=None)
        assert other["volume"].to_list() == found["volume"].to_list()
        sizes = dict(zip(order, ("n_first", "n_second", "n_third"), strict=True))
        assert other[sizes["a"]].to_list() == found["n_first"].to_list()


def test_volumes_of_sums_are_right_for_every_order_of_class_sizes():
    rng = np.random.default_rng(3)
    for sizes in ((2, 9, 5), (9, 2, 5), (5, 9, 2), (13, 3, 3)):
        truth = np.repeat(ABC, sizes)
        # Quarters add up exactly, and tie often.
        scores = rng.integers(0, 6, (len(truth), 3)) / 4
        table = pl.DataFrame(scores, schema=ABC).with_columns(truth=truth)
        classes = [[tuple(row) for row in scores[truth == name]] for name in ABC]
        (row,) = rf.volume(table, "truth", ABC).to_dicts()
        check(row, *by_trying(classes, by_sum))


def test_random_scores_have_a_volume_of_one_sixth():
    same = pl.DataFrame({"truth": ABC * 4, "s": [1.0] * 12})
    ordered = rf.volume(same, "truth", "s", classes=ABC)
    sums = rf.volume(same, "truth", dict.fromkeys(ABC, "s"))
    for found in (ordered, sums):
        assert found.select("volume", "se", "note").rows() == [(1 / 6, None, "zero_variance")]


def test_the_largest_sum_of_logarithms_is_the_largest_product():
    digits = rf.datasets.digits().filter(pl.col("label").is_in([3, 5, 8]))
    digits = digits.filter(pl.col("model") == "naive_bayes").head(40)
    p = digits.select(pl.col(f"p{i}").clip(1e-6, 1).cast(pl.Float64) for i in (3, 5, 8)).rows()
    label = digits["label"].to_list()
    classes = [[p[i] for i, one in enumerate(label) if one == name] for name in (3, 5, 8)]

    def by_product(*rows):
        products = {
            way: Fraction(rows[0][way[0]]) * Fraction(rows[1][way[1]]) * Fraction(rows[2][way[2]])
            for way in permutations(range(3))
        }
        best = max(products.values())
        ways = [way for way, one in products.items() if one == best]
        return Fraction((0, 1, 2) in ways, len(ways))

    volume, _ = by_trying(classes, by_product)
    logs = {i: pl.col(f"p{i}").cast(pl.Float64).clip(1e-6, 1).log() for i in (3, 5, 8)}
    found = rf.volume(digits, "label", logs)
    assert found["volume"].item() == pytest.approx(float(volume), abs=1e-15)


def test_sums_that_differ_by_rounding_are_equal():
    # 0.1 + 0.7 and 0.2 + 0.6 differ in their last digit.
    table = pl.DataFrame(
        {"truth": ABC, "a": [0.1, 0.6, 0.0], "b": [0.2, 0.7, 0.0], "c": [0.0, 0.0, 1.0]}
    )
    assert 0.1 + 0.7 != 0.2 + 0.6
    assert rf.volume(table, "truth", ABC)["volume"].item() == 0.5


def test_the_volume_with_a_separated_class_is_the_area_of_the_other_two():
    votes = rf.datasets.vote().filter(pl.col("model") == pl.col("model").first())
    above = votes.with_columns(label=pl.lit(2), score=pl.col("score") + 10.0)
    table = pl.concat([votes.with_columns(pl.col("label").cast(pl.Int32)), above])
    binary = rf.auc(votes, "label", "score", ci="delong").row(0, named=True)
    for ci, method in (("wald", "delong"), ("logit", "logit_delong")):
        found = rf.volume(table, "label", "score", classes=[0, 1, 2], ci=ci).row(0, named=True)
        binary = rf.auc(votes, "label", "score", ci=method).row(0, named=True)
        assert found["volume"] == binary["auc"]
        for name in ("se", "lower", "upper"):
            assert found[name] == pytest.approx(binary[name], rel=1e-12)


def test_counts_beyond_int64_are_exact():
    rows = pl.DataFrame({"stage": LMH * 2, "score": [0, 1, 2, 1, 1, 1], "n": [10**15 + 7] * 6})
    few_rows = rf.volume(rows.drop("n"), "stage", "score", classes=LMH)
    many = rf.volume(rows, "stage", "score", classes=LMH, count="n")
    assert many["volume"].item() == few_rows["volume"].item()
    wide = pl.DataFrame({"truth": ABC * 2, "n": [10**15 + 7] * 6}).with_columns(
        (pl.col("truth") == name).cast(pl.Float64).alias(name) * pl.Series([1, 1, 1, 0, 1, 0])
        for name in ABC
    )
    found = rf.volume(wide, "truth", ABC, count="n")["volume"].item()
    assert found == rf.volume(wide, "truth", ABC, count=None)["volume"].item()


MISSING = pl.DataFrame(
    {
        "truth": [*ABC, *ABC, "a", None],
        "a": [0.9, 0.1, 0.2, 0.7, 0.5, 0.1, None, 0.1],
        "b": [0.1, 0.8, 0.3, 0.3, 0.4, 0.4, 0.3, 0.1],
        "c": [0.0, 0.1, 0.5, 0.4, 0.1, 0.5, 0.2, 0.1],
    }
)


def test_rows_with_missing_values_are_dropped_or_count_as_errors(frame):
    for scores, options in ((ABC, {}), ("a", {"classes": ["c", "b", "a"]})):
        whole = rf.volume(MISSING.head(6), "truth", scores, **options)
        left = rf.volume(like(frame, MISSING), "truth", scores, missing="drop", **options)
        expected = whole.with_columns(n_missing=pl.lit(2, pl.Int64))
        assert_frame_equal(left, like(frame, expected))
        known = MISSING.drop_nulls("truth")
        worst = rf.volume(known, "truth", scores, missing="worst", **options)
        assert worst["volume"].item() == pytest.approx(whole["volume"].item() * 2 / 3, rel=1e-15)
        sizes = worst.select("n_first", "n_second", "n_third", "n_missing").row(0)
        assert sorted(sizes[:3]) == [2, 2, 3]
        assert sizes[3] == 1
        with pytest.raises(rf.MissingValuesError) as caught:
            rf.volume(like(frame, known), "truth", scores, **options).lazy().collect()
        assert str(caught.value).startswith("missing='raise': score column 'a' is null or NaN in 1")


def test_unscored_rows_enter_the_variance_as_rows_without_a_correct_triple():
    scored = [[(0.0,), (1.0,)], [(1.0,), (2.0,)], [(2.0,), (1.5,)]]
    table = pl.DataFrame(
        {
            "stage": [name for name, rows in zip(LMH, scored, strict=True) for _ in rows] + ["mid"],
            "score": [row[0] for rows in scored for row in rows] + [None],
        }
    )
    scored[1].append((-9.0,))  # below every row of the class before it
    (row,) = rf.volume(table, "stage", "score", classes=LMH, missing="worst").to_dicts()
    check(row, *by_trying(scored, in_order))


def test_groups_without_rows_have_a_note(frame):
    empty = STAGES.clear()
    found = rf.volume(like(frame, empty), "stage", "score", classes=LMH).lazy().collect()
    assert found.select("n_first", "volume", "note").rows() == [(0, None, "no_rows")]
    assert rf.volume(empty, "stage", "score", classes=LMH, by="g").height == 0
    sums = rf.volume(MISSING.clear(), "truth", ABC)
    assert sums.select("rule", "volume", "note").rows() == [("sum", None, "no_rows")]
    assert rf.volume(MISSING.with_columns(g=1).clear(), "truth", ABC, by="g").height == 0


def test_scores_of_classes_may_be_lists(frame):
    packed = MISSING.head(6).select("truth", p=pl.concat_list(ABC))
    found = rf.volume(like(frame, packed), "truth", "p", classes=ABC)
    assert_frame_equal(found, like(frame, rf.volume(MISSING.head(6), "truth", ABC)))


def test_intervals_of_volumes_with_variance_0_are_null():
    sure = pl.DataFrame({"stage": LMH * 3, "score": [1, 2, 3] * 3})
    found = rf.volume(sure, "stage", "score", classes=LMH)
    assert found.select("volume", "se", "lower", "ci_level", "ci_method", "note").rows() == [
        (1.0, None, None, 0.95, None, "zero_variance")
    ]
    plain = rf.volume(sure, "stage", "score", classes=LMH, ci=None)
    assert plain.select("volume", "se", "ci_level", "note").rows() == [(1.0, None, None, None)]


@pytest.mark.parametrize("name", ["^.*$", "*", "", "(score 0)", "(code)", "0", "🙂"])
def test_groups_and_scores_may_have_any_name(frame, name):
    expected = rf.volume(STAGES, "stage", "score", classes=LMH, by="g")
    for column, options in (("g", {"by": name}), ("score", {"by": "g"})):
        scores = name if column == "score" else "score"
        renamed = like(frame, STAGES.rename({column: name}))
        found = rf.volume(renamed, "stage", scores, classes=LMH, **options)
        keyed = expected.rename({"g": name}) if column == "g" else expected
        assert_frame_equal(found, like(frame, keyed))


# fmt: off
WRONG = [
    (STAGES, ("stage", "score"), {}, rf.OptionValueError,
     ("classes=None: 'score' is the only score column, so the order of the three classes is "
     "required.\n"
     'Pass the classes from lowest to highest, such as classes=["low", "mid", "high"].')),
    (STAGES, ("stage", "score"), {"classes": "g"}, rf.OptionValueError,
     ("classes='g': 'score' is the only score column, so the order of the three classes is "
     "required.\n")),
    (STAGES, ("stage", "score"), {"classes": 3}, rf.OptionValueError,
     ("classes=3: 'score' is the only score column, so the order of the three classes is "
     "required.\n")),
    (STAGES, ("stage", "score"), {"classes": [*LMH, "top"]}, rf.OptionValueError,
     ("classes=['low', 'mid', 'high', 'top']: expected 3 classes, got 4.\n"
     "Use multiclass_auc for any number of classes, or auc for two.")),
    (STAGES, ("stage", "score"), {"classes": ["low", "mid", "mid"]}, rf.RepeatedNameError,
     "classes='mid': the name is given more than once.\n"),
    (STAGES, ("stage", "score"), {"classes": ["low", "high", "none"]}, rf.LabelError,
     ("label='stage': these labels are not among the three classes: 'mid'.\n"
     "Classes in classes=: 'low', 'high', 'none'.\n"
     "Remove these rows with .filter(), or merge classes with .replace().")),
    (STAGES, ("stage", "stage"), {"classes": LMH}, rf.ColumnTypeError,
     "scores='stage': the column has type String.\n"),
    (MISSING.head(6), ("truth", ["a", "b"]), {}, rf.OptionValueError,
     "scores=['a', 'b']: expected 3 classes, got 2.\n"),
    (MISSING.head(6), ("truth", ABC), {"classes": ABC}, rf.OptionValueError,
     "classes=['a', 'b', 'c']: scores= already determines the classes.\nLeave out classes=."),
    (MISSING.head(6), ("truth", ABC), {"ci": "delong"}, rf.UnknownOptionError,
     "ci='delong': unknown value.\nChoose one of: 'logit', 'wald', None."),
    (MISSING.head(6), ("truth", ABC), {"level": 1}, rf.OptionValueError, "level=1: "),
    (MISSING.head(6).with_columns(b=pl.lit(float("-inf"))), ("truth", ABC), {}, rf.ScoreError,
     ("scores='b': a score is infinite, and sums of scores must be finite.\n"
     "Bound the scores first, for example with pl.col('b').clip(-1000, 1000).")),
    (MISSING.head(6).select("truth", p=pl.concat_list("a", "b", pl.lit(float("inf")))),
     ("truth", "p"), {"classes": ABC}, rf.ScoreError,
     ("scores='p': a score is infinite, and sums of scores must be finite.\n"
     "Bound the scores first, for example with "
     "pl.col('p').list.eval(pl.element().clip(-1000, 1000)), or with arr.eval for an Array.")),
    (STAGES.rename({"g": "rule"}), ("stage", "score"), {"classes": LMH, "by": "rule"},
     rf.ReservedColumnError, "by='rule': the result already has a column of this name.\n"),
]
# fmt: on


@pytest.mark.parametrize("case", WRONG, ids=[case[-1].split("\n")[0] for case in WRONG])
def test_wrong_inputs_raise_errors_with_the_expected_text(frame, case):
    table, arguments, options, error, text = case
    with pytest.raises(error) as caught:
        rf.volume(like(frame, table), *arguments, **options).lazy().collect()
    assert str(caught.value).startswith(text)


def test_infinite_scores_have_an_order():
    table = pl.DataFrame({"stage": LMH, "score": [float("-inf"), 0.0, float("inf")]})
    assert rf.volume(table, "stage", "score", classes=LMH)["volume"].item() == 1


def test_too_many_distinct_rows_raise_before_counting():
    rng = np.random.default_rng(1)
    table = pl.DataFrame(rng.random((9000, 3)), schema=ABC).with_columns(
        truth=pl.Series(ABC * 3000)
    )
    with pytest.raises(rf.OptionValueError) as caught:
        rf.volume(table, "truth", ABC)
    assert str(caught.value) == (
        "scores=['a', 'b', 'c']: a group has 3000, 3000 and 3000 distinct rows in the three "
        "classes. To count the triples, 18000000 pairs of rows must be compared, and the limit is "
        "16777216.\n"
        "Draw fewer rows of each class first, or round the scores to get fewer distinct rows."
    )
