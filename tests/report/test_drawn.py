from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from rocframe.report.drawn import MOST_COLORS, MOST_CURVES, drawn_groups, of_groups, told


def areas(**keys):
    """A table of areas; each group has one row more than the one before."""
    n = len(next(iter(keys.values()), [0]))
    return pl.DataFrame(
        {**keys, "n_pos": range(n), "n_neg": [1] * n, "n_missing": [0] * n, "auc": [0.5] * n}
    )


def test_few_curves_are_all_drawn():
    for table in (areas(), areas(model=["a", None, "c"])):
        assert_frame_equal(drawn_groups(table), table)
        assert told(table, drawn_groups(table), "curves.parquet") == ""


def test_of_many_groups_those_with_the_most_rows_are_drawn_in_their_order():
    table = areas(segment=range(100))
    drawn = drawn_groups(table)
    assert_frame_equal(drawn, table.tail(MOST_COLORS))
    assert told(table, drawn, "curves.parquet") == (
        "12 curves of 100 are drawn: those with the most rows. curves.parquet has them all."
    )


def test_a_model_is_drawn_with_all_its_folds():
    table = areas(fold=[*range(10)] * 9, model=sorted([*"abcdefghi"] * 10))
    drawn = drawn_groups(table)
    assert drawn.height == MOST_CURVES
    assert drawn["model"].unique().sort().to_list() == [*"defghi"]
    assert_frame_equal(drawn_groups(table.head(60)), table.head(60))


def test_groups_without_a_curve_take_nobodys_place():
    table = areas(segment=range(100)).with_columns(auc=pl.when(pl.col("segment") < 50).then("auc"))
    assert drawn_groups(table)["segment"].to_list() == [*range(38, 50)]


def test_group_columns_may_have_any_name():
    for name in ("rows", "place", "color", "whole", "auc_", "^p.*$", ""):
        table = areas(**{name: range(100)})
        assert_frame_equal(drawn_groups(table), table.tail(MOST_COLORS))


def test_the_curves_of_groups_are_found_by_all_their_keys():
    keys = {"a": [1, 1, None], "b": [None, 2.0, float("nan")]}
    curves = pl.DataFrame({**keys, "threshold": [1.0, 2.0, 3.0]})
    for row in range(3):
        assert_frame_equal(of_groups(curves, areas(**keys)[row]), curves[row])
