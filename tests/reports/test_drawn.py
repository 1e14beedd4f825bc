from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from rocframe.reports.figures import (
    MOST_COLORS,
    MOST_CURVES,
    MOST_PANELS,
    Drawn,
    drawn_groups,
    of_groups,
    told,
)


def areas(**keys):
    """A table of areas; each group has one row more than the one before."""
    n = len(next(iter(keys.values()), [0]))
    return pl.DataFrame(
        {**keys, "auc": [0.5] * n, "n_pos": range(n), "n_neg": [1] * n, "n_missing": [0] * n}
    )


def test_few_curves_are_all_drawn():
    for table in (areas(), areas(model=["a", None, "c"])):
        assert_frame_equal(drawn_groups(table), table)
        assert told(Drawn.of(table, None), "curves.parquet") == ""


def test_of_many_groups_those_with_the_most_rows_are_drawn_in_their_order():
    table = areas(segment=range(100))
    drawn = drawn_groups(table)
    assert_frame_equal(drawn, table.tail(MOST_COLORS))
    assert told(Drawn.of(table, None), "curves.parquet") == (
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


def test_a_second_key_has_panels_those_with_the_most_rows():
    table = areas(model=["a", "b"] * 20, day=[None, *sorted([*range(19)] * 2), 19])
    drawn = Drawn.of(table, None)
    assert (drawn.color, drawn.panel, drawn.whole) == ("model", "day", 40)
    assert len(drawn.groups) == MOST_PANELS
    assert drawn.groups[-1][0] == "day = 19"
    assert drawn.groups[0][0] == "day = 8"
    assert drawn.colors == ["a", "b"]
    assert told(drawn, None) == ("23 curves of 40 are drawn: those with the most rows.")


def test_folds_of_a_mean_are_no_groups_of_their_own():
    table = areas(model=["a", "a", "b", None], fold=[1, 2, 1, 1])
    drawn = Drawn.of(table, "fold")
    ((name, groups),) = drawn.groups
    assert (name, drawn.color, drawn.panel, drawn.whole) == (None, "model", None, 3)
    expected = {"model": ["a", "b", None], "auc": [0.5] * 3, "n_pos": [1, 2, 3], "n_neg": [2, 1, 1]}
    assert_frame_equal(groups, pl.DataFrame(expected))
    ((_, whole),) = Drawn.of(areas(fold=[1, 2]), "fold").groups
    assert whole.rows() == [(0.5, 1, 2)]
