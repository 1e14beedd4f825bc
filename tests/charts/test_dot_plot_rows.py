"""The line, color and panel of each row of a dot plot."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from rocframe.charts.chart import ChartOptions
from rocframe.charts.dot_plot import DotPlot, read_rows
from rocframe.schemas.table_type import DotStyle

VALUES = DotStyle(title="AUC", axis="AUC", marks=("auc",), ranked=False)
RANKED = replace(VALUES, ranked=True)


def rows_of(table: pl.DataFrame, by: list[str], style: DotStyle = VALUES, **options) -> DotPlot:
    """Return the rows of a table, with a column of areas if it has none."""
    areas = [] if "auc" in table.columns else [pl.lit(0.5).alias("auc")]
    return read_rows(table.with_columns(areas), by, ChartOptions(**options), style)


def lines(table: pl.DataFrame, by: list[str], style: DotStyle = VALUES, **options) -> list[str]:
    return list(rows_of(table, by, style, **options).lines.values)


def test_lines_of_all_colors_are_sorted_together():
    table = pl.DataFrame({"model": ["a", "a", "b", "b"], "fold": [2, 3, 1, 2]})
    rows = rows_of(table, ["model", "fold"])
    assert rows.lines.values == ("1", "2", "3")
    assert rows.lines.texts == ["2", "3", "1", "2"]
    assert (rows.line, rows.groups.color, rows.dodged) == ("fold", "model", True)


def test_a_table_that_the_user_sorted_keeps_its_order():
    table = pl.DataFrame({"g": ["b", "c", "a"]})
    assert lines(table, ["g"]) == ["b", "c", "a"]


def test_more_values_than_distinct_colors_have_lines():
    table = pl.DataFrame({"model": [str(i) for i in range(9)] * 2, "g": ["u"] * 9 + ["v"] * 9})
    assert len(lines(table, ["g", "model"])) == 18
    assert rows_of(table, ["g", "model"]).groups.color is None


def test_different_keys_with_equal_text_have_separate_lines():
    table = pl.DataFrame({"g": ["a · b", "a"], "h": ["c", "b · c"]})
    assert lines(table, ["g", "h"], color=None) == ["a · b · c (1)", "a · b · c (2)"]


@pytest.mark.parametrize("facet", [None, "g"])
def test_parts_have_lines_or_panels(facet):
    table = pl.DataFrame({"g": ["u", "u", "v", "v"], "metric": ["y", "x", "y", "x"]})
    in_lines = replace(VALUES, part="metric")
    rows = rows_of(table, ["g"], replace(in_lines, in_panels=True), color=None, facet=facet)
    groups = rows.groups
    assert groups.columns[groups.panel].values == (
        ("y", "x") if facet is None else ("u · y", "u · x", "v · y", "v · x")
    )
    assert lines(table, ["g"], in_lines, color=None) == ["u · y", "u · x", "v · y", "v · x"]


def test_no_rows_have_no_names():
    rows = rows_of(pl.DataFrame({"g": []}), ["g"], color="g")
    assert (rows.groups.table_columns, rows.lines.values, rows.groups.names(0)) == ({}, (), [])


def test_lines_are_sorted_by_value_within_other_columns():
    table = pl.DataFrame({"g": ["u", "u", "v", "v"], "model": ["a", "b", "a", "b"]})
    table = table.with_columns(auc=pl.Series([1, 2, 4, 3]))
    assert lines(table, ["g", "model"], RANKED, color=None) == [
        *("u · b", "u · a", "v · a", "v · b")
    ]
    assert lines(table, ["g", "model"], RANKED, color=None, facet="g") == ["a", "b"]
    assert lines(table, ["g", "model"], RANKED) == ["u", "v"]


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
    table = pl.DataFrame({"g": values, "auc": [2, None, 3]})
    assert lines(table, ["g"], RANKED) == (expected or values.to_list())


def test_colors_do_not_depend_on_the_order_of_lines():
    table = pl.DataFrame({"g": ["a", "b"], "auc": [1, 2]})
    rows = rows_of(table, ["g"], RANKED, color="g")
    assert (rows.lines.values, rows.lines.domain) == (("b", "a"), ("a", "b"))


def test_a_group_column_with_the_name_of_another_field_has_another_field():
    # Vega-Lite cannot use the first name, and the second one would replace it.
    rows = rows_of(pl.DataFrame({"a\\b": ["x"], "a⧵b": [1]}), ["a\\b"], color=None)
    assert (rows.line, rows.lines.title) == ("(a⧵b)", "a\\b")
