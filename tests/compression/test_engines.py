"""Tests of `compress` for tables of pandas, pyarrow and DuckDB: the same counts as polars."""

from __future__ import annotations

from itertools import product

import narwhals
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe import compression as cells
from tests.engine_cases import CALLS, N, check_engine, engine_predictions

duckdb = pytest.importorskip("duckdb")
FRAME = engine_predictions()


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        yield connection


@pytest.mark.parametrize(
    ("package", "call"),
    [
        *product(["pyarrow", "pandas", "duckdb"], CALLS),
        *product(["pandas with pyarrow"], ["float labels", "counts"]),
    ],
)
def test_engines_return_the_cells_of_polars(package, call, connection):
    arrow = FRAME.to_arrow()
    frame = FRAME
    if package == "pyarrow":
        table = arrow
    elif package == "pandas":
        table = arrow.to_pandas()
        frame = pl.DataFrame(table)  # missing numbers become NaN, and integers Float64
    elif package == "pandas with pyarrow":
        table = arrow.to_pandas(types_mapper=pd.ArrowDtype)
    else:
        table = connection.from_arrow(arrow)
    check_engine(table, frame, {"count": None, **CALLS[call]})


COUNT_DTYPES = {
    pl.Int8: "tinyint",
    pl.Int16: "smallint",
    pl.Int32: "integer",
    pl.Int64: "bigint",
    pl.UInt8: "utinyint",
    pl.UInt16: "usmallint",
    pl.UInt32: "uinteger",
    pl.UInt64: "ubigint",
    pl.Int128: "hugeint",
}


@pytest.mark.parametrize(
    ("package", "dtype"),
    [
        (package, dtype)
        for package in ("pandas", "pandas with pyarrow", "pyarrow", "duckdb")
        for dtype in COUNT_DTYPES
        if package == "duckdb" or dtype != pl.Int128  # pandas and Arrow have no such type
    ],
)
def test_counts_of_every_integer_type_are_added_up(package, dtype, connection):
    largest = min(pl.select(dtype.max()).item(), 2**60)
    frame = pl.DataFrame(
        {
            "bool": [True, False, True, False, True, True],
            "score": [0.9, 0.4, 0.9, 0.1, 0.4, 0.9],
            "n": pl.Series([largest, 1, 2, 0, 3, largest], dtype=dtype),
        }
    )
    arrow = frame.cast({"n": pl.Int64}).to_arrow() if dtype == pl.Int128 else frame.to_arrow()
    connection.register("counted", arrow)
    table = {
        "pandas": arrow.to_pandas,
        "pandas with pyarrow": lambda: arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pyarrow": lambda: arrow,
        "duckdb": lambda: connection.sql(
            f"select * replace (n::{COUNT_DTYPES[dtype]} as n) from counted"
        ),
    }[package]()
    found = rf.compress(table, "bool", "score", count="n")
    expected = [(True, 0.9, 2 * largest + 2), (True, 0.4, 3), (False, 0.4, 1), (False, 0.1, 0)]
    rows = found.select("label", "score", "count").rows()
    assert sorted(rows, key=str) == sorted(expected, key=str)


def test_columns_with_categories_are_compared_by_their_text(connection):
    frame = FRAME.with_columns(pl.col("text").replace("", None).cast(pl.Categorical))
    call = {"label": "text", "score": "score", "positive": "yes"}
    by_text = {"label": "bool", "score": "score", "by": "text"}
    pandas = frame.to_pandas()
    ordered = pd.CategoricalDtype(["yes", "no"], ordered=True)
    connection.register("arrow", frame.to_arrow())
    enum = connection.sql("select * replace (text::enum('yes', 'no') as text) from arrow")
    for table in (frame.to_arrow(), pandas, pandas.astype({"text": ordered}), enum):
        check_engine(table, frame, call)
        check_engine(table, frame, by_text)
    # The categories are the known labels, so an absent category is not an error.
    declared = connection.sql("select * replace (text::enum('yes', 'no', 'x') as text) from arrow")
    assert not rf.compress(declared, "text", "score", positive="x")["label"].any()
    with pytest.raises(rf.LabelError, match="positive='z': no label of column 'text'"):
        rf.compress(enum, "text", "score", positive="z")


