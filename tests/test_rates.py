"""Every rate equals its definition in fractions, for all small matrices and for huge counts."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.namespace import RocExpr, lazy_methods
from rocframe.rates import CONFUSION, NAMES, RATES, Settings, as_fpr_or_tpr
from tests import oracles

INF = math.inf
COUNTS = ["tp", "fp", "fn", "tn"]
COSTS = {"fp": 1.5, "fn": 5.0, "tp": -0.25, "tn": 0.125}

every_rate = pytest.mark.parametrize("name", RATES)

# All matrices of counts up to 2: every pattern of empty cells, rows and columns.
SMALL = list(itertools.product(range(3), repeat=4))
THRESHOLDS = [INF, 0.0, 0.25, 0.9, 1.0, 1.5, -0.5]

# Differences of products that all but cancel: these are sums of parts near 1 or of powers of n.
CANCELS = {
    *("mcc", "kappa", "youden", "markedness", "mutual_information", "chi2", "net_benefit", "skill")
}


def matrices(
    counts: list[tuple[int, ...]], thresholds: list[float], kind: type[pl.DataType]
) -> pl.DataFrame:
    rows = [(t, *four) for t, four in zip(itertools.cycle(thresholds), counts, strict=False)]
    schema = {"threshold": pl.Float64, **dict.fromkeys(COUNTS, kind)}
    return pl.DataFrame(rows, schema=schema, orient="row")


@cache
def definitions(rows: tuple[tuple[float, ...], ...], settings: str) -> list[dict[str, float]]:
    """Return all rates of each matrix by the oracle; settings are JSON, to be hashable."""
    return [
        oracles.rates(oracles.Point(t, *map(Fraction, counts)), **json.loads(settings))
        for t, *counts in rows
    ]


def expected(table: pl.DataFrame, name: str, **settings: object) -> list[float | None]:
    every = definitions(tuple(table.iter_rows()), json.dumps(settings, sort_keys=True))
    return [rates[name] for rates in every]


def assert_rate(table: pl.DataFrame, name: str, rel: float, **settings: object) -> None:
    found = table.select(RATES[name].expr(Settings(**settings))).to_series()
    assert found.dtype == pl.Float64
    absolute = 1e-12 if name in CANCELS else 0
    for one, other in zip(found, expected(table, name, **settings), strict=True):
        if other is None or math.isinf(other):
            assert one == other, name
        else:
            assert one == pytest.approx(other, rel=rel, abs=absolute), name


def test_every_rate_has_a_formula_in_this_file():
    some = oracles.rates(oracles.Point(0.5, *map(Fraction, (1, 2, 3, 4))))
    assert set(some) == set(RATES)


@every_rate
@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64])
def test_each_rate_is_its_definition_for_all_small_matrices(name, kind):
    for shift in range(len(THRESHOLDS) if name == "net_benefit" else 1):
        thresholds = THRESHOLDS[shift:] + THRESHOLDS[:shift]
        table = matrices(SMALL, thresholds, kind)
        assert_rate(table, name, 1e-14, costs=COSTS, beta=2.0)


@every_rate
@pytest.mark.parametrize("prevalence", [0.5, 0.001, 0.9])
def test_at_another_prevalence_the_classes_weigh_as_if_they_had_it(name, prevalence):
    table = matrices(SMALL, THRESHOLDS, pl.Int64)
    assert_rate(table, name, 1e-12, costs=COSTS, beta=0.5, prevalence=prevalence)


huge = st.sampled_from([0, 1, 3 * 10**9, 10**12, 2**53 + 1, 10**17]) | st.integers(0, 10**9)


@given(counts=st.lists(st.tuples(huge, huge, huge, huge), min_size=1, max_size=5))
def test_products_of_huge_counts_do_not_overflow(counts):
    table = matrices(counts, [0.25], pl.Int64)
    n = max(float(sum(row)) for row in table.select(COUNTS).rows())
    every = table.select(
        rate.expr(Settings(costs=COSTS)).alias(name) for name, rate in RATES.items()
    )
    for name, found in every.to_dict().items():
        assert not found.is_nan().any(), name
        for one, other in zip(found, expected(table, name, costs=COSTS), strict=True):
            if name == "chi2" and other is not None:
                # Of products that cancel there remain n times the square of what mcc keeps.
                assert one == pytest.approx(other, rel=1e-6, abs=1e-6 * math.sqrt(n)), name
            elif other is not None and not math.isinf(other):
                absolute = 1e-9 if name in CANCELS else 0
                assert one == pytest.approx(other, rel=1e-9, abs=absolute), name
            else:
                assert one == other, name


@every_rate
def test_each_rate_stays_in_its_bounds_for_all_small_matrices(name):
    low, high = RATES[name].bounds
    for kind in (pl.Int64, pl.Float64):
        for scale in (1, 3, 0.1):
            counts = [tuple(c * scale for c in four) for four in SMALL]
            if kind == pl.Int64 and scale == 0.1:
                continue
            table = matrices(counts, [0.25], kind)
            found = table.select(RATES[name].expr(Settings(costs={"fp": 1, "fn": 5}))).to_series()
            assert found.drop_nulls().is_between(low, high).all()
            assert not found.is_nan().any()


def test_names_and_aliases_are_the_designs():
    assert {name: rate.aliases for name, rate in RATES.items() if rate.aliases} == {
        "tpr": ("recall", "sensitivity", "hit_rate"),
        "fpr": ("fall_out",),
        "tnr": ("specificity",),
        "fnr": ("miss_rate",),
        "precision": ("ppv",),
        "alert_rate": ("rpp", "yrate"),
    }
    # fmt: off
    assert set(RATES) == {
        "tpr", "fpr", "tnr", "fnr", "precision", "npv", "fdr", "false_omission_rate", "accuracy",
        "error_rate", "balanced_accuracy", "f1", "f_beta", "jaccard", "mcc", "kappa", "youden",
        "markedness", "alert_rate", "alerts", "rnp", "lift", "prevalence", "lr_pos", "lr_neg",
        "odds_ratio", "mutual_information", "chi2", "skill", "expected_cost", "net_benefit",
    }
    # fmt: on
    assert set(NAMES) == {*RATES, *(a for rate in RATES.values() for a in rate.aliases)}


def test_a_prevalence_leaves_the_counts_and_what_one_class_tells():
    table = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": [0.9, 0.9, 0.7, 0.4, 0.1]})
    metrics = ["precision", "prevalence", "tnr", "lr_pos", "odds_ratio", "youden"]
    left = rf.curve(table, "label", "score", metrics=metrics)
    right = rf.curve(table, "label", "score", metrics=metrics, prevalence=0.01)
    mixes = ["precision", "prevalence"]
    assert_frame_equal(left.drop(mixes), right.drop(mixes), check_exact=True)
    assert right["prevalence"].to_list() == pytest.approx([0.01] * 5, rel=1e-14)
    # tpr 1/2 and fpr 1/3 at the first score: 0.01/2 of 0.01/2 + 0.99/3.
    assert right["precision"][1] == pytest.approx(0.005 / (0.005 + 0.33), rel=1e-14)


def test_the_axes_of_a_kind_follow_the_prevalence_too():
    table = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    curve = rf.curve(table, "label", "score", kind="lift", prevalence=0.2)
    # tpr 1/2 at fpr 0: a tenth is called, all of it positive: five times the prevalence.
    assert curve.row(1)[-2:] == pytest.approx((0.1, 5.0), rel=1e-14)
    assert curve.row(-1)[-2:] == pytest.approx((1.0, 1.0), rel=1e-14)


def test_costs_that_are_not_given_are_0():
    table = matrices([(1, 2, 3, 4)], [0.5], pl.Int64)
    for costs, paid in (({"fn": 5}, 15), ({"fp": 1, "tp": -1}, 1), ({}, 0)):
        row = table.select(RATES["expected_cost"].expr(Settings(costs=costs))).row(0)
        assert row == (paid / 10,)


LARGE = pl.DataFrame(
    {"label": [1, 0, 1, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1], "count": [10**9] * 6}
)


@pytest.mark.parametrize(
    ("metric", "integers", "floats"),
    [
        ("expected_cost", {"costs": {"fp": 1, "fn": 10**10}}, {"costs": {"fp": 1.0, "fn": 1e10}}),
        ("expected_cost", {"costs": {"fp": 1, "fn": 10**30}}, {"costs": {"fp": 1.0, "fn": 1e30}}),
        ("f_beta", {"beta": 3 * 10**9}, {"beta": 3e9}),
        ("f_beta", {"beta": np.int8(100)}, {"beta": 100.0}),
        ("precision", {"prevalence": Decimal("0.1")}, {"prevalence": 0.1}),
    ],
)
def test_options_of_metrics_have_the_same_effect_as_integers_and_as_floats(
    metric, integers, floats
):
    def curve(options):
        return rf.curve(LARGE, "label", "score", count="count", metrics=metric, **options)

    assert_frame_equal(curve(integers), curve(floats), check_exact=True)


def test_the_expected_cost_of_large_integer_costs_is_positive():
    costs = {"fp": 1, "fn": 10**10}
    table = rf.curve(LARGE, "label", "score", count="count", metrics="expected_cost", costs=costs)
    assert table["expected_cost"].to_list() == pytest.approx(
        [1e10 / 2, 1e10 / 3, (1 + 2e10) / 6, (1 + 1e10) / 6, 2 / 6, 3 / 6], rel=1e-15
    )


@pytest.mark.parametrize("beta", [1e100, 1e200])
def test_f_beta_of_a_very_large_beta_is_the_recall(beta):
    table = rf.curve(LARGE, "label", "score", count="count", metrics="f_beta", beta=beta)
    assert table["f_beta"].to_list() == pytest.approx(table["tpr"].to_list(), rel=1e-15)


@pytest.mark.parametrize("name", [name for name, rate in RATES.items() if rate.better != "neither"])
def test_the_better_direction_is_where_a_perfect_classifier_lies(name):
    rate = RATES[name]
    settings = Settings(costs={"fp": 1, "fn": 1})
    matrices = pl.DataFrame(
        {"threshold": [0.5] * 2, "tp": [5, 0], "fp": [0, 5], "fn": [0, 5], "tn": [5, 0]}
    )
    perfect, wrong = matrices.select(rate.expr(settings)).to_series()
    if (
        perfect is None or wrong is None or perfect == wrong
    ):  # no ratio to an empty class, or blind to signs
        assert name in {"lr_pos", "lr_neg", "odds_ratio", "chi2", "mutual_information"}
        return
    assert (perfect > wrong) == (rate.better == "higher")


def test_the_docstring_of_curve_lists_every_metric_and_alias():
    notes = (rf.curve.__doc__ or "").split("Notes\n")[1].split("References\n")[0]
    others = {"metrics", "benefit", "cost", "weight", "add_metrics"}  # arguments and a function
    assert set(re.findall(r"`(\w+)`", notes)) - {*others, *CONFUSION} == set(NAMES)


ROWS = pl.DataFrame(
    {
        "y": [1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0] * 3,
        "a": [9, 8, 7, 6, 5, 5, 4, 3, 2, 1, 0, -1] * 2 + [*range(12)],
        "b": [7, 8, 9, 6, 5, 2, 4, 3, 5, 1, 0, -1] * 2 + [*range(12)],
        "c": [1, 8, 7, 2, 5, 5, 4, 3, 2, 0, 9, -1] * 3,
    }
)
DRAWS = {"n_boot": 50, "seed": 1}
# Functions of a range, of a single rate, or of both.
READINGS = ROWS.with_row_index("case").unpivot(
    ["a", "b"], index=["case", "y"], variable_name="modality", value_name="score"
)
OF_RANGES = {
    "auc": lambda **rates: rf.auc(ROWS, "y", "a", **rates),
    "expression": lambda **rates: ROWS.select(pl.col("a").roc.auc("y", **rates)),
    "compare": lambda **rates: rf.compare(ROWS, "y", ["a", "b"], **rates),
    "gate": lambda **rates: rf.gate(ROWS, "y", ["a", "b"], baseline="a", margin=0.1, **rates),
    "contrast": lambda **rates: rf.contrast(ROWS, "y", ["a", "b", "c"], **rates),
    "auc_covariance": lambda **rates: rf.auc_covariance(ROWS, "y", ["a", "b"], **rates),
    "reader_study": lambda **rates: rf.reader_study(
        READINGS.with_columns(reader=1), "y", "score", id="case", fixed="readers", **rates
    ),
}
OF_RATES = {
    "compare": lambda **rates: rf.compare(
        ROWS, "y", ["a", "b"], method="bootstrap", **DRAWS, **rates
    ),
    "intervals": lambda **rates: rf.intervals(
        ROWS, "y", "a", metrics=["precision", "threshold"], **DRAWS, **rates
    ),
    "mix": lambda **rates: rf.mix(rf.curve(ROWS, "y", "a"), **rates),
}


@pytest.mark.parametrize("function", OF_RANGES)
def test_a_range_of_specificity_is_the_range_of_fpr_and_sensitivity_is_tpr(function):
    call = OF_RANGES[function]
    for specificity, fpr in [((0.9, 1), (0, 0.1)), ((0.3, 0.7), (0.3, 0.7)), ((0, 0.8), (0.2, 1))]:
        assert_frame_equal(call(specificity=specificity), call(fpr=fpr), check_exact=True)
    assert_frame_equal(call(sensitivity=(0.9, 1)), call(tpr=(0.9, 1)), check_exact=True)


@pytest.mark.parametrize("function", OF_RATES)
def test_a_specificity_is_the_complement_of_the_fpr(function):
    call = OF_RATES[function]
    for given_rate, rate in (
        (("specificity", 0.9), ("fpr", 0.1)),
        (("sensitivity", 0.7), ("tpr", 0.7)),
    ):
        found, expected = (call(**dict([each])) for each in (given_rate, rate))
        if "at" in found.columns:
            assert found.select("at", "at_value").unique().row(0) == given_rate
        assert_frame_equal(
            found.drop("at", "at_value", strict=False),
            expected.drop("at", "at_value", strict=False),
            check_exact=True,
        )


def test_the_fpr_of_a_fraction_as_specificity_is_the_complement_of_the_fraction():
    fractions = {Fraction(k, m) for m in range(1, 60) for k in range(1, m + 1)}
    values = [float(value) for value in fractions]
    complements = [float(1 - value) for value in fractions]
    assert as_fpr_or_tpr("specificity", values) == ("fpr", complements)


def test_the_point_at_the_specificity_of_a_row_is_this_row():
    six = pl.DataFrame({"y": [0, 1] * 6, "s": range(12)})
    at = {
        name: rf.intervals(six, "y", "s", metrics="tpr", ci=None, **{name: value})
        for name, value in (("specificity", 5 / 6), ("fpr", 1 / 6))
    }
    assert [table["threshold"].item() for table in at.values()] == [9, 9]


def test_functions_with_fpr_and_tpr_accept_specificity_and_sensitivity():
    functions = {name: getattr(rf, name) for name in rf.__all__ if name.islower()}
    functions |= {f"expression {name}": getattr(RocExpr, name) for name in lazy_methods(RocExpr)}
    found = set()
    for name, function in functions.items():
        if callable(function) and {"fpr", "tpr"} <= {*inspect.signature(function).parameters}:
            assert {"specificity", "sensitivity"} <= {*inspect.signature(function).parameters}, name
            found.add(name)
    assert found == {*OF_RANGES, *OF_RATES, "at", "expression auc"} - {"expression"}


@pytest.mark.parametrize("function", OF_RANGES)
def test_a_range_that_starts_with_its_larger_number_is_an_error(function):
    problem = "the first number is larger than the second"
    messages = {
        "fpr": f"fpr=(1, 0.9): {problem}.\nUse fpr=(0.9, 1). For specificities from 0.9 to 1, "
        "which pROC writes as partial.auc=c(1, 0.9), use specificity=(0.9, 1) or fpr=(0, 0.1).",
        **{
            name: f"{name}=(1, 0.9): {problem}.\nUse {name}=(0.9, 1)."
            for name in ("tpr", "specificity", "sensitivity")
        },
    }
    for name, message in messages.items():
        with pytest.raises(rf.OptionValueError) as caught:
            OF_RANGES[function](**{name: (1, 0.9)})
        assert str(caught.value) == message


FOLDS = ROWS.with_columns(pl.int_range(pl.len()).mod(3).alias("fold"))
OVER_RATES = {
    "youden": pl.col("tpr") - pl.col("fpr"),
    "bounded": pl.min_horizontal("precision", "recall").fill_null(math.inf),
    "net": pl.col("specificity") * pl.col("tn") - pl.col("threshold") * pl.col("fp"),
}


def quotient(count, other):
    """Return count / (count + other); null if both counts are 0."""
    total = pl.col(count) + pl.col(other)
    return pl.when(total > 0).then(pl.col(count) / total)


TPR, FPR, PRECISION = quotient("tp", "fn"), quotient("fp", "tn"), quotient("tp", "fp")
OVER_COUNTS = {
    "youden": TPR - FPR,
    "bounded": pl.min_horizontal(PRECISION, TPR).fill_null(math.inf),
    "net": quotient("tn", "fp") * pl.col("tn") - pl.col("threshold") * pl.col("fp"),
}
WITH_EXPRESSION = {
    "operating_point": lambda metric, curves: rf.operating_point(curves, metric),
    "transfer": lambda metric, curves: rf.transfer(curves, metric, over="fold"),
    "average": lambda metric, curves: rf.average(curves, metrics=[metric], fixed="fpr", grid=5),
    "average over values": lambda metric, curves: rf.average(
        curves, metrics=["tpr"], fixed=metric, grid=[0.1, 0.5]
    ),
    "curve": lambda metric, _: rf.curve(FOLDS, "y", "a", metrics=metric),
    "curve_from_calibration": lambda metric, _: rf.curve_from_calibration(
        rf.calibration(FOLDS.with_columns(pl.col("a") / 20 + 0.1), "y", "a", method="isotonic"),
        metrics=metric,
    ),
    "intervals": lambda metric, _: rf.intervals(
        FOLDS, "y", "a", metrics=metric, threshold=4, **DRAWS
    ),
    "intervals at the best threshold": lambda metric, _: rf.intervals(
        FOLDS, "y", "a", metrics=["tpr"], rule=metric, **DRAWS
    ),
    "add_metrics": lambda metric, curves: rf.add_metrics(curves, metric),
}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (function, name)
        for function, name in itertools.product(WITH_EXPRESSION, OVER_RATES)
        # Between two rows of a curve, the threshold is undefined.
        if (function.split()[0], name) != ("average", "net")
    ],
)
def test_an_expression_over_rates_is_the_expression_over_counts(function, name):
    curves = rf.curve(FOLDS, "y", "a", by="fold")
    found, expected = (
        WITH_EXPRESSION[function](expressions[name].alias("own"), curves)
        for expressions in (OVER_RATES, OVER_COUNTS)
    )
    assert_frame_equal(found, expected, check_exact=True)


def test_rates_of_an_expression_are_those_at_the_given_prevalence():
    curves = rf.curve(ROWS, "y", "a", prevalence=0.1)
    own = (pl.col("precision") * pl.col("tpr")).alias("own")
    found = rf.operating_point(curves, own)
    rates = rf.curve(ROWS, "y", "a", prevalence=0.1, metrics=["precision"])
    product = rates["precision"] * rates["tpr"]
    assert found["value"].item() == product.max()
    assert found["threshold"].item() == rates["threshold"][product.arg_max()]
