"""Tables of pandas, pyarrow, DuckDB and others: each function reads them as polars frames."""

from __future__ import annotations

import inspect
from datetime import date
from decimal import Decimal
from math import nan

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from narwhals.stable import v2 as narwhals
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.options import FRAME_ARGUMENTS
from tests.all_cases import all_cases
from tests.verbs import OF_CURVES, OF_PREDICTIONS, Verb

ROWS = 16
PREDICTIONS = pl.DataFrame(
    {
        "label": [True, False, True, False] * 4,
        "score": [(i * 7 % 11) / 16 for i in range(ROWS)],
        "other": [(i * 5 % 13) / 16 for i in range(ROWS)],
        "w": [1.0, 2.0, 0.0, 3.0] * 4,
        "fold": [i * 5 % 13 > 5 for i in range(ROWS)],
        "class": ["x" if i * 5 % 13 > 5 else "y" for i in range(ROWS)],
        "class_number": [1, 0, 2, 2] * 4,
    }
)
KEYS = pl.DataFrame(
    {
        "day": [date(2026, 1, 1 + i // 8) for i in range(ROWS)],
        "segment": ["a", "a", None, None] * 4,
        "amount": [Decimal("0.25") * (i % 5) for i in range(ROWS)],
    }
)
CURVES = rf.curve(PREDICTIONS, "label", "score", by="class")
POINTS = rf.mix(CURVES, fpr=0.5)
SCORES = {"x": "score", "y": "other"}


class ArrowStream:
    """A table with the Arrow stream interface and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


# Calls of the functions that have no record in `tests/verbs.py`, with the table that they read.
OTHER_CALLS = {
    "one_vs_rest": (PREDICTIONS, lambda table: rf.one_vs_rest(table, "class", SCORES, keep=["w"])),
    "one_vs_one": (PREDICTIONS, lambda table: rf.one_vs_one(table, "class", SCORES, keep=["w"])),
    "top_label": (PREDICTIONS, lambda table: rf.top_label(table, "class", SCORES, keep=["w"])),
    "confusion_matrix": (PREDICTIONS, lambda table: rf.confusion_matrix(table, "label", "fold")),
    "compress": (PREDICTIONS, lambda table: rf.compress(table, "label", "score", by="class")),
    "windows": (KEYS, lambda table: rf.windows(table, "day", every="1d")),
    "expand_counts": (CURVES.select("tp", "fp", "fn", "tn"), rf.expand_counts),
    "apply_calibration": (
        PREDICTIONS,
        lambda table: rf.apply_calibration(
            table, "score", rf.fit_calibration(table, "label", "score")
        ),
    ),
    "draw_decisions": (
        PREDICTIONS,
        lambda table: rf.draw_decisions(
            table, "score", points=POINTS, id=pl.int_range(pl.len()), seed=1
        ),
    ),
    "repair_scores": (
        PREDICTIONS,
        lambda table: rf.repair_scores(table, "score", concavities=rf.concavities(CURVES)),
    ),
}


def calls():
    """Yield the name of each function, the table that it reads, and a call of the function."""
    seen = set()
    for verb in (*OF_PREDICTIONS.values(), *OF_CURVES.values()):
        if verb.function not in seen:
            table = PREDICTIONS if isinstance(verb, Verb) else verb.table_of(PREDICTIONS)
            yield verb.function, table, verb
            seen.add(verb.function)
    for name, (table, call) in OTHER_CALLS.items():
        yield name, table, call


def test_every_function_returns_for_arrow_tables_what_it_returns_for_dataframes(tmp_path):
    tested = set()
    with all_cases() as case:
        for name, table, call in calls():
            tested.add(name)
            with case(name):
                assert_frame_equal(call(ArrowStream(table)), call(table))
    rf.write(ArrowStream(CURVES), tmp_path / "curves.parquet")
    assert_frame_equal(rf.read(tmp_path / "curves.parquet"), CURVES)
    for draw in (rf.chart, rf.dashboard):
        with pytest.raises(rf.RocframeError, match=r"'label', |'threshold', "):
            draw(ArrowStream(PREDICTIONS))
    with pytest.raises(rf.MissingColumnError, match=r"^label='x': the frame has no column"):
        rf.report(ArrowStream(PREDICTIONS), "x", "score", path=tmp_path / "page.html")
    functions = {name: getattr(rf, name) for name in rf.__all__ if name[0].islower()}
    of_tables = {
        name
        for name, function in functions.items()
        if inspect.isfunction(function)
        and next(iter(inspect.signature(function).parameters), None) in FRAME_ARGUMENTS
    }
    assert tested | {"write", "chart", "dashboard", "report"} == of_tables


def test_tables_of_other_packages_are_read_with_their_dtypes():
    duckdb = pytest.importorskip("duckdb")
    log = PREDICTIONS.hstack(KEYS)
    table = log.to_arrow()
    segments = pa.array(log["segment"].to_list()).dictionary_encode()
    categories = log.with_columns(pl.col("segment").cast(pl.Categorical))
    tables = {
        "pyarrow": (table, log),
        "batch": (table.combine_chunks().to_batches()[0], log),
        "reader": (table.to_reader(), log),
        "dictionary": (table.set_column(8, "segment", segments), categories),
        "pandas": (table.to_pandas(), log),
        "categorical": (table.to_pandas().astype({"segment": "category"}), categories),
        "filtered": (
            table.to_pandas().query("class_number < 2"),
            log.filter(pl.col("class_number") < 2),
        ),
        "narwhals": (narwhals.from_native(table.to_pandas()), log),
        "duckdb": (duckdb.from_arrow(table), log),
    }
    with all_cases() as case:
        for name, (given, frame) in tables.items():
            with case(name):
                result = rf.auc(given, "label", "score", by=["day", "segment"], weight="amount")
                expected = rf.auc(frame, "label", "score", by=["day", "segment"], weight="amount")
                assert_frame_equal(result, expected)


def test_group_columns_may_be_expressions():
    key = pl.col("class").str.to_uppercase().alias("key")
    table = ArrowStream(PREDICTIONS.to_arrow())
    for function in (rf.auc, rf.compress):
        expected = function(PREDICTIONS, "label", "score", by=key)
        assert_frame_equal(function(table, "label", "score", by=key), expected)


def test_a_reader_with_rows_that_can_be_read_only_once_is_read_once():
    reader = PREDICTIONS.to_arrow().to_reader()
    result = rf.pooling_gap(reader, "label", "score", by="class")
    assert_frame_equal(result, rf.pooling_gap(PREDICTIONS, "label", "score", by="class"))


def test_a_second_table_of_another_package_is_converted_too():
    chosen = rf.operating_point(CURVES)
    expected = rf.transfer(CURVES, chosen=chosen, over="class")
    assert_frame_equal(rf.transfer(CURVES, chosen=chosen.to_arrow(), over="class"), expected)


def test_missing_values_of_pandas_are_null_and_its_index_is_ignored():
    frame = pd.DataFrame(
        {"label": [1, 0, 1, 0], "score": [0.9, nan, 0.4, 0.4], "site": [1.0, 1.0, nan, nan]},
        index=pd.Index([5, 6, 7, 8], name="row"),
    )
    result = rf.auc(frame, "label", "score", by="site", missing="drop")
    assert result.select("site", "n_pos", "n_neg", "n_missing").rows() == [
        (None, 1, 1, 0),
        (1.0, 1, 0, 1),
    ]
    with pytest.raises(rf.MissingColumnError, match=r"^by='row': the frame has no column"):
        rf.auc(frame, "label", "score", by="row")


def spark_frame():
    stream = {"__module__": "pyspark.sql.classic.dataframe", "__arrow_c_stream__": lambda _: None}
    return type("DataFrame", (), stream)()


EXPECTED = "expected a DataFrame, LazyFrame or Arrow table, but this is"
COLUMNS_HINT = "Convert, rename or leave out the columns that polars cannot read."
FROM_ARRAYS = (
    'Make a table of the arrays first: pl.DataFrame({"label": y_true, "score": y_score}). '
    "Then pass the names of its columns."
)
STRUCTS = pl.Series([{"label": 1, "score": 0.5}])
UNREADABLE = {
    "struct Series": (STRUCTS, f"{EXPECTED} a Series.\n{FROM_ARRAYS}"),
    "ChunkedArray": (
        pa.chunked_array([STRUCTS.to_arrow()]),
        f"{EXPECTED} a ChunkedArray.\n{FROM_ARRAYS}",
    ),
    "pandas Series": (pd.Series([1, 0]), f"{EXPECTED} a Series.\n{FROM_ARRAYS}"),
    "narwhals LazyFrame": (
        narwhals.from_native(PREDICTIONS.lazy()),
        f"{EXPECTED} a narwhals LazyFrame.\nCollect the table first, with its method collect().",
    ),
    "pyspark": (
        spark_frame(),
        (
            "expected a table in memory, but this is a pyspark DataFrame.\n"
            "rocframe does not load the rows of a cluster into memory by itself. To count the rows "
            "on the cluster, use rf.compress(predictions, label, score, …), and pass the result "
            'with count="count". To load all rows, use pl.DataFrame(predictions.toArrow()).'
        ),
    ),
    "repeated names": (
        pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["a", "a"]),
        (
            "the pyarrow Table cannot be read: column appears more than once; names must be "
            f'unique: ["a"].\n{COLUMNS_HINT}'
        ),
    ),
    "mixed types": (
        pd.DataFrame({"label": [1, 0], "score": [1, "x"]}),
        (
            "the pandas DataFrame cannot be read: Could not convert 'x' with type str: tried to "
            "convert to int64.\n"
            "Convert, rename or leave out the columns that polars cannot read ('score')."
        ),
    ),
    "failing reader": (
        pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), iter([1])),
        (
            "the RecordBatchReader cannot be read: got external error: Type error: Could not "
            f"unwrap RecordBatch from Python object of type 'int'.\n{COLUMNS_HINT}"
        ),
    ),
    "stream of numbers": (
        ArrowStream(pa.chunked_array([[1.5]])),
        (
            "the ArrowStream cannot be read: invalid series dtype: expected `Struct`, got `f64` "
            f"for series with name ``.\n{COLUMNS_HINT}"
        ),
    ),
}


def test_a_table_that_polars_cannot_read_raises_an_error_with_its_reason():
    with all_cases() as case:
        for name, (table, text) in UNREADABLE.items():
            with case(name):
                with pytest.raises(rf.OptionValueError) as caught:
                    rf.auc(table, "label", "score")
                assert str(caught.value) == f"predictions: {text}"


def test_a_numeric_option_can_be_a_column_of_another_package():
    values = [0.1, 0.5]
    expected = rf.at(CURVES, fpr=values)
    for given in (pd.Series(values), np.array(values)):
        assert_frame_equal(rf.at(CURVES, fpr=given), expected)


def test_the_error_names_a_pandas_column_of_mixed_types():
    table = pd.DataFrame({"label": [1, 0, 1], "score": [0.1, 0.2, 0.3]})
    table["mixed"] = pd.Series([1, "a", 2.5], dtype=object)
    with pytest.raises(rf.OptionValueError) as caught:
        rf.auc(table, "label", "score")
    assert str(caught.value).splitlines()[-1] == (
        "Convert, rename or leave out the columns that polars cannot read ('mixed')."
    )
