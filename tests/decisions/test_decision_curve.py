"""Decision curves are compared with net benefits that are computed from the predictions."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.charts.specifications import records

PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.1]})
CURVES = rf.curve(PREDICTIONS, "label", "score")
GROUPS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 10)), min_size=1, max_size=12),
    min_size=1,
    max_size=4,
)
TENTHS = range(10)


def benefits(rows: list[tuple[bool, int]], tenths: int, prevalence: str) -> list[float | None]:
    """Return the columns of a row of a decision curve, computed in fractions."""
    pos, p = sum(label for label, _ in rows), Fraction(tenths, 10)
    neg, odds = len(rows) - pos, p / (1 - p)
    pi = Fraction(prevalence) if prevalence else Fraction(pos, len(rows))
    all_rows, net = pi - (1 - pi) * odds, None
    if not prevalence or (pos and neg):
        tp = sum(label and score >= tenths for label, score in rows)
        fp = sum(not label and score >= tenths for label, score in rows)
        net = pi * Fraction(tp, pos or 1) - (1 - pi) * Fraction(fp, neg or 1) * odds
    standardized = net / pi if net is not None and pi else None
    avoided = (net - all_rows) / odds if net is not None and odds else None
    values = (net, all_rows, Fraction(0), standardized, avoided)
    return [None if value is None else float(value) for value in values]


@pytest.mark.hypothesis
@given(GROUPS, st.sampled_from(["", "1/4"]))
def test_each_value_is_that_of_the_predictions(groups, prevalence):
    rows = [(g, label, score) for g, group in enumerate(groups) for label, score in group]
    frame = pl.DataFrame(rows, schema=["g", "label", "score"], orient="row")
    curves = rf.curve(frame, "label", pl.col("score") / 10, by="g")
    thresholds = [tenths / 10 for tenths in TENTHS]
    given = 0.25 if prevalence else None
    table = rf.decision_curve(curves, thresholds=thresholds, prevalence=given)
    assert table.get_column("probability_threshold").to_list() == thresholds * len(groups)
    expected = [benefits(group, tenths, prevalence) for group in groups for tenths in TENTHS]
    for row, values in zip(table.select(table.columns[2:-1]).rows(), expected, strict=True):
        assert list(row) == [None if v is None else pytest.approx(v, abs=1e-13) for v in values]
    if given is not None:
        at_prevalence = rf.curve(frame, "label", pl.col("score") / 10, by="g", prevalence=given)
        assert_frame_equal(rf.decision_curve(at_prevalence, thresholds=thresholds), table)


def test_a_table_has_one_row_per_threshold_in_rising_order():
    table = CURVES.roc.decision_curve(thresholds=[0.5, 0.2, 0.2])
    expected = pl.DataFrame(
        {
            "probability_threshold": [0.2, 0.5],
            "net_benefit": [0.3, 0.0],
            "treat_all": [0.25, -0.2],
            "treat_none": [0.0, 0.0],
            "standardized_net_benefit": [0.75, 0.0],
            "interventions_avoided": [0.2, 0.2],
            "note": pl.Series([None, None], dtype=pl.String),
        }
    )
    assert_frame_equal(table, expected)
    default = CURVES.roc.decision_curve().get_column("probability_threshold").to_list()
    assert default == [i / 100 for i in range(100)]


def test_treating_all_rows_avoids_no_interventions():
    table = CURVES.roc.decision_curve(thresholds=[0, 0.05, 0.1])
    assert table.get_column("interventions_avoided").to_list() == [None, 0.0, 0.0]


def test_a_group_without_rows_or_without_a_class_has_a_note():
    frame = pl.DataFrame(
        {"g": ["a", "b", "c"], "label": [1, 0, None], "score": [0.9, 0.1, 0.5]},
        schema_overrides={"label": pl.Int8},
    )
    curves = rf.curve(frame, "label", "score", by="g", missing="drop")
    table = rf.decision_curve(curves, thresholds=0.5)
    assert table.get_column("net_benefit").to_list() == [1.0, 0.0, None]
    assert table.get_column("standardized_net_benefit").to_list() == [1.0, None, None]
    assert table.get_column("treat_none").to_list() == [0.0, 0.0, None]
    assert table.get_column("note").to_list() == ["no_negatives", "no_positives", "no_rows"]


def test_the_chart_draws_the_net_benefits_and_those_of_treating_all():
    frame = pl.concat([PREDICTIONS.with_columns(model=pl.lit(name)) for name in "ab"])
    table = rf.curve(frame, "label", "score", by="model").roc.decision_curve()
    lines = records(table.roc.chart())
    assert [record["model"] for record in lines] == ["a", "b"]
    for name in ("net_benefit", "treat_all"):
        values = dict(table.filter(model="a").select("probability_threshold", name).iter_rows())
        drawn = zip(lines[0]["x"], lines[0][name], strict=True)
        assert all(values[x] == pytest.approx(y, rel=1e-6, abs=1e-9) for x, y in drawn)
