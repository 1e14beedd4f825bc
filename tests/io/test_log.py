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
    writers = {".parquet": frame.write_parquet, ".arrow": frame.write_ipc, ".csv": frame.write_csv}
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


@pytest.mark.parametrize("name", ["^p.*$", "*", "", "a.b", "</script>", "day=1"])
def test_columns_may_have_any_name(name):
    save("1.parquet", LOG.rename({"score": name}))
    save("2.parquet", LOG[["score", "label"]].rename({"score": name}))
    table, _ = read(".", required={"label": "--label", name: "--score"})
    assert table.columns == ["label", name]
    assert table.height == 4


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_scores_keep_their_precision(suffix):
    for name in (f"1.{suffix}", "2.parquet"):
        save(name, score=pl.col("score").cast(pl.Float32))
    assert read(".")[0].schema["score"] == pl.Float32
