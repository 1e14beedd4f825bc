from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyarrow import feather, parquet
from pyarrow.parquet import ParquetFile

import rocframe as rf
from rocframe.io import tables
from rocframe.io.files import replacement
from tests.all_cases import all_cases
from tests.verbs import OF_PREDICTIONS

LOG = pl.DataFrame(
    {
        "model": ["a", "a", "a", "b", "b", None],
        "label": [True, False, True, True, False, False],
        "score": [0.9, 0.4, 0.4, inf, 0.1, 0.3],
    }
)
SUFFIXES = ["parquet", "pq", "arrow", "feather", "ipc", "PARQUET"]
every_suffix = pytest.mark.parametrize("suffix", SUFFIXES)
both_formats = pytest.mark.parametrize("suffix", ["parquet", "arrow"])


def curve():
    return rf.curve(LOG, "label", "score", by="model", metrics="precision")


@every_suffix
def test_reading_returns_the_curve_that_was_written(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    rf.write(curve(), path)
    assert_frame_equal(rf.read(path), curve(), check_exact=True)
    lazy = rf.scan(path)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), curve(), check_exact=True)


@both_formats
def test_reading_returns_all_dtypes_and_special_values(tmp_path, suffix):
    table = pl.DataFrame(
        {
            "enum": pl.Series(["x", None], dtype=pl.Enum(["y", "x"])),
            "categorical": pl.Series(["x", None], dtype=pl.Categorical),
            "date": [date(2024, 2, 29), None],
            "zoned": pl.Series([datetime(2024, 1, 1, tzinfo=UTC), None]).dt.convert_time_zone(
                "Europe/Berlin"
            ),
            "duration": [timedelta(seconds=1), None],
            "decimal": [Decimal("1.10"), None],
            "small": pl.Series([1, None], dtype=pl.Int8),
            "float": [inf, -0.0],
            "float32": pl.Series([0.1, float("nan")], dtype=pl.Float32),
            "struct": [{"a": 1}, {"a": None}],
            "list": [[1], []],
            "nothing": [None, None],
            "": ["", None],
            "^p.*$": [1, 2],
        }
    )
    path = tmp_path / f"table.{suffix}"
    rf.write(table, path)
    back = rf.read(path)
    assert back.schema == table.schema
    assert_frame_equal(back, table, check_exact=True)


def test_reading_returns_tables_without_rows_or_columns(tmp_path):
    for number, table in enumerate([curve().clear(), pl.DataFrame()]):
        rf.write(table, tmp_path / f"{number}.parquet")
        assert_frame_equal(rf.read(tmp_path / f"{number}.parquet"), table)


def test_a_lazy_frame_is_collected(tmp_path, frame):
    rf.write(rf.curve(LOG.lazy(), "label", "score", by="model"), tmp_path / "curve.parquet")
    expected = rf.curve(frame(LOG), "label", "score", by="model").lazy().collect()
    assert_frame_equal(rf.read(tmp_path / "curve.parquet"), expected)


def test_a_lazy_frame_may_read_the_file_that_it_replaces(tmp_path):
    path = tmp_path / "curve.parquet"
    rf.write(curve(), path)
    rf.write(rf.scan(path).filter(pl.col("model") == "a"), path)
    assert_frame_equal(rf.read(path), curve().filter(pl.col("model") == "a"))


def test_a_path_with_characters_of_a_glob_is_one_file(tmp_path):
    path = tmp_path / "run[1]*.parquet"
    rf.write(curve(), path)
    assert_frame_equal(rf.read(path), curve())
    assert rf.about(path)["table"] == "curve"


def test_a_file_with_several_names_is_read_once(tmp_path):
    table = curve()
    (tmp_path / "b").mkdir()
    rf.write(table, tmp_path / "b" / "day.parquet")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "c").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "latest.parquet").symlink_to(tmp_path / "b" / "day.parquet")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert_frame_equal(rf.scan(tmp_path).collect(), table)


def test_folders_with_an_equals_sign_add_no_column(tmp_path):
    (tmp_path / "day=1").mkdir()
    rf.write(curve(), tmp_path / "day=1" / "curve.parquet")
    assert rf.read(tmp_path / "day=1" / "curve.parquet").columns == curve().columns


