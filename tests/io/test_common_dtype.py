from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from rocframe.io.logs import common_dtype


def common(*dtypes, option="--by"):
    files = [(f"{number}.parquet", dtype) for number, dtype in enumerate(dtypes)]
    return common_dtype("x", option, files)


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ([pl.Float64()], pl.Float64()),
        ([pl.Int8(), pl.UInt32(), pl.Int8()], pl.Int64()),
        ([pl.Int32(), pl.Float32()], pl.Float64()),
        ([pl.Null(), pl.Date(), pl.Null()], pl.Date()),
        ([pl.Null(), pl.Null()], pl.Null()),
        ([pl.Categorical(), pl.String()], pl.String()),
        ([pl.Categorical(), pl.Categorical()], pl.Categorical()),
        ([pl.Enum(["a"]), pl.Enum(["a"])], pl.Enum(["a"])),
    ],
)
def test_the_common_dtype_represents_all_values(dtypes, expected):
    assert common(*dtypes) == expected


def test_integer_and_float_labels_have_a_common_dtype():
    assert common(pl.Int64(), pl.Float64(), option="--label") == pl.Float64()


def test_weights_of_different_precisions_have_a_common_dtype():
    assert common(pl.Float32(), pl.Float64(), option="--weight") == pl.Float64()
    assert common(pl.Float16(), pl.Float32(), option="--weight") == pl.Float32()


@pytest.mark.parametrize("option", ["--score", "--by", "--id", "--partition-by"])
@pytest.mark.parametrize("between", [[], [pl.Int32()], [pl.Null(), pl.Float32()]])
def test_floats_of_different_precisions_are_not_compared(option, between):
    with pytest.raises(rf.LogError) as caught:
        common(pl.Float32(), *between, pl.Float64(), option=option)
    assert str(caught.value) == (
        f"{len(between) + 1}.parquet: column 'x' has type Float64, but in 0.parquet it has type "
        "Float32.\nEqual values, such as 0.7, differ between these types. Cast the column to "
        "Float32 in all files."
    )


@pytest.mark.parametrize(
    "dtypes",
    [
        [pl.Int64(), pl.String()],
        [pl.Int64(), pl.Float64()],
        [pl.UInt64(), pl.Int64()],
        [pl.Boolean(), pl.Int8()],
        [pl.Datetime("us"), pl.Datetime("us", "UTC")],
        [pl.Datetime("us"), pl.Datetime("ns")],
        [pl.Enum(["a"]), pl.Enum(["a", "b"])],
        [pl.Enum(["a"]), pl.String()],
    ],
)
def test_incompatible_dtypes_name_both_files(dtypes):
    first, second = dtypes
    with pytest.raises(rf.LogError) as caught:
        common(first, first, second)
    assert str(caught.value) == (
        f"2.parquet: column 'x' has type {second}, but in 0.parquet it has type {first}.\n"
        "Cast the column to the same type in all files."
    )