def test_only_cells_are_converted_to_polars(connection, monkeypatch):
    heights = []

    def collect_rows(frame):
        heights.append(collect(frame).height)
        return collect(frame)

    collect = cells.collect_rows
    monkeypatch.setattr(cells, "collect_rows", collect_rows)
    arrow = FRAME.to_arrow()
    for table in (arrow, arrow.to_pandas(types_mapper=pd.ArrowDtype), connection.from_arrow(arrow)):
        found = rf.compress(table, "small", "rank", resolution=4)
        assert found.height < N / 10
        assert heights.pop() == found.height
    assert not heights


def test_other_columns_of_a_table_are_not_read(connection):
    frame = pd.DataFrame({"label": [1, 0, 1], "score": [0.5, 0.5, 0.25], "x": [1, "a", object()]})
    expected = rf.compress(pl.DataFrame(frame[["label", "score"]]), "label", "score")
    assert_frame_equal(
        rf.compress(frame.set_index(pd.Index([4, 4, 5])), "label", "score"), expected
    )
    with pytest.raises(rf.OptionValueError, match="the pandas DataFrame cannot be read"):
        rf.auc(frame, "label", "score")
    log = connection.sql("select 1 as label, 0.5::double as score, error('is read') as x")
    assert rf.compress(log, "label", "score")["count"].to_list() == [1]


@pytest.mark.parametrize("name", ["*", "^a$", "^.*$"])
def test_columns_of_pandas_may_have_the_name_of_a_pattern(name):
    frame = pl.DataFrame({"label": [1, 0, 1], name: [0.9, 0.8, 0.9], "n": [1, 2, 3]})
    counts = frame.to_pandas().astype({"n": "uint64"})
    labels = frame.to_pandas().astype({"label": object})
    for role in ({"score": name}, {"score": "n", "by": name}):
        assert_frame_equal(
            rf.compress(labels, "label", **role), rf.compress(frame, "label", **role)
        )
    options = {"score": name, "count": "n"}
    assert_frame_equal(
        rf.compress(counts, "label", **options), rf.compress(frame, "label", **options)
    )


def test_narwhals_frames_are_compressed_by_their_package():
    expected = rf.compress(FRAME, "bool", "score", by="text")
    for table in (FRAME, FRAME.to_arrow(), FRAME.to_pandas(), FRAME.lazy()):
        for package in (narwhals, nw):
            found = rf.compress(package.from_native(table), "bool", "score", by="text")
            assert isinstance(
                found, type(table) if isinstance(table, pl.LazyFrame) else pl.DataFrame
            )
            assert_frame_equal(found.lazy().collect(), expected)


def test_a_reader_of_record_batches_is_converted_to_polars():
    reader = FRAME.to_arrow().to_reader()
    expected = rf.compress(FRAME, "bool", "score")
    assert_frame_equal(rf.compress(reader, "bool", "score"), expected)


def test_compressed_tables_of_engines_are_merged_and_widened(connection):
    tables = [
        rf.compress(FRAME[:100], "bool", "score", by="text", resolution=0.01),
        rf.compress(FRAME[100:], "bool", "score", by="text", resolution=0.5),
    ]
    call = {"label": "label", "score": "score", "by": "text", "count": "count"}
    both = pl.concat(tables)
    for table in (both.to_arrow(), both.to_pandas(), connection.from_arrow(both.to_arrow())):
        check_engine(table, both, call)


