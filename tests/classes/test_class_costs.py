"""Metrics and thresholds at shares and costs of classes are compared with exact fractions."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import examples

CLASSES = ["a", "b", "c"]
PRIOR = {"a": 0.5, "b": 0.3, "c": 0.2}
COSTS = {("a", "b"): 5, ("b", "a"): 0, ("c", "a"): 0.5}
FRAME = pl.DataFrame(
    {
        "truth": ["a", "b", "c", "a", "b", "c", "a"],
        "a": [0.7, 0.2, 0.5, 0.4, 0.3, 0.1, 0.3],
        "b": [0.2, 0.5, 0.1, 0.5, 0.3, 0.6, 0.4],
        "c": [0.1, 0.3, 0.4, 0.1, 0.4, 0.3, 0.3],
    }
)


def curves(frame=FRAME, by="class", **options):
    rest = rf.one_vs_rest(frame, "truth", CLASSES, keep=[name for name in by if name == "g"])
    return rf.curve(rest, "label", "score", by=by, **options)


def exact(number):
    return Fraction(str(number))


def error_costs(name, prior, pairs):
    """Return the mean costs of a false positive and of a false negative of a class."""
    others = [other for other in prior if other != name]
    total = sum(exact(prior[other]) for other in others)
    return [
        sum(
            exact(prior[other]) * exact(pairs.get((other, name) if positive else (name, other), 1))
            for other in others
        )
        / total
        for positive in (True, False)
    ]


def expected_cost(row, prior, pairs):
    fp, fn = error_costs(row["class"], prior, pairs)
    share = exact(prior[row["class"]])
    return (1 - share) * fp * Fraction(row["fp"], row["fp"] + row["tn"]) + share * fn * Fraction(
        row["fn"], row["tp"] + row["fn"]
    )


def scaled_precision(row, prior):
    """Return MATLAB's scaled PPV, s₁ TP / (s₁ TP + s₂ FP)."""
    share = exact(prior[row["class"]])
    hits = share * Fraction(row["tp"], row["tp"] + row["fn"])
    alarms = (1 - share) * Fraction(row["fp"], row["fp"] + row["tn"])
    return hits / (hits + alarms) if hits + alarms else None


COST = st.sampled_from([0, 0.3, 1, 2, 5])
PAIRS = st.dictionaries(
    st.sampled_from([(i, j) for i in CLASSES for j in CLASSES if i != j]), COST, max_size=3
)
PRIORS = st.sampled_from([PRIOR, {"a": 0.1, "c": 0.1, "b": 0.8}])


@pytest.mark.hypothesis
@examples(1 / 4)
@given(PRIORS, PAIRS)
def test_metrics_and_best_rows_are_those_of_the_share_and_of_the_mean_costs_of_the_class(
    prior, pairs
):
    table = curves()
    if any(not any(error_costs(name, prior, pairs)) for name in CLASSES):
        with pytest.raises(rf.RocframeError, match="cost 0"):
            rf.add_metrics(table, "expected_cost", prior=prior, costs=pairs)
        return
    pairs = pairs or {("a", "b"): 1}
    found = rf.add_metrics(table, ["ppv", "expected_cost"], prior=prior, costs=pairs)
    assert_frame_equal(found.drop("ppv", "expected_cost"), table)
    costs, precisions = [], []
    for row in table.iter_rows(named=True):
        costs.append(expected_cost(row, prior, pairs))
        precisions.append(scaled_precision(row, prior))
    assert found["expected_cost"].to_list() == pytest.approx([float(c) for c in costs], abs=1e-12)
    assert found["ppv"].to_list() == pytest.approx(
        [None if p is None else float(p) for p in precisions], abs=1e-12
    )
    best = rf.operating_point(table, "expected_cost", prior=prior, costs=pairs)
    for name, threshold, value in best.select("class", "threshold", "value").iter_rows():
        rows = [i for i, row in enumerate(table["class"]) if row == name]
        lowest = min(rows, key=lambda i: costs[i])
        assert value == pytest.approx(float(costs[lowest]), abs=1e-12)
        assert costs[
            rows[table["threshold"].gather(rows).to_list().index(threshold)]
        ] == pytest.approx(costs[lowest], abs=1e-12)


