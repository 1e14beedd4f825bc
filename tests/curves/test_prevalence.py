"""Curve tables with a prevalence of their own: all functions that read them use it.

The expected values are those of the table in which the rows of both classes are weighted such that
positives have this prevalence, in exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.kinds import KINDS
from tests import oracles
from tests.charts.specifications import layers, records
from tests.strategies import COUNTS, examples, tables

if TYPE_CHECKING:
    import altair as alt

PI = 0.05
# Two folds with ties; the second one has more positives.
PREDICTIONS = pl.DataFrame(
    {
        "fold": [1] * 8 + [2] * 7,
        "label": [1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1],
        "score": [0.9, 0.8, 0.8, 0.6, 0.5, 0.5, 0.3, 0.1, 0.9, 0.7, 0.7, 0.6, 0.4, 0.4, 0.2],
    }
)


def curves(**options: object) -> pl.DataFrame:
    options = {"by": "fold", "kind": "pr", "prevalence": PI} | options
    return rf.curve(PREDICTIONS, "label", "score", **options)


def records_of(chart: alt.LayerChart) -> list[dict[str, Any]]:
    return records(chart)


def reweighted(every: list[oracles.Case], prevalence: float) -> list[oracles.Case]:
    pos, neg = (oracles.total(side) for side in oracles.sides(every))
    share = {True: Fraction(prevalence), False: 1 - Fraction(prevalence)}
    size = {True: pos, False: neg}
    return [case._replace(weight=share[case.positive] / size[case.positive]) for case in every]


def weighted_curves(**options: object) -> pl.DataFrame:
    """The curves of weighted rows: in each fold, positives have the prevalence."""
    pos = pl.col("label").sum().over("fold")
    n = pl.len().over("fold")
    weight = pl.when(pl.col("label") == 1).then(PI * n / pos).otherwise((1 - PI) * n / (n - pos))
    options = {"by": "fold", "kind": "pr", "weight": weight} | options
    return rf.curve(PREDICTIONS, "label", "score", **options)


def test_a_table_with_prevalence_has_this_column_right_of_the_counts(frame):
    table = frame(PREDICTIONS).pipe(rf.curve, "label", "score", prevalence=PI, metrics=["lift"])
    names = table.lazy().collect_schema().names()
    assert names == [*oracles.Point._fields, "prevalence", "fpr", "tpr", "lift"]
    assert table.lazy().collect()["prevalence"].unique().to_list() == [PI]


def test_the_metric_prevalence_is_that_column():
    assert_frame_equal(curves(metrics=["prevalence", "npv"]), curves(metrics="npv"))


def test_the_metric_right_of_the_rates_is_not_read():
    metric = curves(prevalence=None, metrics=["prevalence"])
    assert metric.columns[-3:] == ["recall", "precision", "prevalence"]
    assert metric["prevalence"].n_unique() == 2
    assert_frame_equal(metric.roc.area(), curves(prevalence=None).roc.area())
    assert rf.curve(
        PREDICTIONS.rename({"fold": "prevalence"}), "label", "score", by="prevalence"
    ).roc.area()["prevalence"].to_list() == [1, 2]


@examples(1 / 2)
@given(table=tables(missing=True, mass={"count": COUNTS}))
def test_areas_are_those_of_the_reweighted_rows(table):
    result = rf.curve(
        *(table, "label", "score"),
        by="group",
        count="count",
        kind="pr",
        missing="worst",
        prevalence=PI,
    )
    for found, every in zip(
        result.roc.area().rows(), oracles.by_group(table).values(), strict=True
    ):
        if not all(map(oracles.total, oracles.sides(every))):
            assert found[1:] == (None, None)
            continue
        points = oracles.curve(reweighted(every, PI))
        assert found[1] == pytest.approx(float(oracles.average_precision(points)), abs=1e-14)
        assert found[2] == pytest.approx(oracles.pr_auc(points), abs=1e-9)


@pytest.mark.parametrize("axis", ["fpr", "tpr", "alert_rate"])
@pytest.mark.parametrize("interpolate", [False, True])
def test_points_are_those_of_the_reweighted_rows(axis, interpolate):
    values = [0.02, 0.1, 0.35, 0.5, 0.77, 1.0]
    names = ["precision", "lift", "alert_rate", "npv", "tpr", "fpr", "f1"]
    table = curves(metrics=[*names[1:]])
    points = rf.at(table, **{axis: values}, interpolate=interpolate)
    assert points["prevalence"].unique().to_list() == [PI]
    every = oracles.by_group(PREDICTIONS.rename({"fold": "group"}))
    expected = []
    for fold in every.values():
        line = oracles.curve(reweighted(fold, PI))
        for value in values:
            if interpolate:
                point = oracles.between(line, axis, value).point
            else:
                point = oracles.at(line, axis, value)
            rates = oracles.rates(point)
            expected.append([rates[name] for name in names])
    for actual, wanted in zip(points.select(names).rows(), expected, strict=True):
        assert [one is None for one in actual] == [one is None for one in wanted]
        known = [float(one) for one in wanted if one is not None]
        found = [one for one in actual if one is not None]
        assert found == pytest.approx(known, rel=1e-11, abs=1e-12)


def test_a_value_of_the_alert_rate_finds_its_row():
    for rate, threshold in curves(kind="gain", by=None).select("alert_rate", "threshold").rows():
        point = curves(kind="gain", by=None).roc.at(alert_rate=rate)
        assert point.select("alert_rate", "threshold").rows() == [(rate, threshold)]


@pytest.mark.parametrize("kind", ["pr", "gain", "lift", "roc"])
@pytest.mark.parametrize("grid", [[0.1, 0.4, 0.75], "union"])
def test_averages_are_those_of_the_reweighted_rows(kind, grid):
    actual = curves(kind=kind).roc.average(grid=grid)
    expected = weighted_curves(kind=kind).roc.average(grid=grid)
    assert_frame_equal(actual, expected, rel_tol=1e-11, abs_tol=1e-12)


def test_metrics_and_pooled_curves_are_averaged_at_the_prevalence():
    chosen = {"fixed": "precision", "metrics": ["tpr", "alert_rate"], "grid": [0.06, 0.1]}
    given = curves(prevalence=None).roc.average(**chosen, prevalence=PI)
    assert_frame_equal(curves().roc.average(**chosen), given)
    other = curves(prevalence=0.5).roc.average(**chosen, prevalence=PI)
    assert_frame_equal(other, given)  # the argument has priority
    pooled = curves().roc.average(method="pooled")
    one = rf.curve(PREDICTIONS, "label", "score", kind="pr", prevalence=PI)
    assert_frame_equal(pooled.select(one.columns), one)
    assert pooled.columns[: len(one.columns)] == one.columns
    evaluated = curves().roc.average(method="pooled", fixed="tpr", metrics="precision", grid=[0.5])
    point = one.roc.at(tpr=0.5, interpolate=True)
    assert evaluated["precision"].to_list() == pytest.approx(point["precision"].to_list())


def test_binomial_limits_of_roc_curves_do_not_depend_on_the_prevalence():
    roc = curves(kind="roc").roc.average(ci="binomial", grid=3)
    assert_frame_equal(roc, curves(kind="roc", prevalence=None).roc.average(ci="binomial", grid=3))


@pytest.mark.parametrize("kind", KINDS)
def test_simplified_curves_are_those_of_the_reweighted_rows(kind):
    rng = np.random.default_rng(3)
    label = rng.random(1500) < 0.4
    log = pl.DataFrame({"label": label, "score": (rng.normal(size=1500) + label).round(2)})
    options = {"kind": kind, "prevalence": PI}
    table = rf.curve(log, "label", "score", **options)
    simple = rf.simplify(table, max_error=0.02)
    assert_frame_equal(rf.curve(log, "label", "score", **options, max_error=0.02), simple)
    assert simple.height < table.height / 2
    measures = ["error", "area_change"]
    name = "pr_auc" if kind == "precision_recall" else "auc"
    simple_area, area = (rf.area(curve).item(0, name) for curve in (simple.drop(measures), table))
    assert simple["area_change"][0] == pytest.approx(simple_area - area, abs=1e-12)
    pos, neg = table["tp"][-1], table["fp"][-1]
    heavy = table.drop("prevalence").with_columns(
        *(pl.col(name) * PI * (pos + neg) / pos for name in ("tp", "fn")),
        *(pl.col(name) * (1 - PI) * (pos + neg) / neg for name in ("fp", "tn")),
    )
    # Rounding of weights decides which of several rows on one line are vertices of the hull.
    error = rf.simplify(heavy, max_error=0.02)["error"][0]
    assert simple["error"][0] == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_of_a_chart_is_that_of_the_table(kind):
    table = curves(kind=kind, by=None)
    shape = KINDS[kind]
    spec = table.roc.chart()
    record = records_of(spec)[0]
    rows = {
        (tp, fp): (x, y)
        for tp, fp, x, y in zip(*(record[name] for name in ("tp", "fp", "x", "y")), strict=True)
    }
    expected = {
        (tp, fp): pytest.approx((x, y), rel=1e-6)
        for tp, fp, x, y in table.select("tp", "fp", shape.x, pl.col(shape.y).alias("(y)")).rows()
        if y is not None and (tp, fp) in rows
    }
    assert len(expected) >= 3
    assert {key: rows[key] for key in expected} == expected
    assert ("Prevalence 0.05." in spec.description) == (kind not in {"roc", "det"})
    if kind == "precision_recall":
        area = table.roc.area()["average_precision"][0]
        assert spec.title.subtitle == f"AP {area:.3f} · prevalence 0.05"
        (chance,) = (one for one in layers(spec) if "data" in one)
        rows = spec.to_dict()["datasets"][chance["data"]["name"]]
        assert [row["precision"] for row in rows] == pytest.approx([PI, PI])


def test_points_and_costs_are_at_the_prevalence():
    table = curves(kind="gain", by=None)
    point = table.roc.at(alert_rate=0.3)
    (drawn,) = records_of(point.roc.chart())
    assert drawn["x"] == pytest.approx(point["alert_rate"][0], rel=1e-6)
    roc = curves(kind="roc", by=None)
    plain = curves(kind="roc", by=None, prevalence=None)
    costs = {"fp": 1, "fn": 5}
    same = plain.roc.iso_lines(costs=costs, prevalence=PI).roc.chart()
    drawn = records_of(roc.roc.iso_lines(costs=costs).roc.chart())
    assert drawn[0].pop("prevalence") == PI
    assert drawn == records_of(same)


def test_a_dashboard_starts_at_the_prevalence():
    value = {param.name: param.value for param in curves().roc.dashboard().params}
    assert value["rf_prevalence"] == PI
    value = {p.name: p.value for p in curves().roc.dashboard(prevalence=0.5).params}
    assert value["rf_prevalence"] == 0.5


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_stored_table_is_read_with_its_prevalence(tmp_path, suffix):
    path = tmp_path / f"curves.{suffix}"
    rf.write(curves(), path)
    assert rf.about(path)["kind"] == "precision_recall"
    assert_frame_equal(rf.scan(path).roc.area().collect(), curves().roc.area())
