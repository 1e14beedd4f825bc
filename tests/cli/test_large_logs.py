"""`rocframe evaluate` of logs whose curves are computed and written in parts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyarrow.parquet import ParquetFile

import rocframe as rf
from rocframe.cli import main as cli
from rocframe.cli import tasks
from rocframe.io import tables
from rocframe.reports import curves_file, grouped_curves

BY = ["model", "day"]
N = 5_000  # rows of a day
ARGUMENTS = ["logs", "--label", "label", "--score", "score", "--by", "model", "--by", "day"]


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    """Write a log of three days, of which the curves have several parts; return its rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)
    monkeypatch.setattr(grouped_curves, "PART_SCORES", 300)
    rng = np.random.default_rng(0)
    days = []
    for day in range(3):
        label = rng.random(N) < 0.3
        columns = {
            "label": np.where(label, "bad", "good"),
            "score": rng.random(N) + 0.4 * label,
            "model": rng.choice(["b", "a", "c"], N),
            "unused": "x" * 100,
        }
        days.append(pl.DataFrame(columns).with_columns(pl.lit(f"d{day}").alias("day")))
        Path(f"logs/day=d{day}").mkdir(parents=True)
        days[-1].drop("day").write_parquet(f"logs/day=d{day}/log.parquet")
    return pl.concat(days)


def evaluate(capsys, *arguments):
    code = cli.main(["evaluate", *ARGUMENTS, "--positive", "bad", "--out", "out", *arguments])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("max_error", [None, 0.01])
def test_the_files_equal_those_of_one_table(max_error, log, capsys, monkeypatch):
    monkeypatch.setattr(tables, "ROW_GROUP_SIZE", 1_000)
    options = [] if max_error is None else ["--max-error", str(max_error)]
    assert evaluate(capsys, *options)[0] == 0
    curves = rf.curve(log, "label", "score", by=BY, positive="bad", metrics=["recall", "precision"])
    expected = curves if max_error is None else rf.simplify(curves, max_error=max_error)
    assert_frame_equal(rf.read("out/curves.parquet"), expected, check_exact=True)
    areas = rf.auc(log, "label", "score", by=BY, positive="bad")
    assert_frame_equal(rf.read("out/auc.parquet"), areas, check_exact=True)
    assert ParquetFile("out/curves.parquet").num_row_groups == -(-expected.height // 1_000)
    in_parts = Path("out/curves.parquet").read_bytes()
    monkeypatch.setattr(grouped_curves, "PART_SCORES", 3 * N)
    evaluate(capsys, *options)
    assert Path("out/curves.parquet").read_bytes() == in_parts


def test_the_file_of_curves_is_unchanged_if_a_later_step_fails(capsys, monkeypatch):
    assert evaluate(capsys)[0] == 0
    before = Path("out/curves.parquet").read_bytes()

    def fail(*_, **__):
        raise rf.RocframeError("no page")

    monkeypatch.setattr(tasks, "find_spec", lambda _: True)
    monkeypatch.setattr(tasks, "_page", fail)
    assert evaluate(capsys, "--by", "model")[0] == 2
    assert Path("out/curves.parquet").read_bytes() == before
    assert sorted(path.name for path in Path("out").iterdir()) == ["auc.parquet", "curves.parquet"]


def test_a_large_file_of_curves_has_a_message_with_the_sizes_of_other_options(
    log, capsys, monkeypatch
):
    monkeypatch.setattr(curves_file, "LARGE_FILE", 1)
    log = write_one_model(log)
    store = ["--store", "store", "--partition-by", "day", "--resolution", "0.001"]
    messages, sizes = [], []
    for options in ([], ["--max-error", "0.001"], store):
        messages.append(evaluate(capsys, *options)[1])
        sizes.append(Path("out/curves.parquet").stat().st_size / 1e6)
    n_points = rf.curve(log, "label", "score", by=BY, positive="bad").height
    assert (
        f"curves.parquet has {sizes[0]:,.0f} MB ({n_points:,} points). It would have "
        f"{sizes[1]:,.1f} MB with --max-error 0.001 and {sizes[2]:,.1f} MB with --store FOLDER "
        "--resolution 0.001. A store needs less memory, because it reads the files of logs one by "
        "one."
    ) in messages[0]
    assert not any("curves.parquet has" in message for message in messages[1:])


def write_one_model(log, scale=1.0):
    """Write the log with one model, so that its curves have many points; return its rows."""
    log = log.with_columns(pl.lit("a").alias("model"), pl.col("score") * scale)
    for (day,), rows in log.partition_by("day", as_dict=True, include_key=False).items():
        rows.write_parquet(f"logs/day={day}/log.parquet")
    return log


def test_options_that_hardly_make_the_file_smaller_are_not_kept_in_memory(log, capsys, monkeypatch):
    monkeypatch.setattr(curves_file, "LARGE_FILE", 1)
    write_one_model(log, scale=1e6)
    message = evaluate(capsys)[1]
    assert "MB with --max-error 0.001. A store needs" in message
    assert "--resolution" not in message


def test_the_measured_curves_of_a_store_are_those_of_rounded_scores(log):
    roles = {"by": BY, "positive": "bad"}
    curves = rf.curve(log, "label", "score", **roles)
    measured = curves_file._curves_of_rounded_scores(curves, "roc")
    counts = rf.compress(log, "label", "score", **roles, resolution=0.001)
    rounded = rf.curve(counts, "label", "score", by=BY, count="count")
    assert_frame_equal(measured, rounded.select(measured.columns))
    assert measured.height < curves.height


def test_a_message_of_missing_values_counts_all_rows(log, capsys):
    log = log.with_columns(pl.when(pl.int_range(pl.len()) % 7 > 0).then("score"))
    log.write_parquet("logs/day=d0/log.parquet")
    Path("logs/day=d1/log.parquet").unlink()
    Path("logs/day=d2/log.parquet").unlink()
    with pytest.raises(rf.RocframeError) as error:
        rf.auc(log, "label", "score", by=BY, positive="bad")
    found = re.search(r"\d+ rows, .*", str(error.value))[0]
    code, err = evaluate(capsys)
    assert code == 2
    assert found in err
