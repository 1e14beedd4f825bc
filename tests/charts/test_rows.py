"""Which line, color and panel the rows of a table have."""

from __future__ import annotations

import polars as pl
import pytest

from rocframe.charts.dot_plot import rows_of


def lines(table: pl.DataFrame, by: list[str], **options: object) -> list[str]:
    return list(rows_of(table, by, **{"color": ..., "facet": None, **options}).line.values)


def test_lines_of_all_colors_are_sorted_together():
    table = pl.DataFrame({"model": ["a", "a", "b", "b"], "fold": [2, 3, 1, 2]})
    rows = rows_of(table, ["model", "fold"], color=..., facet=None)
    assert rows.line.values == ("1", "2", "3")
    assert rows.line.texts == ["2", "3", "1", "2"]
    assert (rows.color, rows.dodges, rows.abreast) == ("f0", True, 2)


def test_a_table_that_somebody_sorted_keeps_its_order():
    table = pl.DataFrame({"g": ["b", "c", "a"]})
    assert lines(table, ["g"]) == ["b", "c", "a"]


def test_more_values_than_colors_stand_on_lines():
    table = pl.DataFrame({"model": [str(i) for i in range(9)] * 2, "g": ["u"] * 9 + ["v"] * 9})
    assert len(lines(table, ["g", "model"])) == 18
    assert rows_of(table, ["g", "model"], color=..., facet=None).color is None


def test_parts_that_are_spelled_alike_stay_apart():
    table = pl.DataFrame({"g": ["a · b", "a"], "h": ["c", "b · c"]})
    assert lines(table, ["g", "h"], color=None) == ["a · b · c (1)", "a · b · c (2)"]


@pytest.mark.parametrize("facet", [None, "g"])
def test_parts_have_lines_or_panels(facet):
    table = pl.DataFrame({"g": ["u", "u", "v", "v"]})
    parts = {"metric": ["y", "x", "y", "x"]}
    rows = rows_of(table, ["g"], color=None, facet=facet, parts=parts, apart=True)
    assert rows.framing[rows.panel].values == (
        ("y", "x") if facet is None else ("u · y", "u · x", "v · y", "v · x")
    )
    assert lines(table, ["g"], color=None, parts=parts) == ["u · y", "u · x", "v · y", "v · x"]


def test_no_rows_have_no_names():
    rows = rows_of(pl.DataFrame({"g": []}), ["g"], color="g", facet=None)
    assert (rows.groups, rows.line.values, rows.records()) == ({}, (), [])
