from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.io.logs import find_logs, open_logs

REQUIRED = {"label": "--label", "score": "--score"}
LOG = pl.DataFrame({"label": [1, 0], "score": [0.5, 0.25], "note": ["a", "b"]})
SKIP = "Write or download the file again, or skip unreadable files with --skip-unreadable."


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def save(path, frame=LOG, **columns):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    frame = frame.with_columns(**columns)
    writers = {
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".csv": frame.write_csv,
    }
    writers[Path(path).suffix](path)


def read(*sources, required=REQUIRED, skip_unreadable=False):
    logs = open_logs(find_logs(sources), skip_unreadable=skip_unreadable)
    return logs.read(required, skip_unreadable=skip_unreadable)


def message(*sources, required=REQUIRED):
    with pytest.raises(rf.LogError) as caught:
        read(*sources, required=required)
    return str(caught.value)


@pytest.mark.parametrize("path", ["a.parquet", "a.arrow", "a.csv"])
def test_only_required_columns_are_read(path):
    save(path)
    table, logs = read(path)
    assert_frame_equal(table, LOG.select("label", "score"))
    assert logs.files == [path]
    assert logs.has_column("note")
    plan = logs.scan(REQUIRED).explain()
    assert "PROJECT 2/3 COLUMNS" in plan


def test_files_may_have_different_formats_column_orders_and_dtypes():
    save("1.parquet")
    save("2.parquet", LOG.select("score", "label"))
    save("3.parquet", note=pl.lit(7))
    save("4.parquet", label=pl.col("label").cast(pl.Int8))
    save("5.arrow")
    save("6.csv")
    table, logs = read(".")
    assert_frame_equal(table, pl.concat([LOG.select("label", "score")] * 6))
    assert len(logs.files) == 6


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_scores_of_different_precisions_are_an_error_that_names_both_files(suffix):
    narrow = pl.col("score").cast(pl.Float32)
    save(f"1.{suffix}", score=narrow)
    save("2.parquet", score=narrow)
    assert read(".")[0].schema["score"] == pl.Float32
    save("3.csv")
    hint = "Equal values, such as 0.7, differ between these types. Cast the column to Float32"
    assert message(".") == (
        f"3.csv: column 'score' has type Float64, but in 1.{suffix} it has type Float32.\n"
        f"{hint}, and write CSV files, which are read as Float64, as Parquet files."
    )
    Path("3.csv").unlink()
    save("0.arrow")
    assert message(".") == (
        f"0.arrow: column 'score' has type Float64, but in 1.{suffix} it has type Float32.\n"
        f"{hint} in all files."
    )


def test_csv_files_may_have_different_column_orders():
    save("1.csv")
    save("2.csv", LOG.select("score", "note", "label"))
    save("3.csv")
    table, logs = read(".")
    assert_frame_equal(table, pl.concat([LOG.select("label", "score")] * 3))
    assert logs.files == ["1.csv", "2.csv", "3.csv"]


def test_folders_named_key_value_are_columns():
    save("logs/day=2024-01-01/fold=01/a.parquet")
    save("logs/day=2024-01-02/fold=02/a.parquet")
    by = {"day": "--by", "fold": "--by"}
    table, _ = read("logs", required={**REQUIRED, **by})
    expected = pl.scan_parquet("logs", hive_partitioning=True).select(*REQUIRED, *by).collect()
    assert_frame_equal(table, expected)
    assert table.schema["day"] == pl.Date
    table, _ = read("logs/day=2024-01-02/*/*.parquet", required={**REQUIRED, **by})
    assert table["fold"].to_list() == [2, 2]


def test_a_column_of_the_file_has_precedence_over_the_name_of_a_folder():
    save("logs/fold=01/a.parquet", fold=pl.lit("01"))
    table, _ = read("logs", required={**REQUIRED, "fold": "--by"})
    assert table["fold"].to_list() == ["01", "01"]


def test_folders_with_different_keys_are_read_together():
    save("logs/day=1/a.parquet")
    save("logs/other/b.parquet", day=pl.lit(2, pl.Int64))
    table, _ = read("logs", required={**REQUIRED, "day": "--by"})
    assert sorted(table["day"]) == [1, 1, 2, 2]


