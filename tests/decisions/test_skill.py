"""The metric and the kind `skill`: exact values by hand, other costs, and the chart."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from polars.testing import assert_series_equal

import rocframe as rf
from tests.charts.specifications import records

# Three positives and five negatives; a tie of one positive and two negatives at 0.4.
PREDICTIONS = pl.DataFrame(
    {"label": [1, 0, 1, 1, 0, 0, 0, 0], "score": [0.9, 0.8, 0.6, 0.4, 0.4, 0.4, 0.2, 0.1]}
)
COUNTS = [(0, 0), (1, 0), (1, 1), (2, 1), (3, 3), (3, 4), (3, 5)]


def skill_by_hand(fn: int, fp: int) -> list[float]:
    """Return 1 - cost of the errors / cost of the best constant prediction, for each row."""
    trivial = min(fn * 3, fp * 5)
    return [float(1 - Fraction(fn * (3 - t) + fp * f, trivial)) for t, f in COUNTS]


def test_skill_is_the_share_of_avoided_errors_of_the_majority_class(frame):
    skill = rf.curve(frame(PREDICTIONS), "label", "score", kind="skill").lazy().collect()
    assert skill.columns[-2:] == ["alert_rate", "skill"]
    assert list(zip(skill["tp"], skill["fp"], strict=True)) == COUNTS
    assert skill["alert_rate"].to_list() == [(tp + fp) / 8 for tp, fp in COUNTS]
    assert skill["skill"].to_list() == pytest.approx(skill_by_hand(1, 1), rel=1e-15)
    assert skill["skill"].to_list() == pytest.approx([0, 1 / 3, 0, 1 / 3, 0, -1 / 3, -2 / 3])


def test_benefit_and_cost_are_the_costs_of_the_errors():
    values = {"benefit": pl.lit(5), "cost": pl.lit(2)}
    costly = rf.curve(PREDICTIONS, "label", "score", kind="skill", **values)
    assert costly["skill"].to_list() == pytest.approx(skill_by_hand(5, 2), rel=1e-14)
    # The same costs as a prevalence: probability_cost is 5·3 / (5·3 + 2·5).
    options = {"kind": "skill", "prevalence": 15 / 25}
    moved = rf.curve(PREDICTIONS, "label", "score", **options)
    assert_series_equal(moved["skill"], costly["skill"])
    best = rf.operating_point(costly, "skill")
    point = rf.cost_curve(rf.curve(PREDICTIONS, "label", "score"), grid=[15 / 25])
    assert best["value"].item() == pytest.approx(1 - point["min_dcf"].item())
    assert best["threshold"].item() == point["threshold"].item()


def test_skill_of_a_group_without_one_class_is_null():
    one = PREDICTIONS.filter(label=0)
    curve = rf.curve(one, "label", "score", kind="skill")
    assert curve["skill"].is_null().all()
    assert rf.simplify(curve)["error"].is_null().all()


def test_every_row_of_the_table_is_on_the_chart_and_on_the_chart_against_the_threshold():
    curve = rf.curve(PREDICTIONS, "label", "score", kind="skill")
    (line,) = records(curve.roc.chart())
    assert line["x"] == pytest.approx(curve["alert_rate"].to_list())
    assert line["y"] == pytest.approx(curve["skill"].to_list(), abs=1e-6)
    free = curve.roc.chart(x="alert_rate", y="skill")
    assert records(free) == records(curve.roc.chart())
    assert "The dashed line shows the best constant prediction." in free.description
    (steps,) = records(curve.roc.chart(x="threshold", y="skill"))
    rows = dict(zip(steps["threshold"], steps["y"], strict=True))
    expected = dict(
        curve.filter(pl.col("threshold").is_finite()).select("threshold", "skill").rows()
    )
    assert {t: rows[t] for t in expected} == pytest.approx(expected, abs=1e-6)
