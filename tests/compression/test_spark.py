"""Tests of `compress` for Spark DataFrames: the cells of polars, counted by Spark in local mode."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.engine_cases import CALLS, SPARK_CALLS, check_engine, engine_predictions

pytestmark = pytest.mark.spark
FRAME = engine_predictions()
PAGE = Path(__file__).parents[2] / "docs" / "large-logs.md"


@pytest.fixture(scope="session")
def spark():
    """Start Spark once, with two threads."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        if "CI" in os.environ:
            pytest.fail("Java is not installed")
        pytest.skip("Java is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # PySpark does not close some files and sockets, and warns about new versions of pandas.
    with warnings.catch_warnings(action="ignore"):
        from pyspark.sql import SparkSession

        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.memory": "1g",
            # The session is short, so compiling fast is better than fast code.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        builder = SparkSession.builder.config(map=options)
        if "SPARK_REMOTE" not in os.environ:  # otherwise, PySpark starts a server of Spark Connect
            builder = builder.master("local[2]")
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="session")
def table(spark):
    return spark.createDataFrame(FRAME.to_arrow()).cache()


@pytest.mark.parametrize("call", SPARK_CALLS)
def test_spark_returns_the_cells_of_polars(call, table):
    check_engine(table, FRAME, {"count": None, **CALLS[call]})


def test_times_without_a_zone_and_small_numbers_keep_their_dtypes(spark):
    log = spark.sql(
        "select * from values (true, 1.5f, timestamp_ntz'2026-01-02 03:04:05', 1s),"
        "(false, 1.5f, timestamp_ntz'2026-01-02 03:04:05', 2s) as log (label, score, time, n)"
    )
    time = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001
    assert rf.compress(log, "label", "score", by="time", count="n").rows() == [
        (time, True, 1.5, 0.0, 1),
        (time, False, 1.5, 0.0, 2),
    ]


def test_errors_about_spark_tables_name_the_argument_and_what_to_do(table):
    with pytest.raises(rf.OptionValueError, match=r"use rf.compress\(predictions, label, score"):
        rf.auc(table, "bool", "score")
    with pytest.raises(rf.MissingColumnError, match="by='x': the frame has no column of this name"):
        rf.compress(table, "bool", "score", by="x")
    with pytest.raises(rf.LabelError, match="Found: '', 'no', 'yes'"):
        rf.compress(table, "text", "score")


def test_the_nightly_job_of_the_documentation_runs(spark, tmp_path, monkeypatch):
    """Run the code of the page in a folder with a table of predictions of one day."""
    monkeypatch.chdir(tmp_path)
    log = FRAME.select(
        pl.lit(date(2026, 11, 21)).alias("day"),
        pl.col("text").alias("model"),
        pl.col("integer").alias("label"),
        "score",
    )
    spark.createDataFrame(log.to_arrow()).createOrReplaceTempView("predictions")
    text = PAGE.read_text(encoding="utf-8").split("## Nightly job on a Spark cluster")[1]
    code = re.findall(r"```py\n(.*?)```", text.split("\n## ")[0], re.DOTALL)
    scope = {"spark": spark}
    for block in code:
        exec(block, scope)
    expected = rf.compress(log, "label", "score", by=["day", "model"], resolution=0.00025)
    assert_frame_equal(pl.read_parquet("counts/2026-11-21.parquet"), expected)
    assert_frame_equal(
        scope["areas"].drop("day"),
        rf.auc(expected, "label", "score", by=["day", "model"], count="count", missing="drop").drop(
            "day"
        ),
    )