# Metadata


@both_formats
def test_the_metadata_describe_the_table(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    rf.write(curve(), path, about={"positive": "voted", "files": ["a", "b"], "rows": None})
    assert rf.about(path) == {
        "table": "curve",
        "kind": "roc",
        "by": ["model"],
        "rule": "score >= threshold",
        "ties": "a tie is one row",
        "version": rf.__version__,
        "schema": 1,
        "positive": "voted",
        "files": ["a", "b"],
        "rows": None,
    }


def test_the_metadata_of_a_curve_contain_the_prevalence_of_its_rates(tmp_path):
    def stored(table):
        rf.write(table, tmp_path / "table.parquet")
        return rf.about(tmp_path / "table.parquet")

    half, tenth = (
        rf.curve(LOG, "label", "score", by="model", prevalence=prevalence)
        for prevalence in (0.5, 0.1)
    )
    assert stored(half)["prevalence"] == 0.5
    assert stored(rf.at(tenth, fpr=0.5))["prevalence"] == 0.1
    assert stored(pl.concat([half, tenth]))["prevalence"] is None
    assert stored(half.clear())["prevalence"] is None
    metric = rf.curve(LOG, "label", "score", metrics=["prevalence"])
    assert "prevalence" not in stored(metric)


def metadata_of(tmp_path, table):
    rf.write(table, tmp_path / "table.parquet")
    metadata = rf.about(tmp_path / "table.parquet")
    return metadata["table"], metadata["kind"], metadata["by"], metadata["ties"]


ROW, HALF, ORDERS = "a tie is one row", "a tie counts one half", "a tie counts 1/k"
BY_MODEL = ["model"]
CLASSES = {digit: f"p{digit}" for digit in range(10)}
PAIR = {"a": "score", "b": "score"}
AS_M = LOG.rename({"model": "m"})
AT = LOG.with_columns(at=pl.col("model"), at_value=1, day=2)


def of_log(function, **options):
    return function(LOG, "label", "score", **options)


def of_digits(function, n_classes=10, scores=CLASSES, **options):
    rows = rf.datasets.digits().head(20).filter(pl.col("label") < n_classes)
    return function(rows, "label", scores, by="model", **options)


def described():
    """Return tables, and their type, kind, group columns and rule of ties in the metadata."""
    return [
        *(
            (of_log(rf.curve, kind=kind), ("curve", kind, [], ROW))
            for kind in (
                *("roc", "precision_recall", "det", "gain", "lift"),
                *("lift_chart", "predictive_value", "skill"),
            )
        ),
        (
            curve().select("model", "threshold", "tp", "fp", "fn", "tn"),
            ("curve", None, BY_MODEL, ROW),
        ),
        (of_log(rf.auc, by="model"), ("auc", None, BY_MODEL, HALF)),
        (of_log(rf.auc, fpr=(0, 0.5)), ("partial_auc", None, [], HALF)),
        (of_digits(rf.multiclass_auc), ("multiclass_auc", None, BY_MODEL, HALF)),
        (of_digits(rf.multiclass_metrics), ("multiclass_metrics", None, BY_MODEL, None)),
        (
            of_digits(rf.volume, 3, "p0", classes=[2, 1, 0]),
            ("volume", None, BY_MODEL, f"{ORDERS} if k orders of the tied rows are possible"),
        ),
        (of_log(rf.auc_test, by="model"), ("auc_test", None, BY_MODEL, HALF)),
        (rf.compare(AS_M, "label", PAIR, by="m"), ("comparison", None, ["m"], HALF)),
        (
            rf.compare(AS_M, "label", PAIR, by="m", n_boot=2, replicates=True),
            ("comparison_replicates", None, ["m"], HALF),
        ),
        (
            of_log(rf.intervals, metrics="auc", by="model", n_boot=2, replicates=True),
            ("metric_replicates", None, BY_MODEL, ROW),
        ),
        (rf.contrast(AS_M, "label", PAIR, by="m"), ("contrast", None, ["m"], HALF)),
        (rf.auc_covariance(AS_M, "label", PAIR, by="m"), ("auc_covariance", None, ["m"], HALF)),
        (rf.hull_shares(LOG, "label", PAIR, n_boot=2), ("hull_shares", None, BY_MODEL, ROW)),
        (of_log(rf.gains, by="model"), ("gains", None, BY_MODEL, ROW)),
        (
            OF_PREDICTIONS["reader study"](LOG, by="model", other="score"),
            ("reader_study", None, BY_MODEL, HALF),
        ),
        (of_log(rf.band, by="model", grid=3), ("band", None, BY_MODEL, ROW)),
        (
            of_log(rf.intervals, metrics=["auc", "tpr"], fpr=0.1, by="model", ci=None),
            ("intervals", None, BY_MODEL, ROW),
        ),
        (rf.at(curve(), fpr=[0.1, 0.5]), ("operating_points", "roc", BY_MODEL, ROW)),
        (rf.area(curve()), ("area", None, BY_MODEL, HALF)),
        (rf.area(curve(), kind="precision_recall"), ("area", None, BY_MODEL, ROW)),
        # A group column has the name of a column of another table.
        (
            rf.curve(LOG.rename({"model": "auc"}), "label", "score", by="auc"),
            ("curve", "roc", ["auc"], ROW),
        ),
        (
            rf.curve(AT, "label", "score", by=["at", "at_value", "day"]),
            ("curve", "roc", ["at", "at_value", "day"], ROW),
        ),
        # Columns are dropped or added.
        (
            of_log(rf.auc, by="model").drop("se", "n_missing").with_columns(owner=pl.lit("me")),
            ("auc", None, BY_MODEL, HALF),
        ),
        (
            rf.compare(AS_M, "label", PAIR, by="m").drop("df", "n_paired"),
            ("comparison", None, ["m"], HALF),
        ),
        (LOG, ("table", None, [], None)),
    ]


def test_the_metadata_contain_type_kind_groups_and_ties_of_each_table(tmp_path):
    with all_cases() as case:
        for table, expected in described():
            with case(expected):
                assert metadata_of(tmp_path, table) == expected


def test_a_plan_has_neither_groups_nor_ties(tmp_path):
    plan = rf.sample_size(auc=[0.7, 0.8])
    assert metadata_of(tmp_path, plan) == ("plan", None, [], None)
    assert rf.about(tmp_path / "table.parquet")["rule"] is None
    assert_frame_equal(rf.read(tmp_path / "table.parquet"), plan)


def test_other_programs_read_the_metadata(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "curve.parquet"
    rf.write(curve(), path)
    with_polars = pl.read_parquet_metadata(path)["rocframe"]
    with_pyarrow = parquet.read_metadata(path).metadata[b"rocframe"].decode()
    rows = duckdb.sql(f"select key, value from parquet_kv_metadata('{path}')").fetchall()
    with_duckdb = {bytes(key): bytes(value) for key, value in rows}[b"rocframe"].decode()
    assert with_polars == with_pyarrow == with_duckdb
    assert '"rule": "score >= threshold"' in with_polars
    n_rows = duckdb.sql(f"select count(*) from '{path}' where threshold = 'inf'").fetchall()
    assert n_rows == [(4,)]  # the first rows of three groups, and one infinite score


def test_pyarrow_reads_arrow_files_and_their_metadata(tmp_path):
    rf.write(curve(), tmp_path / "curve.feather")
    table = feather.read_table(tmp_path / "curve.feather")
    assert b'"kind": "roc"' in table.schema.metadata[b"rocframe"]
    assert table.column("tp").to_pylist() == curve()["tp"].to_list()


@both_formats
def test_a_file_of_another_program_can_be_read(tmp_path, suffix):
    path = tmp_path / f"other.{suffix}"
    LOG.write_parquet(path) if suffix == "parquet" else LOG.write_ipc(path)
    assert_frame_equal(rf.read(path), LOG)


# Missing and damaged files


@pytest.mark.parametrize("verb", [rf.read, rf.scan, rf.about])
@both_formats
def test_an_error_names_an_empty_or_truncated_file_and_one_of_another_format(
    tmp_path, verb, suffix
):
    path = tmp_path / f"curve.{suffix}"
    rf.write(curve(), path)
    complete = path.read_bytes()
    for content in (b"", complete[: len(complete) // 2], complete[:-1], b"label,score\n1,0.5\n"):
        path.write_bytes(content)
        with pytest.raises(rf.StorageError) as caught:
            verb(path)
        assert str(caught.value).startswith(f"path={str(path)!r}: it is not ") or str(
            caught.value
        ).startswith(f"path={str(path)!r}: the ")


@both_formats
def test_an_error_names_a_damaged_file(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    rf.write(pl.concat([curve()] * 50), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : -8] = bytes(len(content) - 8 - len(content) // 3)
    path.write_bytes(content)
    with pytest.raises(rf.StorageError) as caught:
        rf.read(path)
    assert str(caught.value).startswith(f"path={str(path)!r}: the file cannot be read: ")


@both_formats
def test_a_file_with_any_flipped_bit_raises_an_error_or_is_read_unchanged(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    table = curve()
    rf.write(table, path)
    content = path.read_bytes()
    n_errors = 0
    for position in range(0, len(content), 37):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        for read in (rf.read, lambda path: rf.scan(path).collect()):
            try:
                assert_frame_equal(read(path), table, check_exact=True)
            except rf.StorageError:
                n_errors += 1
    # The 12 bytes that mark the checksum contain no data.
    assert n_errors >= 2 * (len(range(0, len(content), 37)) - 1)


def test_the_pages_of_parquet_files_have_checksums(tmp_path):
    path = tmp_path / "curve.parquet"
    rf.write(pl.concat([curve()] * 50), path)
    with ParquetFile(path, page_checksum_verification=True) as file:
        assert file.read().num_rows == 50 * curve().height
        chunk = file.metadata.row_group(0).column(1)
    content = bytearray(path.read_bytes())
    content[chunk.dictionary_page_offset + chunk.total_compressed_size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(rf.StorageError) as caught:
        rf.read(path)
    assert str(caught.value) == (
        f"path={str(path)!r}: the file is damaged: its content does not match its checksum.\n"
        "Check the path, or write the file again."
    )
    with (
        ParquetFile(path, page_checksum_verification=True) as file,
        pytest.raises(OSError, match="CRC checksum verification failed"),
    ):
        file.read()


def test_dtypes_that_arrow_does_not_support_are_written_to_parquet(tmp_path):
    table = pl.DataFrame({"n": pl.Series([2**100, None], dtype=pl.Int128)})
    rf.write(table, tmp_path / "table.parquet")
    assert_frame_equal(rf.read(tmp_path / "table.parquet"), table)
    assert rf.about(tmp_path / "table.parquet")["table"] == "table"


def test_a_parquet_file_with_a_damaged_footer_is_not_passed_to_polars(tmp_path):
    path = tmp_path / "log.parquet"
    LOG.write_parquet(path)
    content = bytearray(path.read_bytes())
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    for verb in (rf.read, rf.scan, rf.about):
        with pytest.raises(rf.StorageError, match="the file cannot be read"):
            verb(path)


def test_invalid_metadata_are_reported(tmp_path):
    path = tmp_path / "curve.parquet"
    LOG.write_parquet(path, metadata={"rocframe": "not JSON"})
    with pytest.raises(rf.StorageError) as caught:
        rf.about(path)
    assert str(caught.value).startswith(f"path={str(path)!r}: the file cannot be read: Expecting")


def test_a_name_that_no_file_can_have_raises_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = curve()
    chart = rf.chart(table)
    verbs = {
        ".parquet": [rf.read, rf.scan, rf.about, lambda path: rf.write(table, path)],
        ".html": [
            lambda path: rf.save_chart(chart, path),
            lambda path: rf.report(LOG, "label", "score", path=path),
        ],
    }
    impossible = {
        "a\0": "embedded null byte",
        "a" * 300: "File name too long",
        "/".join(["a" * 200] * 30): "File name too long",
        "a\ud800": "'utf-8' codec can't encode character",
        "b\udcff": "'utf-8' codec can't encode character",  # the byte FF in a name
    }
    with all_cases() as case:
        for suffix, verbs_of_suffix in verbs.items():
            for verb in verbs_of_suffix:
                for name, reason in impossible.items():
                    with case(verb, name[:10]):
                        with pytest.raises(rf.StorageError) as caught:
                            verb(f"{name}{suffix}")
                        assert str(caught.value).startswith(
                            f"path={name + suffix!r}: a file cannot have this name: {reason}"
                        )
                for value in (None, b"curve" + suffix.encode(), 3, ["curve"]):
                    with case(verb, value):
                        with pytest.raises(rf.OptionValueError) as caught:
                            verb(value)
                        assert str(caught.value) == (
                            f"path={value!r}: expected the name of a file.\n"
                            'Pass a str or a Path, such as path="table.parquet".'
                        )
    assert list(tmp_path.iterdir()) == []


def nested(depth: int, empty: Any) -> Any:
    value = empty
    for _ in range(depth - 1):
        value = {"a": value} if isinstance(empty, dict) else [value]
    return value


@both_formats
def test_metadata_have_a_limited_depth_and_size(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"curve.{suffix}"
    rf.write(curve(), path, about={"deep": nested(100, {})})
    assert rf.about(path)["deep"] == nested(100, {})
    before = path.read_bytes()
    monkeypatch.setattr(tables, "MAX_METADATA_SIZE", 1000)
    cycle: dict[str, object] = {}
    cycle["a"] = cycle
    for value in (nested(101, {}), nested(50_000, []), cycle, [[[0] * 100] * 100] * 100):
        with pytest.raises(rf.OptionValueError) as caught:
            rf.write(curve(), path, about={"deep": value})
        assert str(caught.value) == (
            "about['deep']: expected at most 100 levels of nesting and 500 values.\n"
            "Convert the value to a string."
        )
    with pytest.raises(rf.OptionValueError) as caught:
        rf.write(curve(), path, about={"a": "x" * 499, "b": "x" * 499})
    assert str(caught.value) == (
        "about['b']: the metadata have more than 1,000 characters.\n"
        "Write the values to a separate file."
    )
    with pytest.raises(rf.OptionValueError, match=r"^about\['n'\]=<int>: JSON does not support"):
        rf.write(curve(), path, about={"n": 10**5000})
    assert path.read_bytes() == before


@both_formats
def test_metadata_of_other_programs_with_too_many_levels_raise_a_storage_error(tmp_path, suffix):
    path = tmp_path / f"other.{suffix}"
    table = LOG.to_arrow().replace_schema_metadata({"rocframe": "[" * 100_000 + "]" * 100_000})
    if suffix == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    with pytest.raises(rf.StorageError, match="its metadata are nested too deeply"):
        rf.about(path)


def test_a_dtype_that_arrow_does_not_support_raises_and_the_old_file_is_unchanged(tmp_path):
    path = tmp_path / "table.arrow"
    rf.write(LOG, path)
    with pytest.raises(rf.StorageError) as caught:
        rf.write(pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}), path)
    assert str(caught.value).startswith(f"path={str(path)!r}: Arrow does not support this table: ")
    assert_frame_equal(rf.read(path), LOG)
    assert len(list(tmp_path.iterdir())) == 1


# Failures while writing


def broken(_):
    raise ZeroDivisionError


def test_a_query_that_fails_does_not_change_the_old_file(tmp_path):
    path = tmp_path / "curve.parquet"
    rf.write(LOG, path)
    with pytest.raises((ZeroDivisionError, pl.exceptions.ComputeError)):
        rf.write(LOG.lazy().map_batches(broken), path)
    assert_frame_equal(rf.read(path), LOG)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_changes_between_scan_and_collect_raises_a_storage_error(tmp_path):
    source, path = tmp_path / "log.parquet", tmp_path / "curve.parquet"
    LOG.write_parquet(source)
    plan = pl.scan_parquet(source)
    plan.collect_schema()
    source.write_bytes(b"")
    page = tmp_path / "page.html"
    for target, save in (
        (path, lambda: rf.write(plan, path)),
        (page, lambda: rf.report(plan, "label", "score", path=page)),
    ):
        with pytest.raises(rf.StorageError) as caught:
            save()
        assert str(caught.value).startswith(f"path={str(target)!r}: the table cannot be computed: ")
        assert not target.exists()


def test_the_output_is_checked_before_anything_is_computed(tmp_path):
    def forbidden(_):
        pytest.fail("the plan was computed")

    path = tmp_path / "gone" / "curve.parquet"
    with pytest.raises(rf.StorageError) as caught:
        rf.write(LOG.lazy().map_batches(forbidden), path)
    assert str(caught.value) == (
        f"path={str(path)!r}: {str(path.parent)!r} does not exist.\nCreate the folder first."
    )


SETUP = """
import sys, polars as pl, rocframe as rf
path = sys.argv[1]
small, large = (pl.DataFrame({"a": range(n)}, schema={"a": pl.Int64}) for n in (10, 100_000))
"""
WRITE_REPEATEDLY = """
paths = sys.argv[1:]
for path in paths:
    rf.write(small, path)
print("begun", flush=True)
while True:
    for path in paths:
        rf.write(large, path)
        rf.write(small, path)
"""


def begin(script, *paths):
    child = subprocess.Popen(
        [sys.executable, "-c", SETUP + script, *map(str, paths)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "begun\n"
    return child


@pytest.mark.slow
def test_files_are_complete_if_a_process_is_killed_at_any_time(tmp_path):
    paths = [tmp_path / f"curve.{suffix}" for suffix in ("parquet", "arrow")]
    random.seed(1)
    for _ in range(3):
        child = begin(WRITE_REPEATEDLY, *paths)
        time.sleep(random.random() / 5)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        for path in paths:
            assert rf.read(path).height in {10, 100_000}
            assert rf.about(path)["schema"] == 1
    for path in paths:
        rf.write(LOG, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["curve.arrow", "curve.parquet"]


def test_write_removes_temporary_files_of_killed_processes_but_not_of_running_ones(tmp_path):
    path, other = tmp_path / "curve.parquet", tmp_path / "other.parquet"
    with replacement(path) as running, replacement(other) as of_other:
        stale = running.with_name(running.name.replace(".tmp", "0.tmp"))
        stale.touch()
        unrelated = of_other.with_name(of_other.name.replace(".tmp", "0.tmp"))
        unrelated.touch()
        rf.write(LOG, path)
        assert running.exists()
        assert of_other.exists()
        assert unrelated.exists()
        assert not stale.exists()
        LOG.write_parquet(running)
        LOG.write_parquet(of_other)
    assert_frame_equal(rf.read(path), LOG)


@pytest.mark.slow
def test_ctrl_c_leaves_a_complete_file_and_no_temporary_file(tmp_path):
    path = tmp_path / "curve.parquet"
    child = begin(WRITE_REPEATEDLY, path)
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate()[1]
    assert rf.read(path).height in {10, 100_000}
    assert [file.name for file in tmp_path.iterdir()] == ["curve.parquet"]


EXCEED_FILE_SIZE = """
import resource
rf.write(small, path)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
print("begun", flush=True)
try:
    rf.write(large.with_columns(b=pl.col("a").hash()), path)
except rf.StorageError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_the_old_file_is_unchanged_if_the_disk_is_full(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    with begin(EXCEED_FILE_SIZE, path) as child:
        output, errors = child.stdout.read(), child.stderr.read()
    assert output.startswith(f"path={str(path)!r}: the file cannot be written: "), errors
    assert rf.read(path).height == 10
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_two_writers_produce_one_complete_file(tmp_path):
    path = tmp_path / "curve.parquet"
    children = [begin(WRITE_REPEATEDLY, path) for _ in range(2)]
    for _ in range(20):
        assert rf.read(path).height in {10, 100_000}
    for child in children:
        child.kill()
        child.communicate()
    assert rf.read(path).height in {10, 100_000}


def test_a_query_of_a_deleted_file_cannot_be_written(tmp_path):
    source, target = tmp_path / "log.parquet", tmp_path / "table.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(source)
    plan = pl.scan_parquet(source)
    source.unlink()
    with pytest.raises(rf.StorageError) as caught:
        rf.write(plan, target)
    assert str(caught.value) == (
        f"path={str(target)!r}: the table cannot be computed: a file that it reads has been "
        "deleted since the scan.\nScan the file again, then write the table."
    )
    assert not target.exists()
