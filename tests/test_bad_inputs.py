"""Results of bad inputs: the text of the error, or the value and its note.

Bad files, charts and reports are in the tests of these modules.
"""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from functools import partial
from math import inf, nan, nextafter, sqrt
from textwrap import indent
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.all_cases import all_cases
from tests.test_error_messages import FOLDER, blocks, error_of, names_of_calls
from tests.verbs import OF_CURVES, OF_PREDICTIONS

LABEL = [True, False, True, False]
SCORE = [0.9, 0.4, 0.4, 0.1]

# The functions that are called with all bad inputs. The other registered functions read their
# predictions in the same way, and are called with a few.
VERBS = {
    name: partial(OF_PREDICTIONS[name], other="score")
    for name in (
        "curve",
        "curve at thresholds",
        "auc",
        "partial auc",
        "summary",
        "h measure",
        "auc test",
        "band of fixed width",
        "compare models",
        "covariance of models",
        "decision intervals of models",
        "contrast of models",
    )
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


def log(label=LABEL, score=SCORE, **more) -> dict[str, pl.Series]:
    columns = {"label": label, "score": score, **more}
    return {
        name: values if isinstance(values, pl.Series) else pl.Series(values)
        for name, values in columns.items()
    }


@every_verb
def test_an_input_that_is_wrong_everywhere_raises_the_error_of_curve(frame, verb):
    path = FOLDER / "predictions.txt"
    text, names = path.read_text(encoding="utf-8"), {}

    def call(table, *_, **options):  # the columns are `label` and `score` in all calls
        return verb(frame(table), **options)

    with all_cases() as case:
        for source, is_call in blocks(text):
            if not is_call:
                exec(source, names := names_of_calls())
                names["rf"] = SimpleNamespace(curve=call)
                continue
            with case(source):
                assert f"{source}\n{indent(error_of(source, names), '    ')}\n" in text


def counts(thresholds, *confusion) -> pl.DataFrame:
    """Return a curve table without rates: tp, fp, fn and tn at descending thresholds."""
    columns = {
        "threshold": thresholds,
        **dict(zip(("tp", "fp", "fn", "tn"), confusion, strict=True)),
    }
    return pl.DataFrame(columns, schema_overrides={"threshold": pl.Float64})


GIVEN = ["error", "area_error"]  # the bounds of curves at given thresholds


def counted(frame, columns, **options) -> pl.DataFrame:
    curve = rf.curve(frame(columns), "label", "score", **options)
    return curve.lazy().collect().drop("fpr", "tpr", *(GIVEN if "thresholds" in options else ()))


# Scores of two positives and two negatives in turn, and the thresholds of their curve.
EPSILON = nextafter(1, 0)
SCORED = {
    "plus infinity has a row of its own below the first": ([inf, 0.4, 0.4, 0.1], [inf, 0.4, 0.1]),
    "minus infinity is the lowest threshold": ([0.9, 0.4, 0.4, -inf], [0.9, 0.4, -inf]),
    "constant scores": ([0.5] * 4, [0.5]),
    "two scores, as hard labels have": ([1.0, 0.0, 1.0, 1.0], [1.0, 0.0]),
    "0.0 and -0.0 tie": ([0.9, 0.0, -0.0, -0.1], [0.9, 0.0, -0.1]),
    "neighboring doubles do not tie": ([1.0, EPSILON, 0.5, 0.1], [1.0, EPSILON, 0.5, 0.1]),
    "0.1 + 0.2 is above 0.3 in Float64": ([0.1 + 0.2, 0.3, 0.2, 0.1], [0.1 + 0.2, 0.3, 0.2, 0.1]),
    "0.1 + 0.2 ties with 0.3 in Float32": (
        pl.Series([0.1 + 0.2, 0.3, 0.1, 0.0]).cast(pl.Float32),
        [float(np.float32(0.3)), float(np.float32(0.1)), 0.0],
    ),
    "Float16 scores": (
        pl.Series([0.9, 0.4, 0.4, 0.1]).cast(pl.Float16),
        [float(np.float16(score)) for score in (0.9, 0.4, 0.1)],
    ),
    "denormal scores": ([1e-323, 5e-324, 5e-324, 0.0], [1e-323, 5e-324, 0.0]),
    "scores at the ends of Float64": (
        [1.79e308, 5e-324, 5e-324, -1.79e308],
        [1.79e308, 5e-324, -1.79e308],
    ),
    "whole scores": ([9, 4, 4, 1], [9.0, 4.0, 1.0]),
    "UInt8 scores": (pl.Series([255, 4, 4, 0], dtype=pl.UInt8), [255.0, 4.0, 0.0]),
    "a large UInt64 score that Float64 holds": (
        pl.Series([2**63, 4, 4, 0], dtype=pl.UInt64),
        [2.0**63, 4.0, 0.0],
    ),
    "large Int64 scores that Float64 holds": (
        [2**60, 2**53, 2**53, -(2**63)],
        [2.0**60, 2.0**53, -(2.0**63)],
    ),
    "Decimal scores": (
        pl.Series(["0.9", "0.4", "0.4", "0.1"]).cast(pl.Decimal(10, 2)),
        [0.9, 0.4, 0.1],
    ),
    "Boolean scores": ([True, False, True, False], [1.0, 0.0]),
    "scores that are no probabilities": ([1.9, 0.4, 0.4, -7.1], [1.9, 0.4, -7.1]),
}


@pytest.mark.parametrize(("scores", "thresholds"), SCORED.values(), ids=SCORED)
def test_any_real_score_is_a_threshold(frame, scores, thresholds):
    columns = log(score=scores)
    dtype = oracles.threshold_dtype(pl.DataFrame(columns))
    a, b, c, d = columns["score"].cast(dtype).to_list()
    tp = [0, *((a >= t) + (c >= t) for t in thresholds)]
    fp = [0, *((b >= t) + (d >= t) for t in thresholds)]
    expected = counts([inf, *thresholds], tp, fp, [2 - n for n in tp], [2 - n for n in fp])
    assert_frame_equal(
        counted(frame, columns), expected.cast({"threshold": dtype}), check_exact=True
    )


AREAS = ["auc", "auc_pessimistic", "auc_optimistic"]
WITHOUT_LIMITS = {
    "auc": pl.Float64,
    "se": pl.Float64,
    **dict.fromkeys(AREAS[1:], pl.Float64),
    **dict.fromkeys(["n_pos", "n_neg", "n_missing"], pl.Int64),
    "note": pl.String,
}


def area(*rows, areas=(None, None, None), se=None, note=None) -> pl.DataFrame:
    """Return a row of an AUC table without its limits."""
    values = (areas[0], se, *areas[1:], *rows, note)
    return pl.DataFrame([dict(zip(WITHOUT_LIMITS, values, strict=True))], WITHOUT_LIMITS)


NO_LABELS = pl.Series([], dtype=pl.Boolean)
NO_SCORES = pl.Series([], dtype=pl.Float64)
EXTREMES = {
    "no rows at all": (log(NO_LABELS, NO_SCORES), {}, area(0, 0, 0, note="no_rows")),
    "one row": (log([True], [0.5]), {}, area(1, 0, 0, note="no_negatives")),
    "no positives": (log([False, False], [0.5, 0.1]), {}, area(0, 2, 0, note="no_positives")),
    "labels 0 without a 1": (log([0, 0], [0.5, 0.1]), {}, area(0, 2, 0, note="no_positives")),
    "a positive value of a Boolean that never occurs": (
        log([True, True], [0.5, 0.1]),
        {"positive": False},
        area(0, 2, 0, note="no_positives"),
    ),
    "a declared level that never occurs": (
        log(pl.Series(["no", "no"], dtype=pl.Enum(["no", "yes"])), [0.5, 0.1]),
        {"positive": "yes"},
        area(0, 2, 0, note="no_positives"),
    ),
    "a named category that never occurs": (
        log(
            pl.Series(
                ["yes", "no", "no"], dtype=pl.Categorical(pl.Categories("bad inputs", "tests"))
            ).tail(2),
            [0.5, 0.1],
        ),
        {"positive": "yes"},
        area(0, 2, 0, note="no_positives"),
    ),
    "one positive": (
        log([True, False, False], [0.9, 0.4, 0.4]),
        {},
        area(1, 2, 0, areas=(1.0, 1.0, 1.0), note="one_positive"),
    ),
    "one negative": (
        log([True, True, False], [0.9, 0.4, 0.4]),
        {},
        area(2, 1, 0, areas=(0.75, 0.5, 1.0), note="one_negative"),
    ),
    "constant scores": (
        log(score=[0.5] * 4),
        {},
        area(2, 2, 0, areas=(0.5, 0.0, 1.0), note="zero_variance"),
    ),
    "an AUC of exactly 1": (
        log(score=[0.9, 0.1, 0.8, 0.2]),
        {},
        area(2, 2, 0, areas=(1.0, 1.0, 1.0), note="zero_variance"),
    ),
    "an AUC of exactly 0": (
        log(score=[0.1, 0.9, 0.2, 0.8]),
        {},
        area(2, 2, 0, areas=(0.0, 0.0, 0.0), note="zero_variance"),
    ),
    "no row left without missing scores": (
        log(score=[None, nan, None, nan]),
        {"missing": "drop"},
        area(0, 0, 4, note="no_rows"),
    ),
    "a row left out for its label, one for its score": (
        log([True, None, True, False, False], [0.9, 0.9, None, 0.4, 0.1]),
        {"missing": "drop"},
        area(1, 2, 2, areas=(1.0, 1.0, 1.0), note="one_positive"),
    ),
    "all weights zero": (log(w=[0.0] * 4), {"weight": "w"}, area(0, 0, 0, note="no_rows")),
    "a class weighted to zero": (
        log(w=[0.0, 1.0, 0.0, 1.0]),
        {"weight": "w"},
        area(0, 2, 0, note="no_positives"),
    ),
    "all counts zero": (log(n=[0] * 4), {"count": "n"}, area(0, 0, 0, note="no_rows")),
    "hard labels": (
        log([True, False, True, False], [1, 0, 1, 1]),
        {},
        # Each positive ties with one negative and beats one; the negatives are beaten and tied.
        area(2, 2, 0, areas=(0.75, 0.5, 1.0), se=sqrt(1 / 16)),
    ),
    "an infinite score on either side": (
        log(score=[inf, 0.4, 0.4, -inf]),
        {},
        area(2, 2, 0, areas=(0.875, 0.75, 1.0), se=sqrt(1 / 32)),
    ),
}


@pytest.mark.parametrize(("columns", "options", "expected"), EXTREMES.values(), ids=EXTREMES)
def test_an_undefined_area_is_null_and_its_note_says_why(frame, columns, options, expected):
    actual = rf.auc(frame(columns), "label", "score", **options).select(*WITHOUT_LIMITS)
    assert_frame_equal(actual.lazy().collect(), expected)


@pytest.mark.parametrize(
    ("scores", "auc"), [([0.9, 0.1, 0.8, 0.2], 1.0), ([0.1, 0.9, 0.2, 0.8], 0.0)]
)
def test_the_limits_of_a_perfect_area_stay_in_its_range_and_name_their_method(scores, auc):
    row = rf.auc(pl.DataFrame(log(score=scores)), "label", "score").row(0, named=True)
    assert row["ci_method"] == "newcombe"
    assert {row["lower"], row["upper"]} > {auc}
    assert 0 <= row["lower"] < row["upper"] <= 1


GROUPED = {
    "null": [None, "a", None, "a"],
    "NaN, one group, after the numbers": [nan, 1.0, -nan, 1.0],
    "0.0 and -0.0, one group": [0.0, 1.0, -0.0, 1.0],
    "nothing but null": [None] * 4,
    "Boolean": [True, False, True, False],
    "a struct": [{"a": 2, "b": "x"}, {"a": 1, "b": "y"}] * 2,
    "a list": [[2], [1, 5], [2], [1, 5]],
    "an array": pl.Series([[2, 0], [1, 5]] * 2, dtype=pl.Array(pl.Int8, 2)),
    "an Enum, in the order declared": pl.Series(["b", "a"] * 2, dtype=pl.Enum(["b", "a"])),
    "a Categorical, in the order of its letters": pl.Series(["b", "a"] * 2, dtype=pl.Categorical),
    "a time with its zone": pl.Series(
        [dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC) for day in (29, 28, 29, 28)]
    ).dt.convert_time_zone("Europe/Berlin"),
    "a date": [dt.date(2026, 2, 1), dt.date(2026, 1, 1)] * 2,
    "a duration": [dt.timedelta(hours=2), dt.timedelta(hours=1)] * 2,
    "binary": [b"b", b"a"] * 2,
    "a Decimal": pl.Series(["0.20", "0.10"] * 2).cast(pl.Decimal(10, 2)),
    "Int128": pl.Series([2**100, 1] * 2, dtype=pl.Int128),
}


