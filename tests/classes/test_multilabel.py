"""`multiclass_auc` of rows that belong to several classes, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score

import rocframe as rf
from rocframe.classes.class_table import MulticlassRows
from rocframe.classes.multiclass_auc import influences

AVERAGES = ["macro", "weighted", "micro"]
TAGS = ["news", "sport", "arts"]
LABEL = {tag: f"is_{tag}" for tag in TAGS}
BOOT = {"ci": "bootstrap_bca", "n_boot": 200, "seed": 4}


def random_table(n, n_groups, seed):
    """Return rows of groups, with ties of scores, and with rows of no and of all classes."""
    random = np.random.default_rng(seed)
    labels = random.random((n, 3)) < [0.3, 0.5, 0.7]
    scores = np.round(labels * 0.4 + random.random((n, 3)), 1)
    return pl.DataFrame(
        {
            "g": random.integers(0, n_groups, n),
            **{name: labels[:, i] for i, name in enumerate(LABEL.values())},
            **{tag: scores[:, i] for i, tag in enumerate(TAGS)},
            "w": random.random(n),
            "n": random.integers(1, 4, n),
            "tags": [[t for t, own in zip(TAGS, row, strict=True) if own] for row in labels],
        }
    )


def areas_of(rows, weight=None):
    """Return the averages of scikit-learn over the classes with an area."""
    truth, scores = rows.select(LABEL.values()).to_numpy(), rows.select(TAGS).to_numpy()
    weights = None if weight is None else rows[weight].to_numpy()
    used = [i for i in range(3) if 0 < truth[:, i].sum() < len(rows)]
    return [
        roc_auc_score(
            truth if average == "micro" else truth[:, used],
            scores if average == "micro" else scores[:, used],
            average=average,
            sample_weight=weights,
        )
        for average in AVERAGES
    ]


# Many small groups are computed together, and a few large groups one after the other.
@pytest.mark.parametrize(("n", "n_groups"), [(200, 12), (1500, 2)])
@pytest.mark.parametrize("weight", [None, "w", "n"])
def test_averages_equal_those_of_scikit_learn(n, n_groups, weight):
    table = random_table(n, n_groups, seed=n)
    rows = table if weight else table.lazy()
    actual = rf.multiclass_auc(rows, LABEL, TAGS, by="g", weight=weight)
    assert isinstance(actual, type(rows))
    actual = actual.lazy().collect()
    assert actual["average"].to_list() == AVERAGES * n_groups
    for (group,), found in actual.group_by("g"):
        expected = areas_of(table.filter(g=group), weight)
        assert found["auc"].to_list() == pytest.approx(expected, abs=1e-12)
    if weight is None:
        lists = rf.multiclass_auc(table, "tags", TAGS, by="g")
        assert_frame_equal(lists, actual, rel_tol=0, abs_tol=0)
        binary = table.with_columns(pl.col(LABEL.values()).cast(pl.Int8))
        assert_frame_equal(rf.multiclass_auc(binary, LABEL, TAGS, by="g"), actual)


def test_lists_of_classes_have_the_binary_predictions_of_label_columns():
    table = random_table(30, 2, seed=8)
    options = {"keep": "g"}
    expected = rf.one_vs_rest(table, LABEL, TAGS, **options)
    assert_frame_equal(rf.one_vs_rest(table, "tags", TAGS, **options), expected)
    enum = table.with_columns(pl.col("tags").cast(pl.List(pl.Enum(TAGS))))
    found = rf.one_vs_rest(enum.lazy(), "tags", TAGS, **options).collect()
    assert_frame_equal(found.with_columns(pl.col("class").cast(pl.String)), expected)
    with pytest.raises(rf.LabelError, match="label='tags': these labels have no score: 'arts'"):
        rf.one_vs_rest(table, "tags", ["news", "sport"])


def test_counts_repeat_rows():
    table = random_table(60, 3, seed=1)
    repeated = table.select(pl.exclude("n", "tags").repeat_by("n")).explode(pl.all())
    assert_frame_equal(
        rf.multiclass_auc(table, LABEL, TAGS, by="g", count="n", **BOOT),
        rf.multiclass_auc(repeated, LABEL, TAGS, by="g", **BOOT),
        rel_tol=0,
        abs_tol=0,
    )


def test_one_class_per_row_has_the_averages_of_a_single_label():
    table = random_table(300, 4, seed=2).with_columns(truth=pl.Series(TAGS * 100))
    labels = {tag: pl.col("truth") == tag for tag in TAGS}
    options = {"by": "g", "average": AVERAGES}
    single = rf.multiclass_auc(table, "truth", TAGS, **options)
    several = rf.multiclass_auc(table, labels, TAGS, **options)
    assert_frame_equal(several, single, abs_tol=1e-12)
    some = table.with_columns(pl.when(pl.col("w") > 0.2).then("news").alias("news"))
    worst = {"by": "g", "average": AVERAGES, "missing": "worst"}
    assert_frame_equal(
        rf.multiclass_auc(some, labels, TAGS, **worst),
        rf.multiclass_auc(some, "truth", TAGS, **worst),
    )


def test_a_missing_score_loses_every_pair():
    table = random_table(80, 1, seed=7)
    some = table.with_columns(pl.when(pl.col("w") > 0.3).then("sport").alias("sport"))
    actual = rf.multiclass_auc(some, LABEL, TAGS, missing="worst", average=AVERAGES)
    truth = table.select(LABEL.values()).to_numpy()
    scores = some.select(TAGS).to_numpy()
    # A missing score is the lowest of the positives, and the highest of the negatives.
    scores = np.where(np.isnan(scores), np.where(truth, -9, 9), scores)
    expected = [roc_auc_score(truth, scores, average=average) for average in AVERAGES]
    assert actual["auc"].to_list() == pytest.approx(expected)
    assert actual["n_missing"].to_list() == [some["sport"].null_count()] * 3
    dropped = rf.multiclass_auc(some, LABEL, TAGS, missing="drop", average=AVERAGES)
    assert_frame_equal(
        dropped.drop("n_missing"),
        rf.multiclass_auc(some.drop_nulls(), LABEL, TAGS, average=AVERAGES).drop("n_missing"),
    )


def test_an_influence_is_the_derivative_by_the_weight_of_a_row():
    table = random_table(30, 1, seed=5)
    truth, scores = table.select(LABEL.values()).to_numpy(), table.select(TAGS).to_numpy()
    found = influences(
        MulticlassRows(
            code=np.zeros(30, np.int32),
            labels=truth,
            scores=[*scores.T],
            scored=[None] * 3,
            count=np.ones(30, np.int64),
            weight=None,
        ),
        AVERAGES,
    )
    step = 1e-4
    for i in range(30):
        ends = []
        for sign in (-1, 1):
            weight = np.ones(30)
            weight[i] += sign * step
            ends.append(
                [roc_auc_score(truth, scores, average=a, sample_weight=weight) for a in AVERAGES]
            )
        for name, low, high in zip(AVERAGES, *ends, strict=True):
            assert found[name][i] == pytest.approx((high - low) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("cluster", [None, "id"])
def test_intervals_resample_rows_or_clusters(cluster):
    table = random_table(200, 1, seed=9).with_columns(id=pl.int_range(200) // 2)
    found = rf.multiclass_auc(
        table, LABEL, TAGS, ci="bootstrap", n_boot=2000, seed=1, cluster=cluster, count=None
    )
    random = np.random.default_rng(3)
    drawn = random.integers(0, 200, (400, 200))
    if cluster is not None:
        first = 2 * random.integers(0, 100, (400, 100))
        drawn = np.hstack([first, first + 1])
    resamples = table[drawn.ravel()].with_columns(
        resample=pl.int_range(400).repeat_by(200).explode()
    )
    areas = rf.multiclass_auc(resamples, LABEL, TAGS, by="resample")
    replicates = areas["auc"].to_numpy().reshape(400, len(AVERAGES))
    assert found["se"].to_list() == pytest.approx(np.std(replicates, axis=0).tolist(), rel=0.15)
    limits = np.quantile(replicates, [0.025, 0.975], axis=0)
    assert found["lower"].to_list() == pytest.approx(limits[0].tolist(), abs=0.015)
    assert found["upper"].to_list() == pytest.approx(limits[1].tolist(), abs=0.015)


def test_classes_without_positives_or_without_negatives_are_left_out():
    table = random_table(40, 1, seed=3).with_columns(is_news=False)
    found = rf.multiclass_auc(table, LABEL, TAGS)
    assert found["auc"].to_list() == pytest.approx(areas_of(table))
    assert found["n_classes_used"].to_list() == [2] * 3
    assert found["note"].to_list() == ["left_out:1 (news)"] * 2 + [None]
    none = table.with_columns(is_news=True, is_sport=True, is_arts=False)
    empty = rf.multiclass_auc(none, LABEL, TAGS, **BOOT)
    assert empty["auc"].null_count() == 3
    assert empty.select("n_classes_used", "note").unique().row(0) == (0, "one_class")


ERRORS = {
    "hand_till": (
        {"average": ["macro", "hand_till"]},
        (
            "average='hand_till': pairs of classes are undefined if rows can belong to several "
            'classes.\nUse "macro", "weighted" or "micro".'
        ),
    ),
    "hand_till of lists": (
        {"label": "tags", "average": "hand_till"},
        "average='hand_till': pairs of classes are undefined",
    ),
    "other classes": (
        {"scores": {"news": "news", "sport": "sport"}},
        (
            "label=['news', 'sport', 'arts']: the classes of label= and scores= differ: no "
            "score for 'arts'."
        ),
    ),
    "a class without a score": (
        {"label": "tags", "scores": ["news", "sport"]},
        "label='tags': these labels have no score: 'arts'.\n",
    ),
    "labels that are numbers": (
        {"label": {**LABEL, "news": "n"}},
        (
            "label='n': each label column must contain only Boolean values, or only the numbers 0 "
            "and 1.\n"
        ),
    ),
    "lists of numbers": (
        {"label": pl.concat_list("n")},
        "scores=['news', 'sport', 'arts']: some of these classes cannot be labels of column 'n'",
    ),
    "a label that is a group": ({"by": "is_news"}, "by='is_news': this is the same column as"),
}


@pytest.mark.parametrize(("options", "text"), ERRORS.values(), ids=ERRORS)
def test_wrong_inputs_raise(frame, options, text):
    table = random_table(20, 1, seed=3)
    rows = table.lazy() if frame is pl.LazyFrame else table
    with pytest.raises(rf.RocframeError) as caught:
        rf.multiclass_auc(rows, **{"label": LABEL, "scores": TAGS, **options}).lazy().collect()
    assert str(caught.value).startswith(text)


def test_missing_labels_are_errors_or_left_out():
    table = random_table(50, 1, seed=3)
    some = table.with_columns(pl.when(pl.col("w") > 0.5).then("is_arts").alias("is_arts"))
    with pytest.raises(rf.MissingValuesError, match="'is_news, is_sport, is_arts' is null or NaN"):
        rf.multiclass_auc(some, LABEL, TAGS)
    found = rf.multiclass_auc(some, LABEL, TAGS, missing="drop")
    assert found["auc"].to_list() == pytest.approx(areas_of(table.filter(pl.col("w") > 0.5)))
    assert found["n_missing"].to_list() == [some["is_arts"].null_count()] * 3


@pytest.mark.parametrize("array", [False, True])
def test_a_row_with_a_null_or_nan_in_its_list_has_a_missing_label(frame, array):
    lists = [["0", None], ["1", "0"], [None, None], ["0", "0"], ["1", "1"], None]
    scores = {"0": [0.9, 0.8, 0.1, 0.3, 0.4, 0.5], "1": [0.2, 0.8, 0.1, 0.5, 0.7, 0.5]}
    tables = {
        "text": pl.DataFrame({"label": lists, **scores}),
        "nan": pl.DataFrame(
            {"label": [row and [float(x or "nan") for x in row] for row in lists], **scores}
        ),
    }
    for name, table in tables.items():
        classes = {"0": "0", "1": "1"} if name == "text" else {0.0: "0", 1.0: "1"}
        dtype = pl.Array(table.schema["label"].inner, 2) if array else table.schema["label"]
        rows = frame(table.cast({"label": dtype}).to_dict(as_series=True))
        with pytest.raises(rf.MissingValuesError, match="'label' is null or NaN in 3 rows"):
            rf.multiclass_auc(rows, "label", classes).lazy().collect()
        dropped = rf.multiclass_auc(rows, "label", classes, missing="drop").lazy().collect()
        assert dropped.select("n", "n_missing").unique().row(0) == (3, 3)
        known = table[[1, 3, 4]]
        assert_frame_equal(
            dropped.drop("n_missing"), rf.multiclass_auc(known, "label", classes).drop("n_missing")
        )
        rest = rf.one_vs_rest(rows, "label", classes).lazy().collect()
        assert rest.filter(pl.col("id").is_in([0, 2, 5]))["label"].null_count() == len(rest) // 2
