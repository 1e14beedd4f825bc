"""The line, color and panel of each row of a dot plot."""

from __future__ import annotations

import polars as pl
import pytest

from rocframe.charts.chart import ChartOptions
from rocframe.charts.dot_plot import read_rows


def lines(table: pl.DataFrame, by: list[str], **options: object) -> list[str]:
    chosen = {name: options.pop(name) for name in ("color", "facet") if name in options}
    rows = read_rows(table, by, ChartOptions(**chosen), **options)
    return list(rows.lines.values)


def test_lines_of_all_colors_are_sorted_together():
    table = pl.DataFrame({"model": ["a", "a", "b", "b"], "fold": [2, 3, 1, 2]})
    rows = read_rows(table, ["model", "fold"], ChartOptions())
    assert rows.lines.values == ("1", "2", "3")
    assert rows.lines.texts == ["2", "3", "1", "2"]
    assert (rows.line, rows.groups.color, rows.dodged) == ("fold", "model", True)


def test_a_table_that_the_user_sorted_keeps_its_order():
    table = pl.DataFrame({"g": ["b", "c", "a"]})
    assert lines(table, ["g"]) == ["b", "c", "a"]


def test_more_values_than_distinct_colors_have_lines():
    table = pl.DataFrame({"model": [str(i) for i in range(9)] * 2, "g": ["u"] * 9 + ["v"] * 9})
    assert len(lines(table, ["g", "model"])) == 18
    assert read_rows(table, ["g", "model"], ChartOptions()).groups.color is None


def test_different_keys_with_equal_text_have_separate_lines():
    table = pl.DataFrame({"g": ["a · b", "a"], "h": ["c", "b · c"]})
    assert lines(table, ["g", "h"], color=None) == ["a · b · c (1)", "a · b · c (2)"]


@pytest.mark.parametrize("facet", [None, "g"])
def test_parts_have_lines_or_panels(facet):
    table = pl.DataFrame({"g": ["u", "u", "v", "v"]})
    parts = {"metric": ["y", "x", "y", "x"]}
    rows = read_rows(
        table, ["g"], ChartOptions(color=None, facet=facet), parts=parts, in_panels=True
    )
    groups = rows.groups
    assert groups.columns[groups.panel].values == (
        ("y", "x") if facet is None else ("u · y", "u · x", "v · y", "v · x")
    )
    assert lines(table, ["g"], color=None, parts=parts) == ["u · y", "u · x", "v · y", "v · x"]


def test_no_rows_have_no_names():
    rows = read_rows(pl.DataFrame({"g": []}), ["g"], ChartOptions(color="g"))
    assert (rows.groups.table_columns, rows.lines.values, rows.groups.names(0)) == ({}, (), [])


def test_lines_are_sorted_by_value_within_other_columns():
    table = pl.DataFrame({"g": ["u", "u", "v", "v"], "model": ["a", "b", "a", "b"]})
    ranking = [1, 2, 4, 3]
    assert lines(table, ["g", "model"], color=None, ranking=ranking) == [
        *("u · b", "u · a", "v · a", "v · b")
    ]
    assert lines(table, ["g", "model"], color=None, facet="g", ranking=ranking) == ["a", "b"]
    assert lines(table, ["g", "model"], ranking=ranking) == ["u", "v"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pl.Series(["a", "b", "c"]), ["c", "a", "b"]),
        (pl.Series(["c", "b", "a"]), ["c", "b", "a"]),  # sorted by the user
        (pl.Series([1, 2, 3]), ["1", "2", "3"]),
        (pl.Series(["low", "mid", "high"], dtype=pl.Enum(["low", "mid", "high"])), None),
    ],
)
def test_ordered_lines_and_lines_that_the_user_sorted_are_not_sorted_by_value(values, expected):
    table = pl.DataFrame({"g": values})
    assert lines(table, ["g"], ranking=[2, None, 3]) == (expected or values.to_list())


def test_colors_do_not_depend_on_the_order_of_lines():
    table = pl.DataFrame({"g": ["a", "b"]})
    rows = read_rows(table, ["g"], ChartOptions(color="g"), ranking=[1, 2])
    assert (rows.lines.values, rows.lines.domain) == (("b", "a"), ("a", "b"))


def test_a_group_column_with_the_name_of_another_field_has_another_field():
    rows = read_rows(pl.DataFrame({"auc": ["a"]}), ["auc"], ChartOptions(color=None), taken=["auc"])
    assert (rows.line, rows.lines.title) == ("(auc)", "auc")
