"""`multiclass_metrics`: losses, accuracies and averages of metrics over many classes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

ABC = ["a", "b", "c"]
ROWS = pl.DataFrame(
    {
        "g": ["x", "x", "x", "y"],
        "truth": ["a", "b", "c", "c"],
        "a": [0.5, 0.25, 0.5, 0.0],
        "b": [0.25, 0.25, 0.5, 1.0],
        "c": [0.25, 0.5, 0.0, 0.0],
    }
)
EPSILON = 2.0**-52


def like(frame, table):
    return table.lazy() if frame is pl.LazyFrame else table


def random_table(n, k, n_groups, seed):
    random = np.random.default_rng(seed)
    names = [f"p{i}" for i in range(k)]
    matrix = random.dirichlet(np.full(k, 0.5), n)
    return pl.DataFrame(matrix, schema=names).with_columns(
        truth=pl.Series(random.integers(0, k, n)),
        g=pl.Series(random.integers(0, n_groups, n)),
        w=pl.Series(random.random(n)),
        n=pl.Series(random.integers(1, 4, n)),
    ), dict(enumerate(names))


def test_each_group_has_one_row(frame):
    actual = rf.multiclass_metrics(like(frame, ROWS), "truth", ABC, by="g")
    expected = pl.DataFrame(
        {
            "g": ["x", "y"],
            "brier": [(0.375 + 0.875 + 1.5) / 3, 2.0],
            "log_loss": [(math.log(2) + math.log(4) - math.log(EPSILON)) / 3, -math.log(EPSILON)],
            # The predicted classes are a, c, a and b.
            "accuracy": [1 / 3, 0.0],
            "balanced_accuracy": [1 / 3, 0.0],
            "macro_f1": [2 / 9, 0.0],
            "mcc": [0.0, None],
            "n": [3, 1],
            "n_classes": [3, 3],
            "n_classes_used": [3, 1],
            "n_classes_predicted": [2, 1],
            "n_missing": [0, 0],
            "note": [None, "one_class"],
        },
        schema_overrides={"note": pl.String},
    )
    assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize(("k", "weighted"), [(3, False), (3, True), (7, False)])
def test_losses_equal_those_of_scikit_learn(k, weighted):
    pytest.importorskip("sklearn", "1.8")  # the first version with Brier scores of many classes
    metrics = pytest.importorskip("sklearn.metrics")
    table, scores = random_table(400, k, 3, seed=k)
    weight = "w" if weighted else None
    actual = rf.multiclass_metrics(table, "truth", scores, by="g", weight=weight)
    for row in actual.iter_rows(named=True):
        own = table.filter(g=row["g"])
        matrix, truth = own.select(scores.values()).to_numpy(), own["truth"].to_numpy()
        options = {"labels": range(k), "sample_weight": own["w"].to_numpy() if weighted else None}
        assert row["brier"] == pytest.approx(
            metrics.brier_score_loss(truth, matrix, **options), abs=1e-12
        )
        assert row["log_loss"] == pytest.approx(
            metrics.log_loss(truth, matrix, **options), abs=1e-12
        )
        accuracy = metrics.accuracy_score(
            truth, matrix.argmax(axis=1), sample_weight=options["sample_weight"]
        )
        assert row["accuracy"] == pytest.approx(accuracy, abs=1e-12)


eighths = st.lists(st.integers(0, 8), min_size=2, max_size=2).map(sorted)


@given(st.lists(st.tuples(st.integers(0, 2), eighths, st.integers(1, 5)), min_size=1, max_size=9))
def test_losses_equal_exact_fractions(rows):
    parts = [(low, high - low, 8 - high) for _, (low, high), _ in rows]
    table = pl.DataFrame(
        {
            "truth": [truth for truth, _, _ in rows],
            **{f"p{i}": [part[i] / 8 for part in parts] for i in range(3)},
            "count": [count for _, _, count in rows],
        }
    )
    actual = rf.multiclass_metrics(table, "truth", {0: "p0", 1: "p1", 2: "p2"}, count="count")
    total = sum(count for _, _, count in rows)
    squares = sum(
        count * sum((Fraction(part, 8) - (i == truth)) ** 2 for i, part in enumerate(three))
        for (truth, _, count), three in zip(rows, parts, strict=True)
    )
    correct = sum(
        count * (three.index(max(three)) == truth)
        for (truth, _, count), three in zip(rows, parts, strict=True)
    )
    logs = math.fsum(
        -count * math.log(min(max(three[truth] / 8, EPSILON), 1 - EPSILON))
        for (truth, _, count), three in zip(rows, parts, strict=True)
    )
    assert actual["brier"].item() == float(squares / total)
    assert actual["accuracy"].item() == float(Fraction(correct, total))
    assert actual["log_loss"].item() == pytest.approx(logs / total, rel=1e-14)
    repeated = table.select(pl.exclude("count").repeat_by("count").explode())
    assert_frame_equal(
        rf.multiclass_metrics(repeated, "truth", {0: "p0", 1: "p1", 2: "p2"}), actual, rel_tol=0
    )


AVERAGED = [
    f"{average}_{rate}"
    for average in ("macro", "micro", "weighted")
    for rate in ("precision", "recall", "f1", "f_beta", "jaccard")
]


def decided_table(n, k, seed):
    """Return labels and scores of more classes than those that occur, with ties of scores."""
    random = np.random.default_rng(seed)
    names = [f"p{i}" for i in range(k)]
    matrix = random.integers(0, 9, (n, k)) - 4.0
    matrix[:, -1] = -9  # the last class is never predicted
    truth = np.where(random.random(n) < 0.4, matrix.argmax(axis=1), random.integers(1, k, n))
    weights = {"w": random.random(n), "n": random.integers(1, 4, n)}
    return pl.DataFrame(matrix, schema=names).with_columns(truth=truth, **weights), dict(
        enumerate(names)
    )


@pytest.mark.parametrize(("n", "k", "weight"), [(60, 3, None), (300, 6, "w"), (9, 5, "n")])
def test_metrics_of_predicted_classes_equal_those_of_scikit_learn(n, k, weight):
    metrics = pytest.importorskip("sklearn.metrics")
    table, scores = decided_table(n, k, seed=k)
    truth, matrix = table["truth"].to_numpy(), table.select(scores.values()).to_numpy()
    predicted = matrix.argmax(axis=1)  # the first of equal scores, as in rocframe
    options = {"sample_weight": None if weight is None else table[weight].to_numpy()}
    expected = {
        "accuracy": metrics.accuracy_score(truth, predicted, **options),
        "balanced_accuracy": metrics.recall_score(
            truth, predicted, average="macro", zero_division=np.nan, labels=range(k), **options
        ),
        "kappa": metrics.cohen_kappa_score(truth, predicted, **options),
        "mcc": metrics.matthews_corrcoef(truth, predicted, **options),
    }
    for name in AVERAGED:
        average, rate = name.split("_", 1)
        every = {"average": average, "labels": range(k), **options}
        if rate == "jaccard":
            used = sorted({*truth, *predicted})  # scikit-learn has no way to leave out 0/0
            every["labels"] = used
            expected[name] = metrics.jaccard_score(truth, predicted, **every)
            continue
        found = metrics.precision_recall_fscore_support(
            truth, predicted, beta=2 if rate == "f_beta" else 1, zero_division=np.nan, **every
        )
        expected[name] = found[("precision", "recall", "f1").index(rate.replace("_beta", "1"))]
    # scikit-learn prefers the last of equal scores, so the classes are reversed.
    for top in range(1, min(k, 4)):
        expected[f"top_{top}_accuracy"] = metrics.top_k_accuracy_score(
            k - 1 - truth, matrix[:, ::-1], k=top, labels=range(k), **options
        )
    actual = rf.multiclass_metrics(
        table, "truth", scores, metrics=list(expected), beta=2, weight=weight, count=None
    )
    assert actual.row(0, named=True) | expected == pytest.approx(
        actual.row(0, named=True), abs=1e-12
    )
    assert actual.select("n", "n_classes").row(0) == (n, k)
    used = [len(set(values.tolist())) for values in (truth, predicted)]
    assert [*actual.select("n_classes_used", "n_classes_predicted").row(0)] == used
    if weight == "n":
        repeated = table.select(pl.exclude("n", "w").repeat_by("n").explode())
        found, other = (
            rf.multiclass_metrics(rows, "truth", scores, metrics=list(expected), count=count)
            for rows, count in ((table, "n"), (repeated, None))
        )
        assert_frame_equal(found, other, rel_tol=0, abs_tol=0)


def test_specificity_and_npv_are_those_of_each_class_against_the_others():
    table, scores = decided_table(80, 4, seed=2)
    names = [f"{a}_{rate}" for a in ("macro", "micro") for rate in ("specificity", "npv")]
    actual = rf.multiclass_metrics(table, "truth", scores, metrics=names, count=None)
    truth = table["truth"].to_numpy()
    predicted = table.select(scores.values()).to_numpy().argmax(axis=1)
    tn, fp, fn = (
        np.array([((truth == i) == t)[(predicted == i) == p].sum() for i in range(4)])
        for t, p in ((False, False), (False, True), (True, False))
    )
    assert actual.row(0)[:4] == pytest.approx(
        (
            (tn / (tn + fp)).mean(),
            (tn / (tn + fn)).mean(),
            tn.sum() / (tn + fp).sum(),
            tn.sum() / (tn + fn).sum(),
        )
    )


def test_shares_of_the_classes_weight_their_rows():
    table, scores = decided_table(200, 4, seed=1)
    table = table.with_columns(truth=pl.when(pl.col("n") > 2).then(0).otherwise("truth"))
    prior = {0: 0.1, 1: 0.4, 2: 0.3, 3: 0.2}
    sizes = table["truth"].value_counts()
    names = [*AVERAGED, "accuracy", "top_2_accuracy", "kappa", "mcc", "expected_cost"]
    options = {"metrics": names, "costs": {(1, 2): 5, (3, 0): 0}, "count": None, "beta": 0.5}
    actual = rf.multiclass_metrics(table, "truth", scores, prior=prior, **options)
    weighted = table.join(sizes.rename({"count": "size"}), on="truth").with_columns(
        w=pl.col("truth").replace_strict(prior) / pl.col("size")
    )
    expected = rf.multiclass_metrics(weighted, "truth", scores, weight="w", **options)
    assert_frame_equal(actual.select(names), expected.select(names), abs_tol=1e-12)
    own = table.filter(pl.col("truth") != 2)
    missing = rf.multiclass_metrics(own, "truth", scores, prior=prior, **options)
    assert missing.select(pl.col(names).is_null().all()).row(0) == (True,) * len(names)
    assert missing["note"].item() == "absent_class"
    # Losses: means of the classes, with their shares as weights.
    table, scores = random_table(100, 3, 1, seed=3)
    prior = {0: 0.1, 1: 0.6, 2: 0.3}
    by_class = table.with_columns(own="truth")
    of_class = rf.multiclass_metrics(by_class, "truth", scores, by="own", metrics="brier")
    found = rf.multiclass_metrics(table, "truth", scores, prior=prior, metrics="brier")
    assert found["brier"].item() == pytest.approx(
        np.average(of_class["brier"], weights=[*prior.values()]), rel=1e-12
    )


def test_the_expected_cost_is_the_mean_cost_of_the_rows():
    costs = np.array([[0, 1, 4], [2, 0, 3], [7, 1, 0]])
    table, scores = decided_table(90, 3, seed=6)
    truth = table["truth"].to_numpy()
    predicted = table.select(scores.values()).to_numpy().argmax(axis=1)
    pairs = {(i, j): float(costs[i, j]) for i in range(3) for j in range(3) if costs[i, j] > 1}
    for given_costs in (costs, costs.tolist(), pairs):
        actual = rf.multiclass_metrics(
            table, "truth", scores, metrics="expected_cost", costs=given_costs, count=None
        )
        assert actual["expected_cost"].item() == pytest.approx(costs[truth, predicted].mean())


def test_undefined_metrics_are_null_and_f_is_0_without_true_positives():
    rows = pl.DataFrame({"truth": ["a", "a"], "a": [0.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 0.0]})
    names = ["macro_precision", "macro_recall", "macro_f1", "weighted_precision", "kappa", "mcc"]
    actual = rf.multiclass_metrics(rows, "truth", ABC, metrics=names)
    # Precision: that of b only. Recall: that of a only. F1: those of a and b.
    assert actual.row(0)[: len(names)] == (0.0, 0.0, 0.0, None, 0.0, None)
    correct = rf.multiclass_metrics(rows.with_columns(truth=pl.lit("b")), "truth", ABC)
    # All rows are of one class, which is predicted for all: agreement by chance is 1.
    assert correct.select("accuracy", "macro_f1", "mcc").row(0) == (1.0, 1.0, None)


def test_a_correlation_with_one_class_is_null_also_for_weights_with_rounding_errors():
    random = np.random.default_rng(0)
    matrix = random.random((60, 4))
    rows = pl.DataFrame(matrix, schema=[*"abcd"]).with_columns(
        truth=pl.lit("a"), w=random.random(60) * 0.1, g=pl.int_range(60) // 6
    )
    found = rf.multiclass_metrics(rows, "truth", [*"abcd"], by="g", weight="w", metrics="mcc")
    assert found["mcc"].null_count() == 10
    assert found["note"].to_list() == ["one_class"] * 10


METRIC_ERRORS = {
    "unknown metric": (
        {"metrics": "macro_f2"},
        "metrics='macro_f2': unknown value.\nDid you mean metrics='macro_f1'?",
    ),
    "top 0": ({"metrics": ["top_0_accuracy"]}, "metrics='top_0_accuracy': unknown value."),
    "no metric": ({"metrics": []}, "metrics=[]: expected at least one name."),
    "no costs": (
        {"metrics": "expected_cost"},
        "metrics='expected_cost': the costs of errors are not given.",
    ),
    "unused costs": (
        {"costs": {("a", "b"): 2}},
        "costs={('a', 'b'): 2}: no metric in this call uses this option.",
    ),
    "unused beta": ({"beta": 2}, "beta=2: no metric in this call uses this option."),
    "class of a cost": (
        {"metrics": "expected_cost", "costs": {("a", "z"): 2}},
        "costs[('a', 'z')]=2: class 'z' is not in scores=.",
    ),
    "missing share": (
        {"prior": {"a": 0.5, "b": 0.5}},
        "prior={'a': 0.5, 'b': 0.5}: the share of class 'c' is missing.",
    ),
    "share of another class": (
        {"prior": {"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1}},
        "prior={'a': 0.5, 'b': 0.2, 'c': 0.2, 'd': 0.1}: there are no scores of class 'd'.",
    ),
    "several labels": (
        {"label": dict.fromkeys(ABC, "truth")},
        "label={'a': 'truth', 'b': 'truth', 'c': 'truth'}: expected one label column",
    ),
}


@pytest.mark.parametrize(("options", "text"), METRIC_ERRORS.values(), ids=METRIC_ERRORS)
def test_invalid_options_raise(frame, options, text):
    with pytest.raises(rf.RocframeError) as caught:
        rf.multiclass_metrics(
            like(frame, ROWS), **{"label": "truth", "scores": ABC, **options}
        ).lazy().collect()
    assert str(caught.value).startswith(text)


def test_the_former_name_raises_an_error_that_states_the_new_call():
    for namespace in (rf, ROWS.roc):
        with pytest.raises(AttributeError, match=r"Use .*multiclass_metrics\(label, scores, …\)"):
            namespace.multiclass_losses  # noqa: B018 - the access raises the error


def test_two_classes_have_twice_the_brier_score_and_the_log_loss_of_one_score():
    votes = rf.datasets.vote().filter(pl.col("model") != "linear_svm")
    binary = rf.summary(votes, "label", "score", by="model")
    both = {True: "score", False: 1 - pl.col("score")}
    actual = rf.multiclass_metrics(votes, "label", both, by="model")
    assert (actual["brier"] / 2).to_list() == pytest.approx(binary["brier"].to_list(), rel=1e-12)
    assert actual["log_loss"].to_list() == pytest.approx(binary["log_loss"].to_list(), rel=1e-12)


def test_the_brier_score_is_the_sum_of_the_brier_scores_of_the_classes():
    table, scores = random_table(200, 5, 1, seed=9)
    rest = rf.one_vs_rest(table, "truth", scores)
    of_classes = rf.summary(rest, "label", "score", by="class")["brier"].sum()
    actual = rf.multiclass_metrics(table, "truth", scores)
    assert actual["brier"].item() == pytest.approx(of_classes, rel=1e-12)


def test_the_accuracy_is_the_share_of_correct_top_labels():
    digits = rf.datasets.digits()
    scores = {digit: f"p{digit}" for digit in range(10)}
    top = rf.top_label(digits, "label", scores, id=["model", "id"])
    actual = rf.multiclass_metrics(digits, "label", scores, by="model")
    expected = top.group_by("model").agg(accuracy=pl.col("label").mean()).sort("model")
    assert_frame_equal(actual.select("model", "accuracy"), expected)


def test_results_do_not_depend_on_the_order_of_the_rows():
    table, scores = random_table(3000, 4, 7, seed=5)
    losses = rf.multiclass_metrics(table, "truth", scores, by="g", count="n")
    for seed in range(3):
        shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
        again = rf.multiclass_metrics(shuffled, "truth", scores, by="g", count="n")
        assert_frame_equal(again, losses, rel_tol=0, abs_tol=0)


def test_scores_may_be_in_one_column_of_lists():
    packed = ROWS.select("g", "truth", p=pl.concat_list(ABC))
    actual = rf.multiclass_metrics(packed, "truth", "p", classes=ABC, by="g")
    assert_frame_equal(actual, rf.multiclass_metrics(ROWS, "truth", ABC, by="g"))


def test_rows_with_missing_values_are_left_out_and_counted():
    rows = pl.DataFrame(
        {
            "truth": ["a", None, "b", "b"],
            "a": [0.5, 0.5, None, 0.25],
            "b": [0.5, 0.5, 1.0, 0.75],
            "n": [1, 2, 3, 1],
        }
    )
    actual = rf.multiclass_metrics(rows, "truth", ["a", "b"], count="n", missing="drop")
    assert actual.select("n", "n_missing").row(0) == (2, 5)
    assert actual["brier"].item() == (0.5 + 0.125) / 2
    with pytest.raises(rf.MissingValuesError) as caught:
        rf.multiclass_metrics(rows.drop_nulls("truth"), "truth", ["a", "b"])
    assert str(caught.value) == (
        "missing='raise': score column 'a' is null or NaN in 1 row.\n"
        'Use missing="drop" to leave these rows out.'
    )
    with pytest.raises(rf.UnknownOptionError) as caught:
        rf.multiclass_metrics(rows, "truth", ["a", "b"], missing="ignore")
    assert str(caught.value) == (
        "missing='ignore': unknown value.\nChoose one of: 'raise', 'drop'."
    )
    with pytest.raises(rf.OptionValueError) as caught:
        rf.multiclass_metrics(rows, "truth", ["a", "b"], missing="worst")
    assert str(caught.value) == (
        "missing='worst': a row without a score has no probability.\nUse missing=\"drop\"."
    )


def test_a_group_without_rows_has_a_note_and_does_not_change_other_groups():
    rows = ROWS.with_columns(truth=pl.when(pl.col("g") == "x").then("truth"))
    actual = rf.multiclass_metrics(rows, "truth", ABC, by="g", missing="drop")
    assert actual.select("g", "brier", "log_loss", "accuracy", "n", "n_missing", "note").rows() == [
        ("x", 2.75 / 3, pytest.approx(12.707698, abs=1e-6), 1 / 3, 3, 0, None),
        ("y", None, None, None, 0, 1, "no_rows"),
    ]
    empty = rf.multiclass_metrics(ROWS.clear(), "truth", ABC)
    assert empty.row(0) == (*[None] * 6, 0, 3, 0, 0, 0, "no_rows")


def test_rows_of_weight_0_are_ignored():
    rows = ROWS.with_columns(w=pl.Series([1.0, 0.0, 0.0, 0.0]))
    actual = rf.multiclass_metrics(rows, "truth", ABC, by="g", weight="w")
    assert actual["n"].to_list() == [1, 0]
    assert actual["brier"].to_list() == [0.375, None]


ERRORS = {
    "scores above 1": (
        ROWS.with_columns(pl.col("b") * 8),
        (
            "scores='b': 4 of 4 scores are outside [0, 1]; the scores range from 2 to 8.\n"
            "Brier score and logarithmic loss need probabilities: convert the scores first, for "
            "example with the softmax function. Other metrics accept any real score, such as "
            'metrics=["accuracy", "macro_f1"].'
        ),
    ),
    "infinite scores": (
        ROWS.with_columns(a=-math.inf),
        "scores='a': 4 of 4 scores are outside [0, 1]; the scores range from -inf to -inf.\n",
    ),
    "sums other than 1": (
        ROWS.with_columns(a=pl.Series([0.5, 0.2, 0.9, 0.0])),
        (
            "scores=['a', 'b', 'c']: the scores do not sum to 1 in 2 of 4 rows.\n"
            "The largest difference is in a row with the sum 1.4: 'a' 0.9, 'b' 0.5, 'c' 0.\n"
            "Pass the probabilities of all classes. If probabilities are rounded, divide each by "
            "the sum of its row."
        ),
    ),
}


@pytest.mark.parametrize(("table", "text"), ERRORS.values(), ids=ERRORS)
def test_scores_that_are_no_probabilities_raise(frame, table, text):
    with pytest.raises(rf.ScoreError) as caught:
        rf.multiclass_metrics(like(frame, table), "truth", ABC, by="g").lazy().collect()
    assert str(caught.value).startswith(text)


def test_sums_of_lists_are_checked_too():
    packed = ROWS.select("truth", p=pl.concat_list("a", "b", pl.col("c") / 2))
    with pytest.raises(rf.ScoreError) as caught:
        rf.multiclass_metrics(packed, "truth", "p", classes=ABC)
    assert str(caught.value).startswith(
        "scores='p': the scores do not sum to 1 in 2 of 4 rows.\n"
        "The largest difference is in a row with the sum 0.75: 0.25, 0.25, 0.25.\n"
    )


def test_rounding_errors_of_sums_are_accepted():
    table, scores = random_table(50, 4, 1, seed=0)
    rounded = table.with_columns(pl.col(*scores.values()).cast(pl.Float32))
    actual = rf.multiclass_metrics(rounded, "truth", scores)
    assert_frame_equal(actual, rf.multiclass_metrics(table, "truth", scores), rel_tol=1e-5)
    near = ROWS.with_columns(pl.col("a") + 9e-5)
    assert rf.multiclass_metrics(near, "truth", ABC)["n"].item() == 4


def test_a_table_with_one_row_per_class_raises():
    melted = ROWS.with_row_index("id").unpivot(ABC, index=["id", "truth"], variable_name="of")
    with pytest.raises(rf.OptionValueError, match=r"^classes='of': expected a column of scores"):
        rf.multiclass_metrics(melted, "truth", "value", classes="of")


def test_labels_without_a_score_raise():
    with pytest.raises(rf.LabelError, match=r"^label='truth': these labels have no score: 'c'"):
        rf.multiclass_metrics(ROWS, "truth", ["a", "b"])
