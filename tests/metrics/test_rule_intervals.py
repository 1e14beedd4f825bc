"""`intervals(rule=)`: limits of thresholds that a rule chooses, compared with all resamples."""

from __future__ import annotations

import sys
from itertools import product
from math import isfinite
from statistics import stdev

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.all_cases import all_cases
from tests.strategies import COUNTS, tables

FIVE = pl.DataFrame({"label": [1, 0, 1, 0, 1], "score": [0.9, 0.6, 0.7, 0.2, 0.4]})
GAIN = (3 * pl.col("tp") - 2 * pl.col("fp")).alias("gain")
COSTS = {"fp": 1, "fn": 3}

# Each rule with its options, and whether its best row depends on the prevalence.
RULES = [
    ("youden", {}, False),
    ("closest_top_left", {"subject_to": {"fpr": (0, 0.5)}}, False),
    ("recall", {"subject_to": {"precision": (0.7, None)}}, True),
    ("recall", {"subject_to": {"alerts": (0, 2)}}, True),
    ("f1", {}, True),
    ("expected_cost", {"costs": COSTS}, True),
    ("expected_cost", {"costs": COSTS, "prevalence": 0.3}, False),
    ("profit", {"benefits": {"tp": 3, "fp": -2}}, True),
    (GAIN, {}, True),
    ("accuracy", {"minimize": True}, True),
]


def intervals(table: pl.DataFrame, metrics: object, **more: object) -> pl.DataFrame:
    return rf.intervals(
        table, "label", "score", metrics=metrics, **{"seed": 1, "n_boot": 200, **more}
    )


def all_resamples(*, stratified: bool) -> pl.DataFrame:
    """Return all possible resamples that have both classes, with a number for each."""
    rows = list(FIVE.iter_rows())
    pos, neg = ([row for row in rows if row[0] == label] for label in (1, 0))
    if stratified:
        samples = [[*a, *b] for a in product(pos, repeat=3) for b in product(neg, repeat=2)]
    else:
        samples = [some for some in product(rows, repeat=5) if len({row[0] for row in some}) == 2]
    cases = [(i, *row) for i, sample in enumerate(samples) for row in sample]
    return pl.DataFrame(cases, schema=["sample", "label", "score"], orient="row")


@pytest.fixture(scope="module")
def curves() -> dict[bool, pl.DataFrame]:
    """Return the curves of all resamples: drawn from each class (True), or from all rows."""
    return {
        stratified: rf.curve(all_resamples(stratified=stratified), "label", "score", by="sample")
        for stratified in (True, False)
    }


def test_limits_of_the_threshold_approach_those_of_all_possible_resamples(curves):
    with all_cases() as case:
        for rule, options, depends_on_prevalence in RULES:
            with case(str(rule), options):
                points = rf.operating_point(curves[not depends_on_prevalence], rule, **options)
                points = points.drop_nulls("threshold")
                found = intervals(
                    FIVE, ["threshold", "tpr"], rule=rule, n_boot=5_000, level=0.8, **options
                )
                for row in found.iter_rows(named=True):
                    every = points.get_column(row["metric"]).sort().to_list()
                    if all(map(isfinite, every)):
                        assert row["se"] == pytest.approx(stdev(every), rel=0.08)
                    for limit, p in (("lower", 0.1), ("upper", 0.9)):
                        near = [every[int(len(every) * q)] for q in (p - 0.02, p + 0.02)]
                        assert near[0] <= row[limit] <= near[1]


def test_a_metric_that_depends_on_prevalence_is_resampled_from_all_rows(curves):
    row = intervals(FIVE, "alert_rate", rule="youden", n_boot=5_000).row(0, named=True)
    points = rf.operating_point(curves[False], "youden")
    rates = points.select((pl.col("tp") + pl.col("fp")) / 5).to_series()
    assert row["se"] == pytest.approx(rates.std(), rel=0.03)


@pytest.mark.slow
@given(tables(mass={"count": COUNTS}, missing=True), st.sampled_from(RULES))
def test_estimates_are_those_of_the_row_that_operating_point_returns(table, chosen):
    check_estimates(table, chosen, by="group", count="count", missing="worst")


def test_estimates_of_weighted_rows_are_those_of_operating_point():
    weights = pl.Series("w", [0.3, 1.7, 2.2, 0.9, 1.1])
    with all_cases() as case:
        for chosen in RULES:
            with case(str(chosen)):
                check_estimates(FIVE.with_columns(weights), chosen, weight="w")


def check_estimates(table: pl.DataFrame, chosen: tuple, **roles: object) -> None:
    rule, options, _ = chosen
    curves = rf.curve(
        table, "label", "score", metrics="accuracy", prevalence=options.get("prevalence"), **roles
    )
    points = rf.operating_point(curves, rule, **options)
    names = ["threshold", "tpr", "accuracy"]
    found = intervals(table, names, rule=rule, n_boot=2, **options, **roles)
    for name in names:
        rows = found.filter(metric=name)
        expected = points.select(pl.col(name).cast(pl.Float64).alias("estimate"), "threshold")
        assert_frame_equal(rows.select("estimate", "threshold"), expected, rel_tol=1e-12)
    assert set(found.get_column("at")) <= {"rule"}
    assert found.get_column("at_value").null_count() == found.height


def test_thresholds_at_both_ends_of_the_range_of_floats_have_limits():
    end = sys.float_info.max
    table = pl.DataFrame({"label": [1, 0, 0, 1, 1, 0], "score": [-end, 0, 0, end, end, -end]})
    constraint = {"precision": (0.6, None)}
    found = intervals(table, "threshold", rule="recall", subject_to=constraint)
    assert found.select("estimate", "lower", "upper").row(0) == (end, -end, end)
    few = intervals(table, "threshold", rule="recall", subject_to=constraint, n_boot=2)
    assert few.select("lower", "upper", "se").row(0) == (-end, end, None)


def test_the_threshold_of_a_given_rate_has_limits_and_lazy_frames_are_accepted(frame):
    table = pl.concat([FIVE] * 8)
    found = frame(table).pipe(intervals, ["threshold", "tpr"], fpr=0.5).lazy().collect()
    at = rf.at(rf.curve(table, "label", "score"), fpr=0.5)
    assert found.item(0, "estimate") == at.item(0, "threshold") == found.item(0, "threshold")
    assert found.item(0, "lower") <= found.item(0, "estimate") < found.item(0, "upper")


def test_without_a_row_that_meets_the_constraints_estimates_are_null():
    constraints = {"precision": (0.9, 1), "tpr": (0.9, 1)}
    row = intervals(FIVE, "threshold", rule="youden", subject_to=constraints).row(0, named=True)
    assert row["note"] == "no_solution"
    assert row["estimate"] is row["lower"] is row["threshold"] is None
    some = intervals(FIVE, "tpr", rule="youden", subject_to={"precision": (0.9, 1)}, seed=3)
    assert some.item(0, "note").startswith("redrawn:")


def test_a_chart_names_the_metric_and_the_rule():
    table = intervals(pl.concat([FIVE] * 8), ["tpr", "fpr"], rule="youden")
    assert "tpr by a rule" in str(rf.chart(table).to_dict())
