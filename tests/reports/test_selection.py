from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from rocframe.reports.figures import (
    MAX_DRAWN_COLORS,
    MAX_DRAWN_CURVES,
    MAX_PANELS,
    largest_groups,
    rows_of_groups,
    select_curves,
)


def areas(**keys):
    """Return a table of areas; each group has one row more than the previous one."""
    n = len(next(iter(keys.values()), [0]))
    return pl.DataFrame(
        {**keys, "auc": [0.5] * n, "n_pos": range(n), "n_neg": [1] * n, "n_missing": [0] * n}
    )


def test_a_small_number_of_curves_is_drawn_completely():
    for table in (areas(), areas(model=["a", None, "c"])):
        assert_frame_equal(largest_groups(table), table)
        assert select_curves(table, None).note("curves.parquet") == ""


def test_the_largest_of_many_groups_are_drawn_in_their_order():
    table = areas(segment=range(100))
    drawn = largest_groups(table)
    assert_frame_equal(drawn, table.tail(MAX_DRAWN_COLORS))
    assert select_curves(table, None).note("curves.parquet") == (
        "The charts show 12 of 100 curves: those with the most rows. "
        "curves.parquet contains all of them."
    )


def test_a_model_is_drawn_with_all_its_folds():
    table = areas(fold=[*range(10)] * 9, model=sorted([*"abcdefghi"] * 10))
    drawn = largest_groups(table)
    assert drawn.height == MAX_DRAWN_CURVES
    assert drawn["model"].unique().sort().to_list() == [*"defghi"]
    assert_frame_equal(largest_groups(table.head(60)), table.head(60))


def test_groups_without_a_curve_do_not_count_toward_the_limit():
    table = areas(segment=range(100)).with_columns(auc=pl.when(pl.col("segment") < 50).then("auc"))
    assert largest_groups(table)["segment"].to_list() == [*range(38, 50)]


def test_group_columns_may_have_any_name():
    for name in ("rows", "place", "color", "whole", "auc_", "^p.*$", ""):
        table = areas(**{name: range(100)})
        assert_frame_equal(largest_groups(table), table.tail(MAX_DRAWN_COLORS))


def test_rows_of_groups_match_all_group_columns():
    keys = {"a": [1, 1, None], "b": [None, 2.0, float("nan")]}
    curves = pl.DataFrame({**keys, "threshold": [1.0, 2.0, 3.0]})
    for row in range(3):
        assert_frame_equal(rows_of_groups(curves, areas(**keys)[row]), curves[row])


def test_the_second_group_column_has_a_panel_for_each_of_its_largest_values():
    table = areas(model=["a", "b"] * 20, day=[None, *sorted([*range(19)] * 2), 19])
    drawn = select_curves(table, None)
    assert (drawn.color, drawn.panel, drawn.n_curves) == ("model", "day", 40)
    assert len(drawn.panels) == MAX_PANELS
    assert drawn.panels[-1][0] == "day = 19"
    assert drawn.panels[0][0] == "day = 8"
    assert drawn.color_values == ["a", "b"]
    assert drawn.note(None) == ("The charts show 23 of 40 curves: those with the most rows.")


def test_folds_of_a_mean_count_as_one_group():
    table = areas(model=["a", "a", "b", None], fold=[1, 2, 1, 1])
    drawn = select_curves(table, "fold")
    ((name, groups),) = drawn.panels
    assert (name, drawn.color, drawn.panel, drawn.n_curves) == (None, "model", None, 3)
    expected = {"model": ["a", "b", None], "auc": [0.5] * 3, "n_pos": [1, 2, 3], "n_neg": [2, 1, 1]}
    assert_frame_equal(groups, pl.DataFrame(expected))
    ((_, whole),) = select_curves(areas(fold=[1, 2]), "fold").panels
    assert whole.rows() == [(0.5, 1, 2)]