def test_folders_with_values_of_different_types_are_read_as_text():
    columns = {"label": "--label", "score": "--score", "day": "--by"}
    save("day=1/a.parquet")
    save("day=x/b.parquet", extra=pl.lit(1))
    table, _ = read(".", required=columns)
    assert table["day"].to_list() == ["1", "1", "x", "x"]
    save("c.parquet", day=pl.lit("y"))
    table, _ = read(".", required=columns)
    assert table["day"].unique().sort().to_list() == ["1", "x", "y"]
    save("d.parquet", day=pl.lit(2))
    assert message(".", required=columns) == (
        "d.parquet: column 'day' has type Int32, but in c.parquet it has type String.\n"
        "Cast the column to the same type in all files."
    )


def test_two_folders_of_a_path_with_the_same_key_are_an_error():
    save("day=1/day=2/a.parquet")
    assert read(".")[0].height == 2
    assert message(".", required={**REQUIRED, "day": "--by"}) == (
        "day=1/day=2/a.parquet: two folders in the path of this file have the key 'day'.\n"
        "Rename one of the folders."
    )


def test_folders_of_csv_files_are_no_columns():
    save("day=1/a.csv")
    assert message(".", required={**REQUIRED, "day": "--by"}) == (
        "day=1/a.csv: the file has no column 'day' for --by.\n"
        "Columns: 'label', 'score', 'note'.\n"
        "Names of folders, such as day=1, become columns only for Parquet and Arrow files."
    )


def test_csv_files_without_rows_or_values_are_read_with_other_files():
    save("1.csv", LOG.head(0))
    save("2.csv")
    save("3.parquet", score=pl.lit(None))
    Path("4.csv").write_text("label,note,score\n1,,0.5\n")
    table, _ = read(".", required={**REQUIRED, "note": "--by"})
    assert_frame_equal(
        table,
        pl.DataFrame(
            {
                "label": [1, 0, 1, 0, 1],
                "score": [0.5, 0.25, None, None, 0.5],
                "note": ["a", "b", "a", "b", None],
            }
        ),
        check_row_order=False,
    )
    assert message("1.csv") == (
        "1.csv: column 'label' for --label has no values.\nPass files with at least one prediction."
    )


def test_a_missing_column_is_named_with_its_file_and_a_suggestion():
    save("1.parquet")
    save("2.parquet", LOG.rename({"score": "scores"}))
    assert message(".") == (
        "2.parquet: the file has no column 'score' for --score.\n"
        "Columns: 'label', 'scores', 'note'.\n"
        "Did you mean --score scores?"
    )


def test_the_error_about_different_dtypes_names_both_files():
    save("1.parquet")
    save("2.parquet", label=pl.lit("yes"))
    assert message(".").startswith(
        "2.parquet: column 'label' has type String, but in 1.parquet it has type Int64.\n"
    )


def test_the_error_about_an_enum_with_many_categories_is_short():
    save("1.parquet", note=pl.col("note").cast(pl.Enum(["a", "b"])))
    save("2.parquet", note=pl.col("note").cast(pl.Enum(["a", "b", *map(str, range(1998))])))
    assert message(".", required={**REQUIRED, "note": "--by"}) == (
        "2.parquet: column 'note' has type Enum with 2,000 categories, but in 1.parquet it has "
        "type Enum(categories=['a', 'b']).\nCast the column to the same type in all files."
    )


def test_times_with_and_without_a_zone_have_no_common_dtype():
    save("1.parquet", at=pl.datetime(2024, 1, 1))
    save("2.parquet", at=pl.datetime(2024, 1, 1, time_zone="UTC"))
    assert message(".", required={**REQUIRED, "at": "--by"}).startswith(
        "2.parquet: column 'at' has type Datetime(time_unit='us', time_zone='UTC'), but in "
        "1.parquet it has type Datetime("
    )


def test_an_empty_file_is_an_error():
    save("1.parquet")
    for name in ("2.parquet", "2.arrow", "2.csv"):
        Path(name).touch()
        assert message("1.parquet", name) == (f"{name}: the file is empty (0 bytes).\n{SKIP}")


def test_the_error_names_a_truncated_file():
    save("1.parquet")
    Path("2.parquet").write_bytes(Path("1.parquet").read_bytes()[:-3])
    assert message(".") == (
        f"2.parquet: the Parquet file is truncated: it does not end with PAR1.\n{SKIP}"
    )


def damage(path):
    """Damage the pages of a file, but not its first and last bytes."""
    content = bytearray(Path(path).read_bytes())
    content[10:60] = bytes(50)
    Path(path).write_bytes(content)


def test_the_error_names_a_file_with_damaged_pages():
    for name in ("1.parquet", "2.parquet", "3.parquet"):
        save(name)
    damage("2.parquet")
    text = message(".")
    assert text.startswith("2.parquet: the file cannot be read: parquet: ")
    assert text.endswith(f"\n{SKIP}")


