"""`average(fixed=, metrics=)`: any metric held fixed, and any others averaged there."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan, sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.averages import folds, held
from tests.averages.test_average import TABLE, TAIL, curves, fold_tables

BETTER = {"fpr": "lower", "fnr": "lower", "alert_rate": None, "rnp": None, "tp": None}
AVERAGED = ["precision", "npv", "accuracy", "kappa"]
SPREAD = ("sd", "se", "lower", "upper")
GRID = [Fraction(i, 12) for i in range(13)]
fewer = settings(max_examples=8)


def members_of(table: pl.DataFrame) -> list[list[folds.Counts]]:
    members = folds.folds(table)
    assume(members)
    return members


def compared(found: pl.DataFrame, places: list[list[folds.Counts | None]], members, names) -> None:
    """Compare a table with the places of each value on each curve."""
    there = [[place for place in row if place is not None] for row in places]
    assert found["n_curves"].to_list() == [len(row) for row in there]
    for name in names:
        every = [
            [
                held.begun(name, rows, place)
                for rows, place in zip(members, row, strict=True)
                if place is not None
            ]
            for row in places
        ]
        known = [[value for value in row if value is not None] for row in every]
        means = [float(folds.mean(row)) if row else None for row in known]
        assert found[name].to_list() == pytest.approx(means, abs=1e-9), name
        spread = [sqrt(folds.variance(row)) if len(row) > 1 else None for row in known]
        assert found[f"{name}_sd"].to_list() == pytest.approx(spread, abs=1e-7), name
        fewer = [
            f"{name} ({len(few)})" if len(few) < len(row) else ""
            for few, row in zip(known, every, strict=True)
        ]
        notes = found["note"].fill_null("").to_list()
        assert all(told in note for told, note in zip(fewer, notes, strict=True))


@pytest.mark.parametrize("fixed", held.METRICS)
@fewer
@given(table=fold_tables())
def test_means_are_those_of_the_definition(fixed, table):
    members = members_of(table)
    grid = [Fraction(i) for i in range(6)] if fixed == "tp" else GRID
    names = [name for name in AVERAGED if name != fixed]
    found = rf.average(curves(table), fixed=fixed, metrics=names, grid=[float(g) for g in grid])
    places = [[held.between(rows, fixed, value) for rows in members] for value in grid]
    assert found[fixed].to_list() == [float(value) for value in grid]
    compared(found, places, members, names)


@pytest.mark.parametrize("fixed", held.METRICS)
@fewer
@given(table=fold_tables())
def test_the_nearest_rows_are_those_of_the_definition(fixed, table):
    members = members_of(table)
    grid = [Fraction(2 * i + 1, 34) for i in range(17)]
    if fixed == "tp":
        grid = [Fraction(i, 2) for i in range(12)]
    names = [name for name in AVERAGED if name != fixed]
    found = rf.average(
        curves(table), fixed=fixed, metrics=names, nearest=True, grid=[float(g) for g in grid]
    )
    better = BETTER.get(fixed, "higher")
    places = [[held.nearest(rows, fixed, value, better) for rows in members] for value in grid]
    compared(found, places, members, names)


@pytest.mark.parametrize("fixed", ["accuracy", "precision", "youden", "f1"])
@fewer
@given(table=fold_tables())
def test_the_union_has_every_value_of_every_curve(fixed, table):
    members = members_of(table)
    every = {held.metric(fixed, row) for rows in members for row in rows} - {None}
    grid = sorted(every)
    found = rf.average(curves(table), fixed=fixed, grid="union")
    assert found[fixed].to_list() == pytest.approx([float(value) for value in grid], abs=1e-11)
    places = [[held.between(rows, fixed, value) for rows in members] for value in grid]
    compared(found, places, members, ["fpr", "tpr"])
