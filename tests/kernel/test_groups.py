"""Rows sorted by group: keys that are integers internally, and all other keys."""

from __future__ import annotations

from datetime import date, time

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rocframe.kernel import groups
from rocframe.kernel.groups import GroupNumbers, RowGroups

ROWS = 500
RNG = np.random.default_rng(3)


def column(values: list[object], dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    """Return a column with these values in random order."""
    return pl.Series(values, dtype=dtype).gather(RNG.integers(0, len(values), ROWS))


INTEGERS = {
    "int8": column([-128, 127, None, 0], pl.Int8()),
    "uint64": column([2**64 - 1, 2**64 - 3, 2**64 - 4], pl.UInt64()),
    "int64": column([-(2**63), -(2**63) + 5], pl.Int64()),
    "boolean": column([True, None, False], pl.Boolean()),
    "date": column([date(2026, 1, 2), date(2025, 12, 31), None], pl.Date()),
    "enum": column(["b", "a", None], pl.Enum(["b", "a", "unused"])),
    "categorical": column(["y", "x", "z", None], pl.Categorical()),
}
OTHERS = {
    "string": column(["b", "a", None], pl.String()),
    "float": column([0.5, -1.0, None], pl.Float64()),
    "far apart": column([-(2**63), 2**63 - 1], pl.Int64()),
    "int128": column([1, 2, None], pl.Int128()),
    "nulls": column([None], pl.Int64()),
    "time": column([time(1), time(2)], pl.Time()),
    "null": column([None], pl.Null()),
}


@pytest.mark.parametrize(
    ("blocks", "bits"), [(groups.PARTITIONED_ROWS, groups.MAX_DIGIT_BITS), (7, 1)]
)
def test_rows_are_sorted_by_key_and_keep_their_order_within_a_group(
    blocks: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "PARTITIONED_ROWS", blocks)
    monkeypatch.setattr(groups, "MAX_DIGIT_BITS", bits)
    every = INTEGERS | OTHERS
    for names in [[name] for name in every] + [["int8", "enum"], ["date", "boolean", "string"]]:
        keys = pl.DataFrame([every[name].alias(name) for name in names])
        is_numbered = GroupNumbers.from_keys(keys) is not None
        assert is_numbered == all(name in INTEGERS for name in names), names
        result = RowGroups.from_keys(keys, ROWS)
        expected = keys.with_row_index("(row)").sort(names, maintain_order=True)
        np.testing.assert_array_equal(result.order, expected["(row)"].to_numpy())
        lengths = pl.Series(np.diff(result.starts))
        assert_frame_equal(result.keys, expected.select(names).unique(maintain_order=True))
        repeated = result.keys.select(pl.all().repeat_by(lengths).explode())
        assert_frame_equal(repeated, expected.select(names))


def test_keys_without_rows_have_no_groups() -> None:
    result = RowGroups.from_keys(pl.DataFrame({"group": []}, schema={"group": pl.Int64}), 0)
    assert result.keys.height == len(result.order) == 0
    np.testing.assert_array_equal(result.starts, [0])


@pytest.mark.parametrize("name", [*INTEGERS, *OTHERS])
def test_rows_that_are_sorted_by_key_are_not_moved(name: str) -> None:
    values = (INTEGERS | OTHERS)[name].alias("key")
    for column_of_keys in (values.sort(), values[:1].new_from_index(0, ROWS)):
        keys = column_of_keys.to_frame()
        is_ordered = groups._ordered_groups(keys) is not None
        assert is_ordered == (name != "float")
        result = RowGroups.from_keys(keys, ROWS)
        np.testing.assert_array_equal(result.order, np.arange(ROWS))
        assert_frame_equal(result.keys, keys.unique(maintain_order=True))
        assert_frame_equal(
            result.keys.select(pl.all().repeat_by(pl.Series(np.diff(result.starts))).explode()),
            keys,
        )


def test_sorted_runs_of_keys_that_occur_again_are_one_group() -> None:
    keys = pl.DataFrame({"key": np.repeat([2, 1, 2], ROWS)})
    result = RowGroups.from_keys(keys, 3 * ROWS)
    assert result.keys["key"].to_list() == [1, 2]
    np.testing.assert_array_equal(result.starts, [0, ROWS, 3 * ROWS])
    np.testing.assert_array_equal(
        result.order, np.concatenate([np.arange(ROWS, 2 * ROWS), np.r_[:ROWS, 2 * ROWS : 3 * ROWS]])
    )