def test_the_error_names_a_file_that_is_replaced_after_it_was_opened():
    save("1.parquet")
    save("2.parquet")
    logs = open_logs(find_logs(["."]))
    Path("2.parquet").write_bytes(b"")
    with pytest.raises(rf.LogError) as caught:
        logs.read(REQUIRED)
    assert str(caught.value).startswith("2.parquet: the file cannot be read: ")


def test_the_error_names_a_file_whose_columns_change_after_it_was_opened():
    changed = {"a": {"score": pl.lit("x")}, "b": {"score": pl.col("score").cast(pl.Float32)}}
    for folder, columns in changed.items():
        save(f"{folder}/1.parquet")
        save(f"{folder}/2.parquet")
        logs = open_logs(find_logs([folder]))
        save(f"{folder}/2.parquet", **columns)
        with pytest.raises(rf.LogError) as caught:
            logs.read(REQUIRED)
        problem = f"{folder}/2.parquet: its columns changed during the read"
        assert str(caught.value) == f"{problem}.\n{SKIP}"
        table, logs = logs.read(REQUIRED, skip_unreadable=True)
        assert table.height == 2
        assert logs.files == [f"{folder}/1.parquet"]


def test_the_error_names_a_file_that_is_deleted_after_it_was_opened():
    save("1.parquet")
    save("2.parquet")
    logs = open_logs(find_logs(["."]))
    Path("2.parquet").unlink()
    with pytest.raises(rf.LogError) as caught:
        logs.read(REQUIRED)
    assert str(caught.value).startswith(
        "2.parquet: the file cannot be read: it no longer exists.\n"
    )


def test_unreadable_files_are_skipped_on_request_and_listed():
    for name in ("1.parquet", "2.parquet", "3.parquet", "4.parquet"):
        save(name)
    Path("2.parquet").write_bytes(b"")
    Path("3.parquet").write_bytes(b"PAR1")
    damage("4.parquet")
    table, logs = read(".", skip_unreadable=True)
    assert_frame_equal(table, LOG.select("label", "score"))
    assert logs.files == ["1.parquet"]
    assert list(logs.skipped) == ["2.parquet", "3.parquet", "4.parquet"]
    assert logs.skipped["2.parquet"] == ("the file is empty (0 bytes)")


def test_a_file_whose_name_has_invalid_bytes_is_unreadable():
    name = "logs/\udcff.parquet"
    save("logs/a.parquet")
    Path(name).write_bytes(Path("logs/a.parquet").read_bytes())
    with pytest.raises(rf.LogError) as caught:
        read("logs")
    problem = (
        "the file cannot be read: 'utf-8' codec can't encode character '\\udcff' in position 5"
    )
    quoted = "'logs/\\udcff.parquet'"
    assert str(caught.value).startswith(f"{quoted}: {problem}: surrogates not allowed.\n")
    _, logs = read("logs", skip_unreadable=True)
    assert (logs.files, [*logs.skipped]) == (["logs/a.parquet"], [name])


def test_a_file_without_a_required_column_is_not_skipped():
    save("1.parquet")
    save("2.parquet", LOG.drop("score"))
    with pytest.raises(rf.LogError) as caught:
        read(".", skip_unreadable=True)
    assert str(caught.value).startswith("2.parquet: the file has no column 'score'")


def test_at_least_one_file_must_be_readable():
    Path("1.parquet").touch()
    Path("2.parquet").touch()
    with pytest.raises(rf.LogError) as caught:
        read(".", skip_unreadable=True)
    assert str(caught.value) == (
        "1.parquet: the file is empty (0 bytes); 1 more file cannot be read.\n"
        "Write or download the files again."
    )


def test_other_suffixes_raise_an_error():
    Path("log.xlsx").touch()
    assert message("log.xlsx") == (
        "log.xlsx: unknown suffix '.xlsx'.\n"
        "Supported: '.parquet', '.pq', '.arrow', '.feather', '.ipc', '.csv'."
    )


@pytest.mark.parametrize("name", ["^p.*$", "*", "", "a.b", "</script>", "day=1"])
def test_columns_may_have_any_name(name):
    save("1.parquet", LOG.rename({"score": name}))
    save("2.parquet", LOG[["score", "label"]].rename({"score": name}))
    table, _ = read(".", required={"label": "--label", name: "--score"})
    assert table.columns == ["label", name]
    assert table.height == 4
