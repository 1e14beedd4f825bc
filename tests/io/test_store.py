from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.cli import main as cli
from rocframe.cli import tasks

VALUES = ["01", "2024-01-01", "a/b", "a=b", "ü é", "%", "", "..", "A", "a", None, "x:y", "a\nb",
          "1.50", "__HIVE_DEFAULT_PARTITION__"]  # fmt: skip
LOG = pl.DataFrame(
    {
        "key": [value for value in VALUES for _ in range(3)],
        "label": [True, False, False] * len(VALUES),
        "score": [i / 64 for i in range(3 * len(VALUES))],
    }
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Return a store of `LOG` with one folder for each value, one of which is null."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)
    LOG.write_parquet("log.parquet")
    create(tmp_path, "log.parquet", "--partition-by", "key")
    return tmp_path / "store"


def create(folder, *arguments):
    options = ["--label", "label", "--score", "score", "--quiet", "--out", str(folder / "out")]
    assert cli.main(["evaluate", *arguments, *options, "--store", str(folder / "store")]) == 0


def in_order(table):
    return table.select("key", "label", "score", "count").sort("score")


EXPECTED = in_order(LOG.with_columns(count=pl.lit(1, pl.Int64)))


def test_scan_returns_all_values_of_the_partition_column(store):
    predictions = rf.scan(store)
    assert_frame_equal(in_order(predictions.collect()), EXPECTED)
    result = predictions.filter(key="a/b").roc.auc("label", "score", by="key", count="count")
    expected = rf.auc(LOG.filter(key="a/b"), "label", "score", by="key")
    assert_frame_equal(result.collect(), expected)


def test_polars_reads_the_folders_as_a_hive_partitioned_table(store):
    assert_frame_equal(in_order(pl.scan_parquet(store / "**/*.parquet").collect()), EXPECTED)
    # polars reads the name of the folder of this value as null.
    hive = pl.scan_parquet(store / "**/*.parquet", hive_partitioning=True)
    expected = EXPECTED.with_columns(pl.col("key").replace("__HIVE_DEFAULT_PARTITION__", None))
    assert_frame_equal(in_order(hive.collect()), expected)
    assert pl.scan_parquet(f"{store}/").select(pl.len()).collect().item() == LOG.height


def test_the_folders_have_the_names_that_polars_writes(store, tmp_path):
    values = LOG.filter(pl.col("key") != "__HIVE_DEFAULT_PARTITION__")
    values.lazy().sink_parquet(pl.PartitionBy(tmp_path / "polars", key="key"), mkdir=True)
    written = {path.name for path in (tmp_path / "polars").iterdir()}
    folders = {path.name for path in store.iterdir()}
    assert {name for name in written - folders if "%" not in name} == set()


def test_scan_of_a_folder_names_the_file_with_other_columns(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    with pytest.raises(rf.StorageError, match="the folder contains no Parquet files"):
        rf.scan(folder)
    rf.write(LOG, folder / "a.parquet")
    rf.write(LOG.head(1), folder / "b.parquet")
    (folder / ".hidden.parquet").touch()
    assert_frame_equal(rf.scan(folder).collect(), pl.concat([LOG, LOG.head(1)]))
    rf.write(LOG.select("key"), folder / "c.parquet")
    with pytest.raises(rf.StorageError) as error:
        rf.scan(folder)
    assert str(error.value) == (
        f"path={str(folder / 'c.parquet')!r}: the columns key (String) differ from those of "
        f"{str(folder / 'a.parquet')!r}: key (String), label (Boolean), score (Float64).\n"
        "Pass a folder in which all Parquet files have the same columns and dtypes."
    )
    (folder / "c.parquet").write_bytes(b"")
    with pytest.raises(rf.StorageError, match=r"c.parquet.*the file is empty"):
        rf.scan(folder)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pl.Series([1, 2, None], dtype=pl.Int8), pl.Int64()),
        (pl.Series(["a", "b", None], dtype=pl.Categorical), pl.String()),
        (pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])), pl.String()),
        (pl.Series([True, False, None]), pl.Boolean()),
        (pl.Series([None, None, None], dtype=pl.Null), pl.String()),
    ],
)
def test_partition_columns_have_types_that_do_not_depend_on_the_log(
    tmp_path, monkeypatch, values, dtype
):
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)
    log = pl.DataFrame({"key": values, "label": [1, 0, 1], "score": [1, 2, 2]})
    log.write_parquet(tmp_path / "log.parquet")
    create(tmp_path, str(tmp_path / "log.parquet"), "--partition-by", "key", "--by", "key")
    table = rf.scan(tmp_path / "store").collect()
    assert table.schema["key"] == dtype
    assert table.schema["score"] == pl.Float64
    expected = set(log["key"].cast(dtype).to_list())
    assert set(table["key"].to_list()) == expected