ERRORS = {
    "expression": (
        {"label": pl.col("bool")},
        (
            'label=col("bool"): expected the name of a column, because the table is a '
            "DuckDBPyRelation.\nCompute the column in the DuckDBPyRelation first, and pass its "
            "name."
        ),
    ),
    "expression of groups": (
        {"by": pl.col("text").str.to_uppercase()},
        (
            'by=col("text").str.to_uppercase(): expected the name of a column, because the table '
            "is a DuckDBPyRelation.\nCompute the column in the DuckDBPyRelation first, and pass "
            "its name."
        ),
    ),
    "narwhals": ({"score": [nw.col("score")]}, "score=col(score): expected the name of a column"),
    "column": ({"label": "x"}, "label='x': the frame has no column of this name."),
    "labels": ({"label": "text"}, "label='text': the positive class is unknown."),
    "positive": ({"label": "text", "positive": "maybe"}, "positive='maybe': no label of column"),
    "score": ({"score": "text"}, "score='text': the column has type String."),
    "group": ({"by": "bool"}, "by='bool': this is the same column as label='bool'."),
    "star": (
        {"score": {"m": "*"}},
        (
            "score='*': in a query of the DuckDBPyRelation, this name stands for all columns.\n"
            "Rename the column in the DuckDBPyRelation first."
        ),
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_those_of_polars(case, connection):
    options, message = ERRORS[case]
    table = connection.from_arrow(FRAME.with_columns(pl.col("score").alias("*")).to_arrow())
    with pytest.raises(rf.RocframeError) as error:
        rf.compress(table, **{"label": "bool", "score": "score", **options})
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("problem", ["negative", "missing"])
def test_wrong_counts_raise_an_error(problem, connection):
    wrong = pl.lit({"negative": -1, "missing": None}[problem], pl.Int64)
    frame = FRAME.with_columns(n=pl.when(pl.int_range(pl.len()) < 2).then(wrong).otherwise("n"))
    with pytest.raises(rf.MassError, match=f"count='n': the count is {problem} in 2 rows"):
        rf.compress(connection.from_arrow(frame.to_arrow()), "bool", "score", count="n")


def test_a_missing_table_raises_the_error_of_other_functions():
    for table in (None, "log.parquet", FRAME["score"], [1, 2]):
        for function in (rf.compress, rf.auc):
            with pytest.raises(rf.OptionValueError) as error:
                function(table, "label", "score")
            assert str(error.value).startswith("predictions: expected a DataFrame, LazyFrame or")


@pytest.mark.slow
def test_duckdb_compresses_more_rows_than_fit_into_its_memory(tmp_path):
    n = 4_000_000
    rng = np.random.default_rng(4)
    rows = {
        "group": rng.integers(0, 3, n),
        "label": rng.random(n) < 0.3,
        "score": rng.normal(size=n),
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "log.parquet")
    with duckdb.connect() as connection:
        connection.execute("set memory_limit = '300MB'")
        connection.execute("set threads = 2")
        connection.execute(f"set temp_directory = '{tmp_path}'")
        log = connection.read_parquet(str(tmp_path / "log.parquet"))
        scan = pl.scan_parquet(tmp_path / "log.parquet")
        for options in ({}, {"resolution": 1e-3}):
            found = rf.compress(log, "label", "score", by="group", **options)
            expected = rf.compress(scan, "label", "score", by="group", **options).collect()
            assert_frame_equal(found, expected)


def test_pyarrow_tables_with_nested_keys_and_float16_labels_are_compressed():
    frame = pl.DataFrame(
        {
            "label": pl.Series([1, 0, 1, 1], dtype=pl.Float16),
            "score": [0.9, 0.4, 0.4, 0.9],
            "list": [[1], [2], [1], [1]],
            "struct": [{"a": 1}, {"a": 2}, {"a": 1}, {"a": 1}],
        }
    )
    for by in ("list", "struct"):
        expected = rf.compress(frame, "label", "score", by=by)
        assert_frame_equal(rf.compress(frame.to_arrow(), "label", "score", by=by), expected)