def test_a_matrix_and_pairs_give_the_same_costs():
    matrix = [[0, 5, 1], [0, 0, 1], [0.5, 1, 0]]
    pairs, by_matrix = (
        rf.add_metrics(curves(), "expected_cost", prior=PRIOR, costs=costs)
        for costs in (COSTS, matrix)
    )
    assert_frame_equal(pairs, by_matrix)


def test_a_table_of_costs_has_a_row_for_each_true_class():
    matrix = [[0, 5, 1], [0, 0, 1], [0.5, 1, 0]]
    expected = rf.operating_point(curves(), "expected_cost", prior=PRIOR, costs=matrix)
    table = pl.DataFrame(matrix, schema=CLASSES, orient="row")
    for costs in (table, table.to_pandas(), table.to_arrow()):
        best = rf.operating_point(curves(), "expected_cost", prior=PRIOR, costs=costs)
        assert_frame_equal(best, expected)


def test_one_pair_of_costs_is_the_same_as_a_prevalence_and_costs_of_errors():
    table = curves()
    fp, fn = map(float, error_costs("a", PRIOR, COSTS))
    one = rf.operating_point(
        table.filter(pl.col("class") == "a"),
        ["expected_cost", "precision"],
        costs={"fp": fp, "fn": fn},
        prevalence=PRIOR["a"],
    )
    every = rf.operating_point(table, ["expected_cost", "precision"], prior=PRIOR, costs=COSTS)
    assert_frame_equal(every.filter(pl.col("class") == "a"), one)
    errors = rf.operating_point(table, "expected_cost", prior=PRIOR, costs={"fp": 1, "fn": 3})
    of_c = table.filter(pl.col("class") == "c")
    alone = rf.operating_point(of_c, "expected_cost", prevalence=0.2, costs={"fp": 1, "fn": 3})
    assert_frame_equal(errors.filter(pl.col("class") == "c"), alone)


def test_groups_stay_in_order_and_lazy_tables_stay_lazy():
    frame = pl.concat([FRAME.with_columns(g=pl.lit(g)) for g in ("y", "x", None)])
    table = curves(frame, by=["g", "class"])
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    best = rf.operating_point(shuffled, ["youden", "accuracy"], prior=PRIOR)
    keys = [
        (g, name, rule)
        for g in (None, "x", "y")
        for name in CLASSES
        for rule in ("youden", "accuracy")
    ]
    assert best.select("g", "class", "rule").rows() == keys
    added = rf.add_metrics(shuffled, "accuracy", prior=PRIOR)
    assert_frame_equal(added.drop("accuracy"), shuffled)
    lazy = shuffled.lazy().roc.add_metrics("accuracy", prior=PRIOR)
    assert_frame_equal(
        lazy.filter(pl.col("class") == "b").head(2).collect(),
        added.filter(pl.col("class") == "b").head(2),
    )
    empty = table.clear()
    assert rf.operating_point(empty, prior=PRIOR).schema == rf.operating_point(empty).schema
    assert rf.add_metrics(empty, "accuracy", prior=PRIOR).schema == added.schema


