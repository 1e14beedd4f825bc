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


@pytest.fixture(autouse=True, scope="module")
def _without_page():
    """Do not write pages, because each page takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "find_spec", lambda _: None)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store of `LOG` with one folder for each value, one of which is null."""
    folder = tmp_path_factory.mktemp("store")
    LOG.write_parquet(folder / "log.parquet")
    create(folder, str(folder / "log.parquet"), "--partition-by", "key")
    return folder / "store"


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
    folder = pl.scan_parquet(f"{store}/", hidden_file_prefix="_")
    assert folder.select(pl.len()).collect().item() == LOG.height


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
    with pytest.raises(rf.StorageError, match="tabels': the file or folder does not exist"):
        rf.scan(tmp_path / "tabels")
    rf.write(LOG, folder / "a.parquet")
    rf.write(LOG.head(1), folder / "b.parquet")
    (folder / ".hidden.parquet").touch()
    assert_frame_equal(rf.scan(folder).collect(), pl.concat([LOG, LOG.head(1)]))
    rf.write(LOG.select("key"), folder / "c.parquet")
    with pytest.raises(rf.StorageError) as error:
        rf.scan(folder)
    assert str(error.value) == (
        f"path={str(folder / 'c.parquet')!r}: the file has the columns key (String), but "
        f"{str(folder / 'a.parquet')!r} has key (String), label (Boolean), score (Float64).\n"
        "Pass a folder in which all Parquet files have the same columns and dtypes."
    )
    (folder / "c.parquet").write_bytes(b"")
    with pytest.raises(rf.StorageError, match=r"c.parquet.*the file is empty"):
        rf.scan(folder)


def test_the_types_of_group_columns_do_not_depend_on_the_log(tmp_path):
    keys = {
        "integer": (pl.Series([1, 2, None], dtype=pl.Int8), pl.Int64()),
        "categorical": (pl.Series(["a", "b", None], dtype=pl.Categorical), pl.String()),
        "enum": (pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])), pl.String()),
        "boolean": (pl.Series([True, False, None]), pl.Boolean()),
        "null": (pl.Series([None, None, None], dtype=pl.Null), pl.String()),
        "float": (pl.Series([0.5, None, 1.5], dtype=pl.Float32), pl.Float32()),
        "half": (pl.Series([0.5, None, 1.5], dtype=pl.Float16), pl.Float32()),
    }
    columns = {name: values for name, (values, _) in keys.items()}
    log = pl.DataFrame({**columns, "label": [1, 0, 1], "score": [1, 2, 3]})
    log.write_parquet(tmp_path / "log.parquet")
    by = [word for name in keys for word in ("--by", name)]
    create(tmp_path, str(tmp_path / "log.parquet"), *by, "--partition-by", "categorical")
    dtypes = {name: dtype for name, (_, dtype) in keys.items()}
    expected = log.select([*keys, "score"]).cast({**dtypes, "score": pl.Float64})
    table = rf.scan(tmp_path / "store").collect().sort("score").select(expected.columns)
    assert_frame_equal(table, expected)
