"""Areas over all classes: by hand, by counting every pair, and compared with scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import NormalDist, fmean, pstdev

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.classes import multiclass_auc as measured
from rocframe.classes.multiclass_auc import influences, row_acceleration
from tests.strategies import shuffled

ABC = ["a", "b", "c"]
AVERAGES = ["hand_till", "macro", "weighted", "micro"]
SMALL = pl.DataFrame(
    {
        "g": ["x", "x", "x", "x", "y", "y"],
        "truth": ["a", "a", "b", "c", "a", "a"],
        "a": [0.75, 0.25, 0.25, 0.0, 0.5, 0.5],
        "b": [0.25, 0.25, 0.5, 0.5, 0.25, 0.25],
        "c": [0.0, 0.5, 0.25, 0.5, 0.25, 0.25],
    }
)


def like(frame, table):
    return table.lazy() if frame is pl.LazyFrame else table


def half(one, other):
    """Return the credit of a pair: 1, 1/2 or 0."""
    return Fraction((one > other) - (one < other) + 1, 2)


def share(pairs):
    """Return the weighted mean of wins from pairs of weight and win; None without pairs."""
    total = sum(mass for mass, _ in pairs)
    return sum(mass * won for mass, won in pairs) / total if total else None


def by_counting(rows, classes):
    """Compute all averages from every pair; a row has a weight, a class and a score per class."""
    present = [c for c in classes if any(row[1] == c for row in rows)]

    def pairs(i, others):
        at = 2 + classes.index(i)
        return [
            (one[0] * other[0], half(one[at], other[at]))
            for one, other in product(rows, rows)
            if one[1] == i and other[1] in others
        ]

    if len(present) < 2:
        return dict.fromkeys(AVERAGES)
    each = [share(pairs(i, {j})) for i in present for j in present if i != j]
    rest = [share(pairs(i, set(classes) - {i})) for i in present]
    mass = [sum(row[0] for row in rows if row[1] == i) for i in present]
    own = [(row[0], row[2 + classes.index(row[1])]) for row in rows]
    other = [(row[0], row[2 + k]) for row in rows for k, c in enumerate(classes) if c != row[1]]
    return {
        "hand_till": sum(each) / len(each),
        "macro": sum(rest) / len(rest),
        "weighted": sum(m * area for m, area in zip(mass, rest, strict=True)) / sum(mass),
        "micro": share([(a[0] * b[0], half(a[1], b[1])) for a, b in product(own, other)]),
    }


def test_all_averages_of_a_small_table_by_hand(frame):
    # Areas of ordered pairs: 3/4 for a and b (scores 0.75 and 0.25 against 0.25), 1 for a and c, 1
    # for b and a, 1/2 for b and c, 3/4 for c and a (0.5 against 0 and 0.5), 1 for c and b.
    hand_till = (3 / 4 + 1 + 1 + 1 / 2 + 3 / 4 + 1) / 6
    # Each class against all others: 3.5 of 4 pairs for a, 2.5 of 3 for b, and 2.5 of 3 for c.
    macro = (3.5 / 4 + 2.5 / 3 + 2.5 / 3) / 3
    weighted = (2 * 3.5 / 4 + 2.5 / 3 + 2.5 / 3) / 4
    # The positives have scores 0.75, 0.25, 0.5 and 0.5; the negatives have 0.25, 0, 0.25, 0.5,
    # 0.25, 0.25, 0 and 0.5.
    micro = (8 + (2 + 4 / 2) + 2 * (6 + 2 / 2)) / 32
    expected = pl.DataFrame(
        {
            "g": ["x"] * 4 + ["y"] * 4,
            "auc": [hand_till, macro, weighted, micro, *[None] * 4],
            "lower": [None] * 8,
            "upper": [None] * 8,
            "se": [None] * 8,
            "n": [4] * 4 + [2] * 4,
            "n_missing": [0] * 8,
            "ci_level": [None] * 8,
            "ci_method": [None] * 8,
            "n_classes": [3] * 8,
            "n_classes_used": [3] * 4 + [1] * 4,
            "average": AVERAGES * 2,
            "note": [None] * 4 + ["one_class"] * 4,
        },
        schema_overrides={
            **dict.fromkeys(("se", "lower", "upper", "ci_level"), pl.Float64),
            "ci_method": pl.String,
        },
    )
    actual = rf.multiclass_auc(like(frame, SMALL), "truth", ABC, by="g")
    assert_frame_equal(actual, like(frame, expected))
    some = rf.multiclass_auc(like(frame, SMALL), "truth", ABC, by="g", average="micro")
    assert_frame_equal(some, like(frame, expected.filter(pl.col("average") == "micro")))


def test_a_list_column_gives_the_same_averages_as_columns(frame):
    packed = SMALL.select("g", "truth", p=pl.concat_list(ABC))
    actual = rf.multiclass_auc(like(frame, packed), "truth", "p", classes=ABC, by="g")
    assert_frame_equal(actual, like(frame, rf.multiclass_auc(SMALL, "truth", ABC, by="g")))


score = st.sampled_from([0.0, 0.25, 0.5, 1.0])
some_rows = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from("abc"), score, score, score),
    min_size=1,
    max_size=9,
)


@pytest.mark.slow
@given(some_rows, st.booleans())
def test_averages_equal_those_from_counting_every_pair(rows, extra):
    schema = {"mass": pl.Int64, "truth": pl.String, **dict.fromkeys(ABC, pl.Float64)}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(d=pl.col("a") / 2)
    classes = ABC + ["d"] * extra
    known = by_counting([(*row[:5], row[2] / 2) for row in rows], classes)
    expected = [None if known[name] is None else float(known[name]) for name in AVERAGES]
    for option in ({"count": "mass"}, {"weight": "mass"}):
        found = rf.multiclass_auc(table, "truth", classes, **option)
        assert found["auc"].to_list() == pytest.approx(expected, abs=1e-14)
        assert found["n_classes"].to_list() == [len(classes)] * 4
        mixed = rf.multiclass_auc(shuffled(table, 1), "truth", classes, **option)
        assert mixed["auc"].to_list() == pytest.approx(expected, abs=1e-14)
    counted = rf.multiclass_auc(table, "truth", classes, count="mass")
    assert_frame_equal(
        rf.multiclass_auc(shuffled(table, 1), "truth", classes, count="mass"), counted
    )
    for boundary in (classes[::-1], classes[1:] + classes[:1]):
        permuted = rf.multiclass_auc(table, "truth", boundary, count="mass")
        assert permuted["auc"].to_list() == pytest.approx(counted["auc"].to_list(), abs=1e-14)


@given(some_rows)
def test_averages_equal_means_of_one_vs_one_and_one_vs_rest_areas(rows):
    schema = {"mass": pl.Int64, "truth": pl.String, **dict.fromkeys(ABC, pl.Float64)}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    found = rf.multiclass_auc(table, "truth", ABC, count="mass")["auc"].to_list()
    options = {"count": "mass", "ci": None}
    pairs = rf.one_vs_one(table, "truth", ABC)
    of_pairs = rf.auc(pairs, "label", "score", by=["class_a", "class_b"], **options)
    rest = rf.one_vs_rest(table, "truth", ABC)
    of_classes = rf.auc(rest, "label", "score", by="class", **options)
    pooled = rf.auc(rest, "label", "score", **options)
    if found[0] is None:
        return
    assert found[0] == pytest.approx(of_pairs["auc"].mean(), abs=1e-14)
    assert found[1] == pytest.approx(of_classes["auc"].mean(), abs=1e-14)
    weighted = (of_classes["auc"] * of_classes["n_pos"]).sum() / of_classes["n_pos"].sum()
    assert found[2] == pytest.approx(weighted, abs=1e-14)
    assert found[3] == pooled["auc"].item()


def test_averages_equal_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    digits = rf.datasets.digits()
    scores = {digit: f"p{digit}" for digit in range(10)}
    # scikit-learn requires that the scores of a row add up to 1. The division changes ties.
    table = digits.select(scores.values()).cast(pl.Float64)
    table = (table / table.sum_horizontal()).hstack(digits.select("model", "label"))
    areas = rf.multiclass_auc(table, "label", scores, by="model")
    for (model,), rows in table.group_by("model"):
        given = rows["label"], rows.select(scores.values()).to_numpy()
        known = [metrics.roc_auc_score(*given, multi_class="ovo")] + [
            metrics.roc_auc_score(*given, multi_class="ovr", average=average)
            for average in ("macro", "weighted", "micro")
        ]
        found = areas.filter(pl.col("model") == model)["auc"].to_list()
        assert found == pytest.approx(known, abs=1e-12)


def test_averages_of_two_classes_equal_the_binary_area():
    votes = rf.datasets.vote().with_columns(other=-pl.col("score"))
    scores = {True: "score", False: "other"}
    averages = ["hand_till", "macro", "weighted"]
    areas = rf.multiclass_auc(votes, "label", scores, by="model", average=averages)
    binary = rf.auc(votes, "label", "score", by="model", ci=None)
    for name in averages:
        own = areas.filter(pl.col("average") == name)["auc"].to_list()
        assert own == pytest.approx(binary["auc"].to_list(), abs=1e-15)


MISSING = pl.DataFrame(
    {
        "truth": ["a", "b", "c", None, "a", "b"],
        "a": [0.9, 0.1, 0.2, 0.3, None, 0.4],
        "b": [0.1, 0.8, 0.3, 0.3, 0.5, float("nan")],
        "c": [0.0, 0.1, 0.5, 0.4, 0.5, 0.2],
    }
)


def test_rows_with_missing_values_are_dropped_for_all_classes(frame):
    actual = rf.multiclass_auc(like(frame, MISSING), "truth", ABC, missing="drop")
    whole = rf.multiclass_auc(like(frame, MISSING.head(3)), "truth", ABC)
    assert_frame_equal(actual, whole.with_columns(n_missing=pl.lit(3, pl.Int64)))
    with pytest.raises(rf.MissingValuesError) as caught:
        rf.multiclass_auc(like(frame, MISSING), "truth", ABC).lazy().collect()
    assert str(caught.value).startswith(
        "missing='raise': label column 'truth' is null or NaN in 1 row.\n"
    )
    known = MISSING.drop_nulls("truth")
    with pytest.raises(rf.MissingValuesError) as caught:
        rf.multiclass_auc(like(frame, known), "truth", ABC).lazy().collect()
    assert str(caught.value).startswith(
        "missing='raise': score column 'a' is null or NaN in 1 row.\n"
    )


def test_unscored_rows_count_as_errors_with_missing_worst():
    known = MISSING.drop_nulls("truth").with_columns(pl.col("b").fill_nan(None))
    # Without a score of class i, a row of class i ranks below all, any other row above all.
    as_errors = known.with_columns(
        pl.when(pl.col("truth") == name)
        .then(pl.col(name).fill_null(-1))
        .otherwise(pl.col(name).fill_null(2))
        for name in ABC
    )
    worst = rf.multiclass_auc(known, "truth", ABC, missing="worst")
    expected = rf.multiclass_auc(as_errors, "truth", ABC)
    assert_frame_equal(worst.drop("n_missing"), expected.drop("n_missing"))
    assert worst["n_missing"].to_list() == [2] * 4


def test_groups_without_weighted_rows_keep_their_row():
    table = SMALL.with_columns(w=pl.when(pl.col("g") == "x").then(1).otherwise(0))
    areas = rf.multiclass_auc(table, "truth", ABC, by="g", weight="w", average="macro")
    assert areas.select("g", "n", "n_classes_used", "note").rows() == [
        ("x", 4, 3, None),
        ("y", 0, 0, "no_rows"),
    ]
    assert rf.multiclass_auc(SMALL.clear(), "truth", ABC)["note"].to_list() == ["no_rows"] * 4
    assert rf.multiclass_auc(SMALL.clear(), "truth", ABC, by="g").height == 0


def test_undefined_averages_have_a_confidence_level_if_there_is_an_interval():
    for table in (SMALL.clear(), SMALL.filter(pl.col("truth") == "a")):
        areas = rf.multiclass_auc(table, "truth", ABC, ci="bootstrap", n_boot=2, level=0.9)
        assert areas.select("auc", "ci_level", "ci_method").rows() == [(None, 0.9, None)] * 4
        areas = rf.multiclass_auc(table, "truth", ABC)
        assert areas.select("auc", "ci_level").rows() == [(None, None)] * 4


def test_large_counts_have_the_same_areas_in_any_order_of_the_rows():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(rng.integers(0, 8, (60, 3)), schema=ABC).with_columns(
        truth=pl.Series(rng.choice(ABC, 60)), n=pl.Series(rng.integers(10**8, 10**9, 60))
    )
    expected = rf.multiclass_auc(rows, "truth", ABC, count="n")
    for seed in range(6):
        found = rf.multiclass_auc(shuffled(rows, seed), "truth", ABC, count="n")
        assert_frame_equal(found, expected, check_exact=True)
    floats = rf.multiclass_auc(rows, "truth", ABC, weight=pl.col("n").cast(pl.Float64), count=None)
    assert_frame_equal(floats.drop("n"), expected.drop("n"), rel_tol=1e-12)


def test_resamples_draw_whole_rows():
    rows = [(1, *row) for row in SMALL.head(4).drop("g").rows()]
    drawn = [by_counting([rows[i] for i in place], ABC) for place in product(range(4), repeat=4)]
    found = rf.multiclass_auc(SMALL.head(4), "truth", ABC, ci="bootstrap", n_boot=40_000, seed=2)
    for name in AVERAGES:
        values = [float(one[name]) for one in drawn if one[name] is not None]
        own = found.filter(pl.col("average") == name)
        assert own["se"].item() == pytest.approx(pstdev(values), rel=0.02)
        assert own["lower"].item() >= min(values)
        assert own["upper"].item() <= max(values)
        assert fmean(values) < own["upper"].item()
    undefined = sum(one["macro"] is None for one in drawn) / len(drawn)
    assert found["note"].unique().len() == 1
    redrawn = int(found["note"][0].removeprefix("redrawn:"))
    assert redrawn / (redrawn + 40_000) == pytest.approx(undefined, rel=0.05)


CLUSTERED = pl.DataFrame(
    {
        "user": ["u", "u", "u", "v", "v", "w", "w", "x"],
        "truth": ["a", "b", "a", "b", "c", "c", "a", "a"],
        "a": [0.75, 0.25, 0.5, 0.5, 0.0, 0.25, 0.25, 0.0],
        "b": [0.25, 0.5, 0.25, 0.25, 0.25, 0.5, 0.25, 0.5],
        "c": [0.0, 0.25, 0.25, 0.25, 0.75, 0.25, 0.5, 0.5],
    }
)


def test_resamples_draw_whole_clusters():
    users = CLUSTERED.partition_by("user", maintain_order=True, include_key=False)
    rows = [[(1, *row) for row in user.rows()] for user in users]
    drawn = [
        by_counting([row for i in place for row in rows[i]], ABC)
        for place in product(range(4), repeat=4)
    ]
    options = {"ci": "bootstrap", "n_boot": 40_000, "seed": 2}
    found = rf.multiclass_auc(CLUSTERED, "truth", ABC, cluster="user", **options)
    for name in AVERAGES:
        values = [float(one[name]) for one in drawn if one[name] is not None]
        own = found.filter(pl.col("average") == name)
        assert own["se"].item() == pytest.approx(pstdev(values), rel=0.02)
    undefined = sum(one["macro"] is None for one in drawn) / len(drawn)
    redrawn = int(found["note"][0].removeprefix("redrawn:"))
    assert redrawn / (redrawn + 40_000) == pytest.approx(undefined, rel=0.2)
    named = CLUSTERED.with_columns(pl.col("user").replace({"u": "z", "x": "o"}))
    assert_frame_equal(
        rf.multiclass_auc(named, "truth", ABC, cluster="user").drop("note"),
        rf.multiclass_auc(CLUSTERED, "truth", ABC).drop("note"),
    )
    single = rf.multiclass_auc(CLUSTERED, "truth", ABC, cluster=pl.lit(1), **options)
    assert single["note"].to_list() == ["zero_variance"] * 4


DIGITS = rf.datasets.digits().filter(pl.col("label") < 4).drop("fold", "id")
DIGIT = {digit: f"p{digit}" for digit in range(4)}
BOOT = {"ci": "bootstrap", "n_boot": 200, "seed": 3}


def test_draws_of_a_group_depend_only_on_seed_and_key():
    every = rf.multiclass_auc(DIGITS, "label", DIGIT, by="model", **BOOT)
    alone = DIGITS.filter(pl.col("model") == "naive_bayes")
    again = rf.multiclass_auc(shuffled(alone, 5), "label", DIGIT, by="model", **BOOT)
    assert_frame_equal(again, every.filter(pl.col("model") == "naive_bayes"), check_exact=True)
    other = rf.multiclass_auc(alone, "label", DIGIT, by="model", **{**BOOT, "seed": 4})
    assert other["lower"].to_list() != again["lower"].to_list()


def test_a_table_with_counts_has_the_intervals_of_its_expansion():
    tree = DIGITS.filter(pl.col("model") == "decision_tree").drop("model")
    counted = tree.group_by(pl.all()).agg(count=pl.len())
    assert counted.height < tree.height
    assert_frame_equal(
        rf.multiclass_auc(counted, "label", DIGIT, count="count", **BOOT),
        rf.multiclass_auc(tree, "label", DIGIT, **BOOT),
        check_exact=True,
    )


def test_percentile_and_basic_limits_enclose_the_estimate():
    plain = rf.multiclass_auc(DIGITS, "label", DIGIT, **BOOT)
    basic = rf.multiclass_auc(DIGITS, "label", DIGIT, **{**BOOT, "ci": "bootstrap_basic"})
    assert (plain["lower"] < plain["auc"]).all()
    assert (plain["auc"] < plain["upper"]).all()
    reflected = (2 * plain["auc"] - plain["upper"]).to_list()
    assert basic["lower"].to_list() == pytest.approx(reflected, abs=1e-14)
    assert plain["se"].to_list() == basic["se"].to_list()
    assert plain["ci_level"].to_list() == [0.95] * 4


@pytest.mark.parametrize("cluster", [None, "user"])
def test_bca_limits_are_quantiles_shifted_by_bias_and_skewness(cluster, monkeypatch):
    calls = []
    replicates = measured._resampled_averages

    def record(*arguments):
        calls.append((arguments[0], replicates(*arguments)[0]))
        return replicates(*arguments)

    monkeypatch.setattr(measured, "_resampled_averages", record)
    options = {"ci": "bootstrap_bca", "n_boot": 999, "seed": 1, "cluster": cluster}
    found = rf.multiclass_auc(CLUSTERED, "truth", ABC, **options)
    ((rows, values),) = calls
    influence = influences(rows, AVERAGES)
    normal = NormalDist()
    for one in found.iter_rows(named=True):
        drawn = np.sort(values[:, AVERAGES.index(one["average"])])
        tied = np.isclose(drawn, one["auc"], rtol=1e-12, atol=1e-12)
        share = (((drawn < one["auc"]) & ~tied).sum() + tied.sum() / 2) / len(drawn)
        bias, a = normal.inv_cdf(share), row_acceleration(rows, influence[one["average"]])
        for name, p in (("lower", 0.025), ("upper", 0.975)):
            z = bias + normal.inv_cdf(p)
            place = normal.cdf(bias + z / (1 - a * z)) * 1000 - 1
            first = min(max(int(place), 0), 998)
            ends = drawn[first], drawn[min(first + 1, 998)]
            limit = ends[0] + (place - first) * (ends[1] - ends[0]) if place >= 0 else drawn[0]
            assert one[name] == pytest.approx(limit, abs=1e-12)
        assert one["ci_method"] == "bootstrap_bca"


def test_bca_limits_are_null_if_all_resamples_are_on_one_side_of_the_estimate():
    options = {"ci": "bootstrap_bca", "n_boot": 2, "seed": 0, "average": "macro"}
    (found,) = rf.multiclass_auc(CLUSTERED, "truth", ABC, **options).to_dicts()
    plain = rf.multiclass_auc(CLUSTERED, "truth", ABC, **{**options, "ci": "bootstrap"})
    assert plain["upper"].item() < found["auc"] or plain["lower"].item() > found["auc"]
    assert found["se"] == plain["se"].item()
    assert found["lower"] is found["upper"] is found["ci_method"] is None


def test_clusters_with_counts_raise():
    with pytest.raises(rf.OptionValueError) as caught:
        rf.multiclass_auc(CLUSTERED.with_columns(n=1), "truth", ABC, cluster="user", count="n")
    assert str(caught.value).startswith(
        "count='n': with cluster=, each row must be one prediction.\n"
    )


def test_areas_with_variance_0_have_no_interval():
    sure = pl.DataFrame({"truth": ["a", "b"] * 5, "a": [1.0, 0.0] * 5, "b": [0.0, 1.0] * 5})
    areas = rf.multiclass_auc(sure, "truth", ["a", "b"], **BOOT)
    assert areas["auc"].to_list() == [1.0] * 4
    assert areas["note"].to_list() == ["zero_variance"] * 4
    assert areas["se"].null_count() == areas["upper"].null_count() == 4


@pytest.mark.parametrize("name", ["^.*$", "*", "", "(score 0)", "(code)", "(lists)", "0", "🙂"])
def test_groups_and_classes_may_have_any_name(frame, name):
    expected = rf.multiclass_auc(SMALL, "truth", ABC, by="g")
    grouped = rf.multiclass_auc(like(frame, SMALL.rename({"g": name})), "truth", ABC, by=name)
    assert_frame_equal(grouped, like(frame, expected.rename({"g": name})))
    table = SMALL.rename({"a": name}).with_columns(pl.col("truth").replace("a", name))
    named = rf.multiclass_auc(like(frame, table), "truth", [name, "b", "c"], by="g")
    assert_frame_equal(named, like(frame, expected))


# fmt: off
WRONG = [
    ({"average": "mean"}, rf.UnknownOptionError,
     "average='mean': unknown value.\nChoose one of: 'hand_till', 'macro', "),
    ({"average": []}, rf.OptionValueError, "average=[]: expected at least one average.\n"),
    ({"average": ["micro", "micro"]}, rf.RepeatedNameError,
     "average='micro': the name is given more than once.\n"),
    ({"ci": "delong"}, rf.UnknownOptionError, "ci='delong': unknown value.\n"),
    ({"seed": -1}, rf.OptionValueError, "seed=-1: expected an integer of at least 0, or None.\n"),
    ({"by": "n"}, rf.ReservedColumnError, "by='n': the result already has a column of this "),
    ({"by": "gg"}, rf.MissingColumnError, "by='gg': the frame has no column of this name.\n"),
    ({"weight": "g"}, rf.ColumnTypeError, "weight='g': the column has type String.\n"),
    ({"scores": ["a", "b"]}, rf.LabelError, "label='truth': these labels have no score: 'c'.\n"),
    ({"label": {"a": "g"}}, rf.OptionValueError,
     ("label=['a']: the classes of label= and scores= differ: no label for 'b', 'c'.\n"
     "Pass a label column and a score for each class.")),
    ({"scores": "a", "classes": "g"}, rf.OptionValueError,
     ("classes='g': expected a column of scores for each class, instead of one row per "
     "instance and class.\n"
     "Pivot the table first, such as .pivot('g', index=\"id\", …).")),
]
# fmt: on


@pytest.mark.parametrize(("options", "error", "text"), WRONG, ids=[str(one[0]) for one in WRONG])
def test_wrong_inputs_raise_errors_with_the_expected_text(frame, options, error, text):
    given = {"label": "truth", "scores": ABC, **options}
    rows = like(frame, SMALL.with_columns(n=1))
    with pytest.raises(error) as caught:
        rf.multiclass_auc(rows, **given).lazy().collect()
    assert str(caught.value).startswith(text)


def test_the_error_for_a_short_list_shows_it():
    packed = pl.DataFrame({"truth": ["a", "b"], "p": [[0.1, 0.9], [0.5]]})
    with pytest.raises(rf.OptionValueError) as caught:
        rf.multiclass_auc(packed, "truth", "p", classes=["a", "b"])
    assert str(caught.value) == (
        "scores='p': expected 2 scores in each row, one for each class.\n"
        "One row has [0.5].\nCorrect such rows, or remove them with .filter()."
    )