@pytest.mark.parametrize("keys", GROUPED.values(), ids=GROUPED)
@pytest.mark.parametrize("options", [{}, {"thresholds": [0.5]}], ids=["all", "thresholds"])
def test_group_keys_of_any_type_sort_as_polars_sorts_them(frame, keys, options):
    columns = log(label=[True, True, False, False], g=keys)
    groups = pl.DataFrame(columns).select("g").unique().sort("g")
    curves = rf.curve(frame(columns), "label", "score", by="g", **options)
    tops = curves.filter(pl.col("threshold") == inf)
    whole = rf.curve(pl.DataFrame(columns), "label", "score").height
    size = 4 // groups.height
    expected = groups.with_columns(
        pl.lit(inf).alias("threshold"),
        *(pl.lit(0, pl.Int64).alias(name) for name in ("tp", "fp")),
        *(pl.lit(size // 2, pl.Int64).alias(name) for name in ("fn", "tn")),
        *(pl.lit(0.0).alias(name) for name in ("fpr", "tpr")),
    )
    tops = tops.drop(GIVEN, strict=False)
    assert whole == 4
    assert_frame_equal(tops.lazy().collect(), expected)
    if not options:
        areas = curves.roc.area().lazy().collect()
        assert_frame_equal(areas.select("g"), groups)
        points = curves.roc.at(fpr=0.5).lazy().collect()
        assert_frame_equal(points.select("g"), groups)


def test_float32_weights_are_added_up_in_float64():
    rows = 3 * 2**20
    columns = {
        "label": np.arange(rows) % 2 == 0,
        "score": np.arange(rows) % 4,
        "w": np.full(rows, 0.1, np.float32),
    }
    curve = rf.curve(pl.DataFrame(columns), "label", "score", weight="w", thresholds=[2])
    quarter = rows // 4 * float(np.float32(0.1))
    assert curve["tp"].to_list() == pytest.approx([0, quarter], rel=1e-12)
    assert curve["tn"].to_list() == pytest.approx([2 * quarter, quarter], rel=1e-12)


def test_weights_are_not_repetitions_where_standard_errors_are_concerned():
    twice = {"w": [2.0] * 4, "n": [2] * 4}
    columns = pl.DataFrame(log(**twice))
    once = rf.auc(columns, "label", "score").row(0, named=True)
    weighted = rf.auc(columns, "label", "score", weight="w").row(0, named=True)
    repeated = rf.auc(columns, "label", "score", count="n").row(0, named=True)
    assert (once["auc"], weighted["auc"], repeated["auc"]) == (0.875, 0.875, 0.875)
    # DeLong: the placements are (1, 3/4) and (3/4, 1), their variances 1/32 over 2 rows each.
    assert once["se"] == pytest.approx(sqrt(Fraction(1, 32)), rel=1e-14)
    assert weighted["se"] == pytest.approx(once["se"], rel=1e-14)
    # As four rows of each class the same squares are divided by 3 and by 4: 1/48 over 4.
    assert repeated["se"] == pytest.approx(sqrt(Fraction(1, 96)), rel=1e-14)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_scale_of_weights_changes_no_area(scale):
    rows = pl.DataFrame(log(w=[1.0, 2.0, 3.0, 4.0])).with_columns(v=pl.col("w") * scale)
    assert_frame_equal(
        rf.auc(rows, "label", "score", weight="v"),
        rf.auc(rows, "label", "score", weight="w"),
        rel_tol=1e-12,
    )


def test_counts_do_not_wrap_at_32_bits(frame):
    many = 70_000**2
    columns = log([True, False, True], [0.9, 0.5, 0.1], n=[many, many, 3])
    curve = rf.curve(frame(columns), "label", "score", count="n", metrics=["chi2", "accuracy"])
    actual = curve.lazy().collect()
    assert actual["tp"].to_list() == [0, many, many, many + 3]
    assert actual["tn"].to_list() == [many, many, 0, 0]
    assert actual["accuracy"].to_list() == [
        many / (2 * many + 3),
        2 * many / (2 * many + 3),
        many / (2 * many + 3),
        (many + 3) / (2 * many + 3),
    ]
    area = rf.auc(frame(columns), "label", "score", count="n", ci=None).lazy().collect()
    assert area["auc"].to_list() == [many / (many + 3)]


@pytest.mark.slow
def test_counts_of_float32_scores_do_not_stop_at_24_bits():
    rows = 2**24 + 8
    score = np.ones(rows, np.float32)
    score[:3] = 0.5
    label = np.ones(rows, bool)
    label[:2] = False
    curve = rf.curve(pl.DataFrame({"label": label, "score": score}), "label", "score")
    expected = counts(
        [inf, 1.0, 0.5], [0, rows - 3, rows - 2], [0, 0, 2], [rows - 2, 1, 0], [2, 2, 0]
    )
    expected = expected.cast({"threshold": pl.Float32})
    assert_frame_equal(curve.drop("fpr", "tpr"), expected)


@pytest.fixture(scope="module")
def shuffled() -> list[pl.DataFrame]:
    rng = np.random.default_rng(98)
    rows = pl.DataFrame(
        {
            "g": rng.integers(0, 7, 3000),
            "label": rng.random(3000) < 0.3,
            "score": rng.integers(0, 200, 3000) / 200,
            "w": rng.random(3000),
        }
    )
    return [rows.sample(fraction=1, shuffle=True, seed=seed) for seed in range(3)]


ENGINES = ("in-memory", "streaming")


@every_verb
def test_row_order_and_engine_change_no_bit(shuffled, verb):
    first = verb(shuffled[0], by="g")
    for rows, engine in zip(shuffled[1:], ENGINES, strict=True):
        actual = verb(rows.lazy(), by="g").collect(engine=engine)
        assert_frame_equal(actual, first, check_exact=True)


@every_verb
def test_row_order_and_engine_change_weighted_results_by_rounding_only(shuffled, verb):
    first = verb(shuffled[0], by="g", weight="w")
    for rows, engine in zip(shuffled[1:], ENGINES, strict=True):
        actual = verb(rows.lazy(), by="g", weight="w").collect(engine=engine)
        assert_frame_equal(actual, first, rel_tol=1e-12, abs_tol=1e-9)


def test_results_are_sorted_by_keys_and_falling_threshold(shuffled, frame):
    curves = rf.curve(frame(shuffled[0]), "label", "score", by="g").lazy().collect()
    assert_frame_equal(curves, curves.sort("g", "threshold", descending=[False, True]))
    areas = rf.auc(frame(shuffled[0]), "label", ["score", "w"], by="g").lazy().collect()
    assert_frame_equal(areas, areas.sort("g", "model"))


def test_given_thresholds_are_unchanged_so_that_they_can_be_joined(frame):
    grid = [i * 0.1 for i in range(11)]  # 3 * 0.1 is no 0.3
    columns = log([True, False] * 6, [i * 0.1 for i in range(11)] + [0.35])
    curve = rf.curve(frame(columns), "label", "score", thresholds=grid).lazy().collect()
    assert curve["threshold"].to_list() == [inf, *grid[::-1]]
    whole = rf.curve(frame(columns), "label", "score").roc.at(threshold=grid).lazy().collect()
    assert whole["at_value"].to_list() == grid
    joined = curve.join(whole, left_on="threshold", right_on="at_value", suffix="_read")
    assert joined.height == 11
    assert_frame_equal(
        joined.select("tp", "fp", "fn", "tn"),
        joined.select(pl.col(f"{name}_read").alias(name) for name in ("tp", "fp", "fn", "tn")),
    )


PARTS = {
    "the whole range": ((0, 1), 0.875),
    "a range from 0": ((0, 0.5), 0.375),
    "a range inside": ((0.5, 1), 0.5),
}


@pytest.mark.parametrize(("part", "expected"), PARTS.values(), ids=PARTS)
def test_a_partial_range_may_include_0_and_1(frame, part, expected):
    actual = rf.auc(frame(log()), "label", "score", fpr=part, ci=None).lazy().collect()
    assert actual["partial_auc"].to_list() == [expected]


def test_a_tiny_partial_range_keeps_its_digits(frame):
    # Up to FPR 1e-12 the curve stands at 1/2 and rises towards 1 along the tie.
    tiny = Fraction(1e-12)
    exact = tiny / 2 + tiny**2 / 2
    actual = rf.auc(frame(log()), "label", "score", fpr=(0, 1e-12), ci=None).lazy().collect()
    assert actual["partial_auc"].to_list() == pytest.approx([float(exact)], rel=1e-12)


def test_thresholds_need_not_be_scores_and_may_be_repeated_and_unsorted(frame):
    given = [0.5, 99.0, -99.0, 0.5, inf, -0.0, 0.0]
    expected = counts(
        [inf, 99.0, 0.5, 0.0, -99.0],
        [0, 0, 1, 2, 2],
        [0, 0, 0, 2, 2],
        [2, 2, 1, 0, 0],
        [2, 2, 2, 0, 0],
    )
    assert_frame_equal(counted(frame, log(), thresholds=given), expected)


def test_the_same_thresholds_with_weights(frame):
    columns = log(w=[1.0, 2.0, 0.5, 4.0])
    expected = pl.DataFrame(
        {
            "threshold": [inf, 99.0, 0.4, -99.0],
            "tp": [0.0, 0.0, 1.5, 1.5],
            "fp": [0.0, 0.0, 2.0, 6.0],
            "fn": [1.5, 1.5, 0.0, 0.0],
            "tn": [6.0, 6.0, 4.0, 0.0],
        }
    )
    actual = counted(frame, columns, thresholds=[99, -99, 0.4], weight="w")
    assert_frame_equal(actual, expected)


def test_scores_are_not_guessed_to_be_logits_or_probabilities(frame):
    logits = [2.0, -0.5, -0.5, -3.0]
    chances = [1 / (1 + np.exp(-logit)) for logit in logits]
    first, second = (
        rf.auc(frame(log(score=score)), "label", "score") for score in (logits, chances)
    )
    assert_frame_equal(first, second)
    assert counted(frame, log(score=logits))["threshold"].to_list() == [inf, 2.0, -0.5, -3.0]


def test_a_score_worse_than_chance_is_not_reversed(frame):
    worst = rf.auc(frame(log(score=[0.1, 0.9, 0.2, 0.8])), "label", "score", ci=None)
    assert worst.lazy().collect()["auc"].to_list() == [0.0]


def test_every_registered_function_raises_the_same_errors(frame):
    columns = {"other": SCORE, "fold": [1, 1, 2, 2], "class_number": [0, 1, 2, 1], "w": [1.0] * 4}
    rows = frame(log(**columns))
    unscored = frame(log(score=[0.9, None, 0.4, 0.1], **columns))
    by = (
        "by='regoin': the frame has no column of this name.\nThe frame has: 'label', 'score', "
        "'other', 'fold', 'class_number', 'w'"
    )
    raises = pytest.raises
    with all_cases() as case:
        for name, verb in OF_PREDICTIONS.items():
            with case(name), raises(rf.MissingValuesError, match=r"^missing='raise': "):
                verb(unscored).lazy().collect()
            with case(name), raises(rf.MissingColumnError, match=f"^{re.escape(by)}"):
                verb(rows, by="regoin").lazy().collect()
            with case(name), raises(rf.RocframeError, match="unexpected keyword argument 'positv"):
                verb(rows, positve=1)
        for name, verb in OF_CURVES.items():
            with case(name), raises(rf.RocframeError, match=r"^(curves|table|across|over)"):
                verb(rows).lazy().collect()


def ill(rng: np.random.Generator) -> list[pl.DataFrame]:
    """Return one group for each reason why an area is undefined."""
    kinds = {
        "no positives": ([False] * 5, rng.random(5), [1.0] * 5),
        "no negatives": ([True] * 5, rng.random(5), [1.0] * 5),
        "one row": ([True], [0.3], [1.0]),
        "one positive": ([True, False, False], [0.2, 0.3, 0.1], [1.0] * 3),
        "one negative": ([False, True, True], [0.2, 0.3, 0.1], [1.0] * 3),
        "constant": ([True, False] * 4, [0.5] * 8, [1.0] * 8),
        "perfect": ([True, False] * 4, [1.0, 0.0] * 4, [1.0] * 8),
        "infinite": ([True, False] * 3, [inf, -inf] * 3, [1.0] * 6),
        "unscored": ([True, False] * 3, [None] * 6, [1.0] * 6),
        "NaN": ([True, False] * 3, [nan] * 6, [1.0] * 6),
        "unlabelled": ([None] * 4, rng.random(4), [1.0] * 4),
        "weightless": ([True, False] * 3, rng.random(6), [0.0] * 6),
        "positives weightless": ([True, False] * 3, rng.random(6), [0.0, 1.0] * 3),
        "weight missing": ([True, False] * 3, rng.random(6), [None, nan] * 3),
        "denormal": ([True, False] * 3, [5e-324, -5e-324] * 3, [1.0] * 6),
        "enormous": ([True, False] * 3, [1.79e308, -1.79e308] * 3, [1e9] * 6),
    }
    schema = {"label": pl.Boolean, "score": pl.Float64, "w": pl.Float64}
    return [
        pl.DataFrame([label, list(score), weight], schema, strict=False)
        for label, score, weight in kinds.values()
    ]


@pytest.fixture(scope="module")
def good_and_bad() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return 990 groups with an area, and these groups with 100 groups without."""
    rng = np.random.default_rng(1)
    groups, each = 990, 12
    good = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), each),
            "label": np.tile(np.arange(each) % 3 == 0, groups),
            "score": rng.integers(0, 40, groups * each) / 40,
            "w": rng.random(groups * each) + 0.1,
        },
        schema_overrides={"g": pl.Float64},
    )
    kinds = ill(rng)
    bad = pl.concat(
        [
            pl.select(pl.lit(None if i == 0 else 9 * i + 0.5, pl.Float64).alias("g")).join(
                kinds[i % len(kinds)], how="cross"
            )
            for i in range(100)
        ]
    )
    mixed = pl.concat([good, bad]).sample(fraction=1, shuffle=True, seed=2)
    return good, mixed


# Functions that resample are slow for a thousand groups. Bands have a test of their own for this,
# and intervals of decisions have fewer groups.
@pytest.mark.parametrize(
    ("frame", "options"),
    [(pl.DataFrame, {}), (pl.LazyFrame, {"weight": "w"})],
    ids=["plain", "lazy and weighted"],
)
@pytest.mark.parametrize(
    "verb", [verb for name, verb in VERBS.items() if name != "band of fixed width"]
)
def test_bad_groups_do_not_change_the_results_of_good_groups(good_and_bad, verb, frame, options):
    good, mixed = good_and_bad
    if verb is VERBS["decision intervals of models"]:
        is_bad = pl.col("g").is_null() | (pl.col("g") % 1 > 0)
        subset = pl.col("g").fill_null(0) < pl.when(is_bad).then(150).otherwise(20)
        good, mixed = good.filter(subset), mixed.filter(subset)
    expected = verb(frame(good), by="g", missing="drop", **options).lazy().collect()
    actual = verb(frame(mixed), by="g", missing="drop", **options).lazy().collect()
    bad = actual.join(expected, on="g", how="anti", nulls_equal=True)
    assert bad["g"].n_unique() == mixed["g"].n_unique() - good["g"].n_unique() > 10
    healthy = actual.join(expected.select("g").unique(), on="g", how="semi", maintain_order="left")
    # Group by group, rows stand in another order in the two: weighted sums round anew.
    exact = {"rel_tol": 1e-12, "abs_tol": 1e-12} if options else {"check_exact": True}
    assert_frame_equal(healthy, expected, **exact)


def test_each_kind_of_bad_group_has_its_note_in_one_call(good_and_bad):
    _, mixed = good_and_bad
    areas = rf.auc(mixed, "label", "score", by="g", weight="w", missing="drop")
    expected = [
        *("no_positives", "no_negatives", "no_negatives", "one_positive", "one_negative"),
        *("zero_variance", "zero_variance", "zero_variance", "no_rows", "no_rows", "no_rows"),
        *("no_rows", "no_positives", "no_rows", "zero_variance", "zero_variance"),
    ]
    found = dict(areas.select("g", "note").rows())
    for i in range(100):
        assert found[None if i == 0 else 9 * i + 0.5] == expected[i % len(expected)], i