def test_numeric_classes_and_expressions_over_the_counts():
    frame = pl.DataFrame(
        {"truth": [0, 1, 2], "p": [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.5, 0.4]]}
    )
    rest = rf.one_vs_rest(frame, "truth", "p", classes=[0, 1, 2])
    table = rf.curve(rest, "label", "score", by="class")
    net = (pl.col("tp") - pl.col("fp")).alias("net")
    found = rf.add_metrics(table, [net, "npv"], prior={0: 0.2, 1: 0.2, 2: 0.6})
    assert_frame_equal(found.drop("npv"), table.with_columns(net))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"costs": COSTS},
            (
                "costs={('a', 'b'): 5, ('b', 'a'): 0, ('c', 'a'): 0.5}: costs of pairs of classes "
                "require the share of each class.\nUse, for example, prior={'a': 0.9, 'b': 0.1}."
            ),
        ),
        (
            {"prior": PRIOR, "costs": [[0, 1], [1, 0]]},
            (
                "costs=[[0, 1], [1, 0]]: expected a matrix of 3 × 3 costs, but this has 2 × 2.\n"
                "Pass a row for each true class and a column for each predicted class, in the "
                "order of prior=."
            ),
        ),
        (
            {"prior": PRIOR, "costs": {("a", "dog"): 1}},
            "costs[('a', 'dog')]=1: class 'dog' is not in prior=.\nThe classes are: 'a', 'b', 'c'.",
        ),
        (
            {"prior": PRIOR, "costs": {("a", "b"): -1}},
            (
                "costs[('a', 'b')]=-1: expected a finite number of at least 0.\n"
                "Use, for example, costs={('a', 'b'): 5}, the cost of predicting b for class a."
            ),
        ),
        (
            {"prior": PRIOR, "costs": {("a", "b"): 1, "fp": 1}},
            (
                "costs['fp']=1: the key of a cost must be a pair of the true class and the "
                "predicted class.\n"
                "Use, for example, costs={('a', 'b'): 5}, the cost of predicting b for class a."
            ),
        ),
        (
            {"prior": PRIOR, "costs": {("a", "a"): 1}},
            (
                "costs[('a', 'a')]=1: the cost of a correct prediction must be 0.\n"
                "Leave out this pair."
            ),
        ),
        (
            {"prior": PRIOR, "costs": [[0] * 3] * 3},
            (
                "costs=[[0, 0, 0], [0, 0, 0], [0, 0, 0]]: all errors that concern class 'a' cost "
                "0.\nUse, for example, costs={('a', 'b'): 5}, the cost of predicting b for "
                "class a."
            ),
        ),
        (
            {"prior": {"a": 0.5, "b": 0.3}, "costs": {"fp": 1}},
            (
                "prior={'a': 0.5, 'b': 0.3}: the shares sum to 0.8 instead of 1.\n"
                "Divide each share by the sum."
            ),
        ),
        (
            {"prior": {"a": 0.5, "b": 0.5}, "costs": {"fp": 1}},
            (
                "prior={'a': 0.5, 'b': 0.5}: the share of class 'c' is missing.\n"
                "Pass a share for every class of the table."
            ),
        ),
        (
            {"prior": {"a": 1, "b": 0}, "costs": {"fp": 1}},
            (
                "prior['a']=1: expected a number above 0 and below 1.\n"
                "Use, for example, prior['a']=0.1."
            ),
        ),
        (
            {"prior": 0.5, "costs": {"fp": 1}},
            (
                "prior=0.5: expected a mapping from two or more classes to their shares.\n"
                "Use, for example, prior={'a': 0.9, 'b': 0.1}."
            ),
        ),
        (
            {"prior": PRIOR, "prevalence": 0.1, "costs": {"fp": 1}},
            (
                "prevalence=0.1: this option cannot be used with prior=.\n"
                "Leave out prior= or prevalence=."
            ),
        ),
        (
            {"prior": PRIOR, "rule": "bayes", "costs": COSTS},
            (
                "prior={'a': 0.5, 'b': 0.3, 'c': 0.2}: this option cannot be used with "
                "rule='bayes'.\n"
                "Leave out prior=."
            ),
        ),
    ],
)
def test_wrong_shares_and_costs_are_named(options, message):
    with pytest.raises(rf.RocframeError) as error:
        rf.operating_point(curves(), **({"rule": "expected_cost"} | options))
    assert str(error.value) == message


def test_added_metrics_need_a_column_of_classes_with_shares():
    table = curves()
    for call, message in (
        (
            lambda: rf.add_metrics(table.drop("class").head(3), "npv", prior=PRIOR),
            (
                "table: the table has no column 'class'.\n"
                "The table has: 'threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr'.\n"
                'Compute the curves with by=["class"] to use prior=.'
            ),
        ),
        (
            lambda: rf.add_metrics(table, "npv", prior={"a": 0.5, "b": 0.5}),
            (
                "prior={'a': 0.5, 'b': 0.5}: the share of class 'c' is missing.\n"
                "Pass a share for every class of the table."
            ),
        ),
        (
            lambda: rf.add_metrics(table, "npv", prior=PRIOR, prevalence=0.1),
            "prevalence=0.1: this option cannot be used with prior=.\nLeave out prevalence=.",
        ),
        (
            lambda: rf.add_metrics(table, "npv", costs=COSTS),
            (
                f"costs={COSTS}: costs of pairs of classes require the share of each class.\n"
                "Use, for example, prior={'a': 0.9, 'b': 0.1}."
            ),
        ),
    ):
        with pytest.raises(rf.RocframeError) as error:
            call()
        assert str(error.value) == message
