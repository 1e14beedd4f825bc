"""Chains of decisions are compared with a loop over all small tables."""

from __future__ import annotations

from math import prod

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.test_combine import COUNTS, LOG, LONG, all_tables

MODELS = ["a", "b", "c"]


def expected_stages(rows: list[tuple[int, ...]], operator: str) -> list[tuple[object, ...]]:
    """Return stage, model, counts and expected rates of the chain of one table."""
    join = any if operator == "or" else all
    sign = 1 if operator == "or" else -1

    def hits(positions: list[int], label: int) -> int:
        return sum(join(row[i] for i in positions) for *row, known in rows if known == label)

    n_pos = sum(row[-1] for row in rows)
    n_neg = len(rows) - n_pos
    order = sorted(range(3), key=lambda i: (sign * hits([i], 0), sign * hits([i], 1), i))
    stages = []
    for stage in range(1, 4):
        chained = order[:stage]
        tp, fp = hits(chained, 1), hits(chained, 0)
        rates = [
            [hits([i], label) / total for i in chained] for label, total in ((0, n_neg), (1, n_pos))
        ]
        independent = [
            1 - prod(1 - rate for rate in part) if operator == "or" else prod(part)
            for part in rates
        ]
        counts = tp, fp, n_pos - tp, n_neg - fp
        stages.append((stage, MODELS[order[stage - 1]], *counts, *independent))
    return stages


@pytest.mark.parametrize("operator", ["or", "and"])
def test_all_tables_of_three_models_have_the_stages_of_a_loop(operator):
    tables = all_tables(3, MODELS, label=[1, 1, 0])
    result = rf.chain(tables, "label", MODELS, operator=operator, by="t")
    names = ["stage", "model", *COUNTS, "fpr_independent", "tpr_independent"]
    found = iter(result.select(names).rows())
    for (_,), table in tables.group_by("t", maintain_order=True):
        for stage in expected_stages(table.drop("t").rows(), operator):
            assert next(found) == pytest.approx(stage)
    assert next(found, None) is None
    rates = result.select(
        tpr=pl.col("tp") / (pl.col("tp") + pl.col("fn")),
        fpr=pl.col("fp") / (pl.col("fp") + pl.col("tn")),
    )
    assert_frame_equal(result.select("tpr", "fpr"), rates)


def test_a_chain_of_two_models_is_their_combination():
    for operator in ("or", "and"):
        options = {"threshold": {"a": 0.5, "b": 0.25}, "weight": "w", "by": "g"}
        chain = rf.chain(LOG, "label", ["a", "b"], operator=operator, **options)
        pair = rf.combine(LOG, "label", ["a", "b"], **options).filter(operator=operator)
        names = ["g", "fpr", "tpr", "fpr_independent", "tpr_independent", *COUNTS, "n_pos"]
        assert_frame_equal(chain.filter(stage=2).select(names), pair.select(names))


@pytest.mark.parametrize("operator", ["or", "and"])
def test_the_order_of_models_with_equal_false_positive_rates_does_not_depend_on_rounding(operator):
    only_a, only_b = [0.5, 0.2, 0.7, 0.6, 0.4, 0.5], [0.2, 0.5, 0.4, 0.7, 0.6, 0.5]
    assert sorted(only_a) == sorted(only_b)  # the sums are equal except for rounding errors
    table = pl.DataFrame(
        {
            "label": [1] * 2 + [0] * 14,
            "a": [1, operator == "and"] + [1] * 6 + [0] * 8,
            "b": [1, operator == "or"] + [0] * 6 + [1] * 6 + [0] * 2,
            "w": [1.0, 1.0, *only_a, *only_b, 1.0, 1.0],
        }
    )
    chain = rf.chain(table, "label", ["a", "b"], weight="w", operator=operator)
    assert chain["model"].to_list() == ["a", "b"]
    backward = rf.chain(table.reverse(), "label", ["a", "b"], weight="w", operator=operator)
    assert_frame_equal(backward, chain)


def test_a_long_table_is_paired_by_id_and_lazy_tables_stay_lazy(frame):
    chain = rf.chain(LOG, "label", MODELS, threshold=0.5, by="g")
    long = frame(LONG.sample(fraction=1, shuffle=True, seed=1))
    paired = rf.chain(long, "label", "score", threshold=0.5, id="id", by="g")
    assert isinstance(paired, type(long))
    assert_frame_equal(paired.lazy().collect(), chain)
    assert chain.select("stage", "threshold").rows() == [(i, 0.5) for i in (1, 2, 3)] * 2


def test_vertices_of_hulls_and_rows_of_curves_are_thresholds():
    curves = LOG.roc.curve("label", MODELS, by="g")
    common = curves.roc.hull(across="model")
    vertices = common.filter(pl.col("model").is_not_null()).unique(["g", "model"], keep="first")
    found = rf.chain(LOG, "label", MODELS, threshold=vertices, by="g")
    numbers = rf.chain(
        LOG, "label", MODELS, threshold=vertices.select("g", "model", "threshold"), by="g"
    )
    assert_frame_equal(found, numbers)
    assert found["threshold"].drop_nulls().len() == vertices.height
    per_model = LOG.roc.curve("label", MODELS).roc.hull()
    best = per_model.sort("cost_ratio_high").unique("model", keep="first")
    mapped = dict(best.select("model", "threshold").rows())
    for table in (best, best.join(per_model, on=["model", "threshold"], how="semi")):
        assert_frame_equal(
            rf.combine(LOG, "label", MODELS, threshold=table),
            rf.combine(LOG, "label", MODELS, threshold=mapped),
        )
    with pytest.raises(rf.OptionValueError) as caught:
        rf.chain(LOG, "label", MODELS, threshold=per_model)
    assert str(caught.value) == (
        "threshold: the table has several operating points for model='a'.\n"
        "Keep one row for each model, for example with .filter(), or add other group columns of "
        "the table to by=."
    )
    simplified = LOG.roc.curve("label", MODELS).roc.simplify(max_error=0.9, keep=best)
    assert simplified.join(best, on=["model", "threshold"], how="semi").height == 3


def test_models_without_a_threshold_are_last_and_null():
    points = pl.DataFrame({"model": ["b", "c"], "threshold": [0.9, 0.5]})
    chain = rf.chain(LOG, "label", MODELS, threshold=points)
    assert chain.select("stage", "model", "note").rows() == [
        (1, "b", None),
        (2, "c", None),
        (3, "a", "no_solution"),
    ]
    assert chain.select("tp", "fpr", "tpr_alone", "threshold").row(2) == (None,) * 4
    without = rf.chain(LOG, "label", ["b", "c"], threshold=points)
    assert_frame_equal(chain.head(2), without)


def test_undefined_rates_are_null():
    table = pl.DataFrame({"label": [0, 0], "a": [1, 0], "b": [0, 0]})
    chain = rf.chain(table, "label", ["a", "b"])
    assert chain.select("model", "fpr", "tpr", "tpr_independent", "note").rows() == [
        ("b", 0.0, None, None, "no_positives"),
        ("a", 0.5, None, None, "no_positives"),
    ]
