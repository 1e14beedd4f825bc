"""Reading of curve tables: complete curves are recognised, and broken ones raise errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.curves import table as curve_table
from rocframe.curves.table import curve_layout, read_curves
from rocframe.schemas.table_type import CURVE_COLUMNS

RNG = np.random.default_rng(7)
LOG = pl.DataFrame(
    {
        "model": ["a", "b", None] * 30,
        "fold": RNG.integers(0, 2, 90),
        "label": RNG.random(90) < 0.4,
        "score": RNG.integers(0, 30, 90) / 8,
    }
)
KEYS = ["model", "fold"]
COUNTS = ["tp", "fp", "fn", "tn"]


def table() -> pl.DataFrame:
    return rf.curve(LOG, "label", "score", by=KEYS).rechunk()


def in_pieces(frame: pl.DataFrame, length: int) -> pl.DataFrame:
    parts = [frame.slice(start, length) for start in range(0, frame.height, length)]
    return pl.concat(parts, rechunk=False)


@pytest.fixture(params=[3, 7, 50], ids="pieces of {}".format)
def pieces(request, monkeypatch):
    """Draw frames of several chunks, and blocks shorter or longer than these."""
    monkeypatch.setattr(curve_table, "SHORT_CHUNK_ROWS", 5)
    monkeypatch.setattr(curve_table, "BLOCK_ROWS", 10)
    return lambda frame: in_pieces(frame, request.param)


def starts_of(frame: pl.DataFrame) -> np.ndarray | None:
    columns = curve_layout(frame.schema, KEYS, ())
    named = frame.select(columns.count_columns)
    counts = curve_table.CurveColumns(
        {name: named[columns.private(name)] for name in CURVE_COLUMNS}
    )
    return curve_table.find_starts_fast(frame.select(KEYS), counts)


def test_sorted_complete_curves_take_the_fast_path(pieces):
    expected = table().with_row_index().filter(pl.col("threshold").is_infinite())["index"]
    assert starts_of(pieces(table())).tolist() == expected.to_list()


def test_rows_do_not_depend_on_the_size_of_pieces(pieces):
    whole, cut = (
        read_curves(frame.select(columns.count_columns), columns)
        for frame in (table(), pieces(table()))
        for columns in [curve_layout(frame.schema, KEYS, ())]
    )
    assert_frame_equal(cut.keys, whole.keys)
    assert cut.starts.tolist() == whole.starts.tolist()
    some = RNG.integers(0, table().height, (3, 5))
    for name in whole.columns:
        every = table()[name].to_numpy()
        assert cut.columns.at(name, some).tolist() == every[some].tolist()
        for start, end in cut.columns.blocks(curve_table.BLOCK_ROWS):
            assert end - start <= curve_table.BLOCK_ROWS
            assert cut.columns.between(name, start, end).tolist() == every[start:end].tolist()
        assert cut.columns[name].tolist() == every.tolist()


@pytest.mark.parametrize("name", ["tp", "fp", "fn", "tn"])
def test_every_wrong_count_raises_an_error(pieces, name):
    plain = table()
    for row in range(0, plain.height, 7):
        for off in (-100, 100):
            wrong = plain.with_columns(
                pl.when(pl.int_range(pl.len()) == row)
                .then(pl.col(name) + off)
                .otherwise(pl.col(name))
                .alias(name)
            )
            assert starts_of(pieces(wrong)) is None
    with pytest.raises(rf.BrokenCurveError) as caught:
        rf.average(wrong)
    total = "tp + fn" if name in {"tp", "fn"} else "fp + tn"
    assert str(caught.value) == (
        f"curves: {total} is not the same in all rows of group model='b', fold=1.\n"
        "The group may contain several curves: name all group columns in by=."
    )


def test_every_wrong_key_or_threshold_raises_an_error(pieces):
    plain = table()
    other = {
        "model": pl.lit("z"),
        "fold": pl.col("fold") + 9,
        "threshold": pl.when(pl.col("threshold").is_infinite()).then(0.0).otherwise(50.0),
    }
    for row in range(0, plain.height, 3):
        for name, value in other.items():
            wrong = plain.with_columns(
                pl.when(pl.int_range(pl.len()) == row)
                .then(value)
                .otherwise(pl.col(name))
                .alias(name)
            )
            # The highest score of a curve may well be 50.
            highest = row and plain["threshold"][row - 1] == np.inf
            assert starts_of(pieces(wrong)) is None or (name == "threshold" and highest)


def test_unsorted_groups_are_sorted(pieces):
    parts = table().partition_by(KEYS, maintain_order=True)
    swapped = pl.concat([*parts[1:], parts[0]])
    assert starts_of(pieces(swapped)) is None
    assert_frame_equal(rf.average(pieces(swapped)), rf.average(table()))


def test_fractional_decimals_are_read_as_sums_of_weights():
    curves = pl.DataFrame(
        {
            "threshold": [np.inf, 0.9, 0.5, 0.1],
            "tp": [0.0, 0.5, 1.0, 1.5],
            "fp": [0.0, 0.0, 0.75, 1.5],
            "fn": [1.5, 1.0, 0.5, 0.0],
            "tn": [1.5, 1.5, 0.75, 0.0],
        }
    )
    curves = curves.with_columns(fpr=pl.col("fp") / 1.5, tpr=pl.col("tp") / 1.5)
    decimals = curves.with_columns(pl.col(COUNTS).cast(pl.Decimal(10, 2)))
    assert rf.area(decimals).item() == rf.area(curves).item() == pytest.approx(2 / 3, abs=1e-15)
    assert_frame_equal(
        rf.at(decimals, fpr=0.3, interpolate=True), rf.at(curves, fpr=0.3, interpolate=True)
    )
    with_fold = [each.select(pl.lit(1).alias("fold"), pl.all()) for each in (decimals, curves)]
    pooled, expected = (rf.average(each, method="pooled") for each in with_fold)
    assert_frame_equal(pooled, expected)


def test_whole_decimals_are_read_as_numbers_of_rows():
    decimals = table().with_columns(pl.col(COUNTS).cast(pl.Decimal(38, 0)))
    assert_frame_equal(rf.average(decimals, method="pooled"), rf.average(table(), method="pooled"))


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt64, pl.Decimal(38, 0)], ids=str)
def test_counts_may_have_any_type_of_integers(dtype):
    curves = table().with_columns(pl.col(COUNTS).cast(dtype))
    assert_frame_equal(rf.area(curves), rf.area(table()))
