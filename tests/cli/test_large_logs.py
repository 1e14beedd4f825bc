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
from rocframe.reports import curves_file, grouped_curves

BY = ["model", "day"]
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
        label = rng.random(500) < 0.3
        columns = {
            "label": np.where(label, "bad", "good"),
            "score": rng.random(500) + 0.4 * label,
            "model": rng.choice(["b", "a", "c"], 500),
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
    options = [] if max_error is None else ["--max-error", str(max_error)]
    assert evaluate(capsys, *options)[0] == 0
    curves = rf.curve(log, "label", "score", by=BY, positive="bad", metrics=["recall", "precision"])
    expected = curves if max_error is None else rf.simplify(curves, max_error=max_error)
    assert_frame_equal(rf.read("out/curves.parquet"), expected, check_exact=True)
    areas = rf.auc(log, "label", "score", by=BY, positive="bad")
    assert_frame_equal(rf.read("out/auc.parquet"), areas, check_exact=True)
    parts = rf.about("out/curves.parquet")
    assert ParquetFile("out/curves.parquet").num_row_groups > 1
    monkeypatch.setattr(grouped_curves, "PART_SCORES", 10_000)
    evaluate(capsys, *options)
    assert rf.about("out/curves.parquet") == parts


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


def test_a_large_file_of_curves_has_a_message_with_both_sizes(log, capsys, monkeypatch):
    monkeypatch.setattr(curves_file, "LARGE_FILE", 1)
    monkeypatch.setattr(curves_file, "SUGGESTED_ERROR", 0.05)
    _, err = evaluate(capsys)
    curves = rf.curve(log, "label", "score", by=BY, positive="bad", metrics=["recall", "precision"])
    message = re.search(r"curves\.parquet has .*", err)[0]
    size = Path("out/curves.parquet").stat().st_size
    evaluate(capsys, "--max-error", "0.05")
    simplified = Path("out/curves.parquet").stat().st_size
    assert message == (
        f"curves.parquet has {size / 1e6:,.0f} MB ({curves.height:,} points). With --max-error "
        f"0.05, it would have {simplified / 1e6:,.1f} MB. With --store, scores are rounded, so "
        "curves have fewer points."
    )
    assert "curves.parquet has" not in evaluate(capsys, "--max-error", "0.05")[1]


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
