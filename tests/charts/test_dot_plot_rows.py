"""The line, color and panel of each row of a dot plot."""

from __future__ import annotations

import polars as pl
import pytest

from rocframe.charts.dot_plot import LINE, read_rows
from rocframe.options import NOT_GIVEN


def lines(table: pl.DataFrame, by: list[str], **options: object) -> list[str]:
    groups, _ = read_rows(table, by, **{"color": NOT_GIVEN, "facet": None, **options})
    return list(groups.columns[LINE].values)


def test_lines_of_all_colors_are_sorted_together():
    table = pl.DataFrame({"model": ["a", "a", "b", "b"], "fold": [2, 3, 1, 2]})
    groups, dodged = read_rows(table, ["model", "fold"], color=NOT_GIVEN, facet=None)
    assert groups.columns[LINE].values == ("1", "2", "3")
    assert groups.columns[LINE].texts == ["2", "3", "1", "2"]
    assert (groups.color, dodged) == ("f0", True)


def test_a_table_that_the_user_sorted_keeps_its_order():
    table = pl.DataFrame({"g": ["b", "c", "a"]})
    assert lines(table, ["g"]) == ["b", "c", "a"]


def test_more_values_than_distinct_colors_have_lines():
    table = pl.DataFrame({"model": [str(i) for i in range(9)] * 2, "g": ["u"] * 9 + ["v"] * 9})
    assert len(lines(table, ["g", "model"])) == 18
    groups, _ = read_rows(table, ["g", "model"], color=NOT_GIVEN, facet=None)
    assert groups.color is None


def test_different_keys_with_equal_text_have_separate_lines():
    table = pl.DataFrame({"g": ["a · b", "a"], "h": ["c", "b · c"]})
    assert lines(table, ["g", "h"], color=None) == ["a · b · c (1)", "a · b · c (2)"]


@pytest.mark.parametrize("facet", [None, "g"])
def test_parts_have_lines_or_panels(facet):
    table = pl.DataFrame({"g": ["u", "u", "v", "v"]})
    parts = {"metric": ["y", "x", "y", "x"]}
    groups, _ = read_rows(table, ["g"], color=None, facet=facet, parts=parts, in_panels=True)
    assert groups.columns[groups.panel].values == (
        ("y", "x") if facet is None else ("u · y", "u · x", "v · y", "v · x")
    )
    assert lines(table, ["g"], color=None, parts=parts) == ["u · y", "u · x", "v · y", "v · x"]


def test_no_rows_have_no_names():
    groups, _ = read_rows(pl.DataFrame({"g": []}), ["g"], color="g", facet=None)
    assert (groups.table_columns, groups.columns[LINE].values, groups.names(0)) == ({}, (), [])
