"""Lines of equal cost are compared with exact costs in fractions on the axes of each kind."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=14)
COSTS = st.sampled_from(
    [None, {"fp": 1, "fn": 5}, {"fp": 0.3, "fn": 0.1, "tp": -2}, {"fp": 1}, {"fn": 2}]
)
SHARES = st.sampled_from([None, 0.1, 0.5])
KINDS = ("roc", "gain", "lift_chart")


def coordinates(kind, tp, fp, *, pos, neg, share):
    """Return x and y; `share` is the prevalence of the alert rate."""
    fpr, tpr = Fraction(fp) / neg, Fraction(tp) / pos
    alert_rate = share * tpr + (1 - share) * fpr
    return {"roc": (fpr, tpr), "gain": (alert_rate, tpr), "lift_chart": (alert_rate, tp)}[kind]


@pytest.mark.hypothesis
@given(ROWS, COSTS, SHARES, SHARES, st.sampled_from(KINDS))
def test_points_of_a_line_have_the_lowest_cost_and_no_row_is_above_it(
    rows, costs, share_of_table, share_of_costs, kind
):
    frame = pl.DataFrame(rows, schema=["label", "score"], orient="row")
    curves = rf.curve(frame, "label", "score", prevalence=share_of_table)
    line = curves.roc.iso_lines(costs=costs, prevalence=share_of_costs, kind=kind).row(
        0, named=True
    )
    pos = sum(label for label, _ in rows)
    neg = len(rows) - pos
    if not pos or not neg:
        assert line["slope"] is line["intercept"] is line["expected_cost"] is line["tp"] is None
        assert line["n_optima"] == 0
        assert line["note"] == ("no_negatives" if pos else "no_positives")
        return
    at_table = Fraction(pos, pos + neg)
    if share_of_table is not None:
        at_table = Fraction(str(share_of_table))
    share = at_table if share_of_costs is None else Fraction(str(share_of_costs))
    given_costs = {"fp": 1, "fn": 1} if costs is None else costs
    price = {name: Fraction(str(cost)) for name, cost in given_costs.items()}

    def cost(tp, fp):
        of_pos = price.get("tp", 0) * tp + price.get("fn", 0) * (pos - tp)
        of_neg = price.get("fp", 0) * fp + price.get("tn", 0) * (neg - fp)
        return share * of_pos / pos + (1 - share) * of_neg / neg

    points = list(zip(curves["tp"].to_list(), curves["fp"].to_list(), strict=True))
    all_costs = [cost(*point) for point in points]
    best = all_costs.index(min(all_costs))
    assert line["threshold"] == curves["threshold"][best]
    assert (line["tp"], line["fp"]) == points[best]
    assert line["n_optima"] == all_costs.count(min(all_costs))
    assert line["expected_cost"] == pytest.approx(float(min(all_costs)), rel=1e-12, abs=1e-12)
    sizes = {"pos": pos, "neg": neg, "share": at_table}
    x, y = coordinates(kind, *points[best], **sizes)
    # A step of equal cost in (tp, fp), from the costs of one more tp and of one more fp.
    dear, good = cost(0, 1) - cost(0, 0), cost(0, 0) - cost(1, 0)
    x_next, y_next = coordinates(kind, points[best][0] + dear, points[best][1] + good, **sizes)
    if x_next == x:
        assert line["slope"] == inf
        assert line["intercept"] is None
        return
    slope = (y_next - y) / (x_next - x)
    assert line["slope"] == pytest.approx(float(slope), rel=1e-12)
    assert line["intercept"] == pytest.approx(float(y - slope * x), rel=1e-12, abs=1e-12)
    for point in points:
        x_row, y_row = coordinates(kind, *point, **sizes)
        assert y_row <= y + slope * (x_row - x)


def test_lines_of_equal_accuracy_rise_half_the_rows_over_a_lift_chart():
    # The 20 rows of Vuk and Curk (2006), table 1.
    scores = [
        *(0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505),
        *(0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.30, 0.1),
    ]
    frame = pl.DataFrame({"label": [c == "p" for c in "ppnpppnnpnpnppnnpnpn"], "score": scores})
    curves = rf.curve(frame, "label", "score", kind="lift_chart", metrics=["accuracy"])
    line = curves.roc.iso_lines()
    assert line["slope"].item() == pytest.approx(10)
    assert 1 - line["expected_cost"].item() == pytest.approx(curves["accuracy"].max())
    intercept = line["tp"].item() - 10 * line["alert_rate"].item()
    assert line["intercept"].item() == pytest.approx(intercept)


def test_the_table_has_one_row_per_group_with_pinned_columns(frame):
    predictions = {
        "g": ["a", "a", "a", "b"],
        "label": [True, False, True, True],
        "score": [3.0, 2.0, 1.0, 1.0],
    }
    curves = rf.curve(pl.DataFrame(predictions), "label", "score", by="g", metrics=["f1"])
    result = rf.iso_lines(frame(curves.to_dict(as_series=False)), costs={"fp": 2, "fn": 1})
    counts = dict.fromkeys(("tp", "fp", "fn", "tn"), pl.Int64)
    expected = pl.DataFrame(
        {
            "g": ["a", "b"],
            "slope": [1.0, None],
            "intercept": [0.5, None],
            "expected_cost": [1 / 3, None],
            "threshold": [3.0, None],
            "tp": [1, None],
            "fp": [0, None],
            "fn": [1, None],
            "tn": [1, None],
            "fpr": [0.0, None],
            "tpr": [0.5, None],
            "n_optima": [1, 0],
            "note": ["one_negative", "no_negatives"],
        },
        schema_overrides=counts,
    )
    assert_frame_equal(result.lazy().collect(), expected)
