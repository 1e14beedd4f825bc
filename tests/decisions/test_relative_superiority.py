"""The best models are compared with the costs of all thresholds, in exact fractions."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, pairwise
from math import inf

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.integrate import quad

import rocframe as rf
from tests.charts.specifications import records, svg

PREDICTIONS = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 1, 0],
        "a": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1],
        "b": [0.9, 0.7, 0.8, 0.4, 0.2, 0.3],
    }
)
CURVES = rf.curve(PREDICTIONS, "label", ["a", "b"])
RATIOS = (0.1, 0.25, 1)
# Models with separate rows, as label and score. Each has at least one row of each class.
MODELS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=6).map(
        lambda rows: [(True, 2), (False, 2), *rows]
    ),
    min_size=1,
    max_size=3,
)
Line = tuple[Fraction, Fraction]  # the false positive rate and the false negative rate


def lines_of(rows: list[tuple[bool, int]]) -> list[Line]:
    """Return the rates of all thresholds."""
    pos = sum(label for label, _ in rows)
    return [
        (
            Fraction(sum(not y and s >= t for y, s in rows), len(rows) - pos),
            Fraction(sum(y and s < t for y, s in rows), pos),
        )
        for t in (inf, *range(5))
    ]


def lowest(lines: list[Line], value: Fraction) -> Fraction:
    """Return the lowest expected cost at a probability cost."""
    return min(fpr * (1 - value) + fnr * value for fpr, fnr in lines)


def crossings(models: list[list[Line]]) -> list[Fraction]:
    """Return 0, 1 and the probability costs between them at which any two lines cross."""
    values = {Fraction(0), Fraction(1)}
    for (x, y), (u, v) in combinations({line for lines in models for line in lines}, 2):
        if (x - u) * (v - y) > 0:
            values.add((x - u) / ((x - u) + (v - y)))
    return sorted(values)


def curves_of(models: list[list[tuple[bool, int]]]) -> pl.DataFrame:
    rows = [(model, label, score) for model, part in enumerate(models) for label, score in part]
    frame = pl.DataFrame(rows, schema=["model", "label", "score"], orient="row")
    return rf.curve(frame, "label", "score", by="model")


@pytest.mark.hypothesis
@given(MODELS)
def test_a_model_has_a_range_where_no_threshold_of_any_model_has_a_lower_cost(models):
    table = curves_of(models).roc.relative_superiority(across="model")
    lines = [lines_of(rows) for rows in models]
    values = crossings(lines)
    for low, high in pairwise(values):
        middle = (low + high) / 2
        costs = [lowest(part, middle) for part in lines]
        best = [model for model, cost in enumerate(costs) if cost == min(costs)]
        here = table.filter(
            pl.col("probability_cost_low") < float(middle),
            pl.col("probability_cost_high") > float(middle),
        )
        assert here.get_column("model").to_list() == best
        assert set(here.get_column("n_best")) == {len(best)}
    for row in table.iter_rows(named=True):
        own = lines[row["model"]]
        others = [line for i, part in enumerate(lines) if i != row["model"] for line in part]
        if not others:
            assert row["largest_difference"] is None
            continue
        leads = [
            lowest(others, value) - lowest(own, value)
            for value in values
            if row["probability_cost_low"] - 1e-12 <= value <= row["probability_cost_high"] + 1e-12
        ]
        assert row["largest_difference"] == pytest.approx(float(max(leads)), abs=1e-12)


@pytest.mark.hypothesis
@given(MODELS, st.sampled_from([(0, 0.5, 2), (0.2, 0.2, 1), (0.5, 3, 3), (0, 1, inf)]))
def test_the_index_is_the_integral_of_the_density_where_a_model_is_the_best(models, ratios):
    prevalence = 0.3
    table = rf.lc_index(curves_of(models), across="model", cost_ratio=ratios, prevalence=prevalence)
    pi = Fraction(3, 10)
    low, mode, high = (Fraction(1) if r == inf else Fraction(r) / (1 + Fraction(r)) for r in ratios)

    def density_integral(a: Fraction, b: Fraction) -> Fraction:
        """Integrate the triangular density over a range that does not contain the mode inside."""
        middle = (a + b) / 2
        if not low <= middle <= high:
            return Fraction(0)
        end = low if middle < mode else high
        return (b - a) * 2 * abs(middle - end) / (high - low) / abs(mode - end)

    lines = [lines_of(rows) for rows in models]
    # The relative cost of a probability cost.
    ends = {pi * (1 - v) / (pi * (1 - v) + (1 - pi) * v) for v in crossings(lines)}
    ends = sorted(ends | {low, mode, high})
    index, share = [Fraction(0)] * len(models), [Fraction(0)] * len(models)
    for a, b in pairwise(ends):
        c = (a + b) / 2
        costs = [lowest(part, pi * (1 - c) / (pi * (1 - c) + (1 - pi) * c)) for part in lines]
        best = [model for model, cost in enumerate(costs) if cost == min(costs)]
        for model in best:
            index[model] += density_integral(a, b) / len(best)
            share[model] += density_integral(a, b) * (len(best) == 1)
    assert sum(index) == pytest.approx(1, abs=1e-12)
    assert table.get_column("lc_index").to_list() == pytest.approx(list(map(float, index)))
    assert table.get_column("best_share").to_list() == pytest.approx(list(map(float, share)))
    total = table.get_column("best_share") + table.get_column("tied_share")
    assert (total >= table.get_column("lc_index") - 1e-12).all()


def test_the_index_equals_a_numerical_integral():
    low, mode, high = (r / (1 + r) for r in RATIOS)

    def density(c: float) -> float:
        side = (c - low) / (mode - low) if c < mode else (high - c) / (high - mode)
        return 2 / (high - low) * side

    # With a prevalence of 1/2, the probability cost is 1 - c. Model a is better above 2/3.
    expected = quad(density, low, 1 / 3, points=[mode])[0]
    table = rf.lc_index(CURVES, across="model", cost_ratio=RATIOS)
    assert table.get_column("lc_index").to_list() == pytest.approx([expected, 1 - expected])
    assert table.item(0, "prevalence") == 0.5


def test_two_models_exchange_their_indices_if_they_exchange_their_scores():
    swapped = rf.curve(PREDICTIONS, "label", {"a": "b", "b": "a"})
    first, second = (
        rf.lc_index(curves, across="model", cost_ratio=RATIOS).get_column("lc_index").to_list()
        for curves in (CURVES, swapped)
    )
    assert first == second[::-1]
    assert first[0] - first[1] == pytest.approx(-(second[0] - second[1]))


def test_equal_models_share_all_costs_with_and_without_weights():
    same = PREDICTIONS.with_columns(c=pl.col("a") * 2, w=pl.col("a") / 3 + 0.1)
    for weight in (None, "w"):
        curves = rf.curve(same, "label", ["a", "c"], weight=weight)
        ranges = rf.relative_superiority(curves, across="model")
        assert ranges.get_column("n_best").to_list() == [2, 2]
        assert ranges.get_column("largest_difference").to_list() == [0, 0]
        index = rf.lc_index(curves, across="model", cost_ratio=RATIOS)
        assert index.get_column("lc_index").to_list() == pytest.approx([0.5, 0.5])
        assert index.get_column("tied_share").to_list() == pytest.approx([1, 1])


def test_the_scales_of_a_range_agree():
    ranges = rf.relative_superiority(CURVES, across="model", prevalence=0.2)
    for row in ranges.iter_rows(named=True):
        for side, other in (("low", "high"), ("high", "low")):
            c = row[f"relative_cost_{side}"]
            share = 0.2 * (1 - c) / (0.2 * (1 - c) + 0.8 * c)
            assert row[f"probability_cost_{other}"] == pytest.approx(share)
            ratio = inf if c == 1 else c / (1 - c)
            assert row[f"cost_ratio_{side}"] == pytest.approx(ratio)


def test_ranges_agree_with_the_cost_curve_of_all_models():
    votes = rf.datasets.vote()
    curves = rf.curve(votes, "label", "score", by="model")
    ranges = rf.relative_superiority(curves, across="model")
    costs = rf.cost_curve(curves, across="model", grid=401)
    for row in ranges.filter(n_best=1).iter_rows(named=True):
        inside = costs.filter(
            pl.col("probability_cost").is_between(
                row["probability_cost_low"], row["probability_cost_high"], closed="none"
            )
        )
        assert set(inside.get_column("model")) <= {row["model"]}
        largest = inside.get_column("cost_difference").max() or 0.0
        assert largest <= row["largest_difference"] + 1e-12


def test_models_that_lack_a_class_are_not_compared():
    frame = pl.concat(
        [
            PREDICTIONS.unpivot(on=["a", "b"], index="label", variable_name="model"),
            PREDICTIONS.filter(label=1).select("label", model=pl.lit("c"), value="a"),
        ]
    )
    curves = rf.curve(frame, "label", "value", by="model")
    ranges = rf.relative_superiority(curves, across="model")
    assert_frame_equal(
        ranges.filter(pl.col("model") != "c"), CURVES.roc.relative_superiority(across="model")
    )
    assert ranges.row(-1) == ("c", *[None] * 7, 0, "no_negatives")
    index = rf.lc_index(curves, across="model", cost_ratio=RATIOS)
    assert index.row(-1) == ("c", None, None, None, *RATIOS, None, "no_negatives")
    assert_frame_equal(index[:2], CURVES.roc.lc_index(across="model", cost_ratio=RATIOS))


def test_groups_without_rows_have_empty_tables():
    empty = rf.curve(PREDICTIONS.clear().with_columns(model=pl.lit("a")), "label", "a", by="model")
    full = CURVES
    for function, options in ((rf.relative_superiority, {}), (rf.lc_index, {"cost_ratio": RATIOS})):
        assert_frame_equal(
            function(empty, across="model", **options),
            function(full, across="model", **options).clear(),
        )


def test_the_index_of_very_small_cost_ratios_is_that_of_the_model_without_false_negatives():
    for cost_ratio in ((1e-200, 2e-200, 3e-200), (0, 0, 1e-300), (0, 1e-320, 1e-9)):
        index = rf.lc_index(CURVES, across="model", cost_ratio=cost_ratio)
        # Model a has no false negatives at a lower false positive rate than model b.
        assert index["lc_index"].to_list() == [1, 0]


def test_the_chart_has_a_bar_for_each_range():
    votes = rf.datasets.vote().filter(pl.col("fold") < 5)
    ranges = rf.relative_superiority(rf.curve(votes, "label", "score", by="model"), across="model")
    chart = ranges.roc.chart()
    bars = [record for record in records(chart) if "relative_cost_low" in record]
    names = ["relative_cost_low", "relative_cost_high", "n_best"]
    drawn = [(bar["model"], *(bar[name] for name in names)) for bar in bars]
    table = ranges.select("model", *names).rows()
    assert [row[0] for row in drawn] == [row[0] for row in table]
    assert [row[1:] for row in drawn] == [pytest.approx(row[1:], abs=1e-6) for row in table]
    assert any(bar["n_best"] > 1 for bar in bars)
    assert chart.title.text == "Which model has the lowest expected cost?"
    shown = svg(chart)
    assert all(f">{text}<" in shown for text in ("one model", "several models"))
    description = f"{chart.title.text} {ranges.height} rows. {chart.title.subtitle}. "
    assert chart.description.startswith(description)


def test_the_bars_of_several_models_in_one_line_are_inside_the_chart():
    votes = rf.datasets.vote().filter(pl.col("fold") < 5)
    curves = rf.curve(votes, "label", "score", by=["age", "model"])
    chart = rf.relative_superiority(curves, across="model").roc.chart()
    bars = re.findall(r'"bar"[^>]* d="M[\d.]+,([\d.]+)h[\d.]+v([\d.]+)', svg(chart))
    ends = [(float(top), float(top) + float(height)) for top, height in bars]
    assert len(ends) == len(records(chart))
    assert all(0 <= top < bottom <= chart.height for top, bottom in ends)
