"""The commands `drift` and `calibrate`."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.cli import main as cli

FIRST, LATE = date(2026, 11, 2), date(2026, 11, 23)  # Mondays
RNG = np.random.default_rng(2)
N = 28 * 60
DAY, SEGMENT = np.arange(N) // 60, RNG.choice(["app", "web"], N)
LABEL = RNG.random(N) < 0.4
SHIFT = np.where((DAY >= 21) & (SEGMENT == "app"), -1.0, 2.0) * LABEL
LOG = pl.DataFrame(
    {
        "day": [FIRST + timedelta(days=int(day)) for day in DAY],
        "batch": DAY + 1,
        "segment": SEGMENT,
        "label": LABEL,
        "score": (1 / (1 + np.exp(-RNG.normal(size=N) - SHIFT))).round(2),
    }
)
WEEKS = rf.windows(LOG, "day", every="1w")
SCORE = ["--score", "score", "--by", "segment"]
AREAS = [*SCORE, "--label", "label"]
EVERY_WEEK = ["--over", "day", "--every", "1w"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LOG.write_parquet("log.parquet")


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def drift(capsys, *arguments, code):
    """Return the table that `drift` writes; it prints nothing, and has this exit code."""
    result = run(capsys, "drift", *arguments, "--quiet", "--out", "out.arrow")
    assert result == (code, "", "")
    return rf.read("out.arrow")


def make_store(capsys):
    arguments = ["log.parquet", *AREAS, "--store", "store", "--partition-by", "day", "--quiet"]
    assert run(capsys, "evaluate", *arguments) == (0, "", "")


def test_a_week_that_differs_from_the_first_fails(capsys):
    table = drift(capsys, "log.parquet", *AREAS, *EVERY_WEEK, code=1)
    assert_frame_equal(table, rf.drift(WEEKS, "label", "score", by="segment"))
    about = rf.about("out.arrow")
    assert about["options"] == {
        "over": "day",
        "every": "1w",
        "reference": "first",
        "level": 0.95,
        "adjust": "holm",
    }
    code, out, err = run(capsys, "drift", "log.parquet", *AREAS, *EVERY_WEEK)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == (
        "segment  window         AUC     95 % interval  reference  difference  adjusted p  n_pos  "
        "n_neg  n_missing  result"
    )
    assert [line.split()[-1] for line in (lines[1], lines[4])] == ["reference", "FAIL"]
    assert lines[10:] == [
        "FAIL: 1 of 6 windows differs from the reference: app 2026-11-23.",
        "Test: delong_t_unpaired, level 0.95, adjustment holm.",
    ]


def test_a_segment_without_drift_passes(capsys):
    LOG.filter(segment="web").write_parquet("web.parquet")
    code, out, _ = run(capsys, "drift", "web.parquet", *AREAS, *EVERY_WEEK)
    assert code == 0
    assert "\nPASS: none of 3 windows differs from the reference.\n" in out


def test_with_a_margin_small_drift_passes(capsys):
    for margin, code in (("0.05", 1), ("0.9", 0)):
        options = [*AREAS, *EVERY_WEEK, "--margin", margin]
        table = drift(capsys, "log.parquet", *options, code=code)
        expected = rf.drift(WEEKS, "label", "score", by="segment", margin=float(margin))
        assert_frame_equal(table, expected)
    _, out, _ = run(capsys, "drift", "log.parquet", *options)
    assert "PASS: none of 6 windows is worse than the reference by more than 0.9.\n" in out


def test_an_improvement_differs_but_is_not_worse(capsys):
    options = [*AREAS, *EVERY_WEEK, "--reference", str(LATE)]
    assert drift(capsys, "log.parquet", *options, code=1).height == 8
    drift(capsys, "log.parquet", *options, "--margin", "0", code=0)


def test_without_a_label_the_scores_are_compared(capsys):
    LOG.drop("label").write_parquet("scores.parquet")
    options = [*SCORE, *EVERY_WEEK, "--adjust", "bh", "--level", "0.9"]
    table = drift(capsys, "scores.parquet", *options, code=1)
    expected = rf.score_drift(WEEKS, "score", by="segment", adjust="bh", level=0.9)
    assert_frame_equal(table, expected)
    assert rf.about("out.arrow")["label"] is None
    _, out, _ = run(capsys, "drift", "scores.parquet", *options)
    assert out.splitlines()[0] == (
        "segment  window         PSI  critical  adjusted p      KS    n  n_missing  result"
    )
    assert out.endswith("Test: PSI, level 0.9, adjustment bh.\n")
    largest = table["psi"].max()
    drift(capsys, "scores.parquet", *options, "--margin", f"{largest - 0.01}", code=1)
    drift(capsys, "scores.parquet", *options, "--margin", f"{largest + 0.01}", code=0)
    _, out, _ = run(capsys, "drift", "scores.parquet", *options, "--margin", "0.2")
    assert "FAIL: 1 of 6 windows differs from the reference, with a PSI above 0.2: app 2026" in out


@pytest.mark.parametrize("label", [["--label", "label"], []])
def test_files_are_a_reference(capsys, label):
    first = pl.col("day") < date(2026, 11, 9)
    LOG.filter(first).write_parquet("first.parquet")
    LOG.filter(~first).write_parquet("live.parquet")
    live = rf.windows(LOG.filter(~first), "day", every="1w")
    options = {"by": "segment", "reference": LOG.filter(first)}
    if label:
        expected = rf.drift(live, "label", "score", **options)
    else:
        expected = rf.score_drift(live, "score", **options)
    arguments = [*SCORE, *label, *EVERY_WEEK, "--reference", "first.parquet"]
    assert_frame_equal(drift(capsys, "live.parquet", *arguments, code=1), expected)
    make_store(capsys)
    arguments = [*SCORE, *label, "--every", "1w", "--reference", "first.parquet"]
    arguments += ["--store", "store", "--since", "2026-11-09"]
    assert_frame_equal(drift(capsys, *arguments, code=1), expected)


@pytest.mark.parametrize("label", [["--label", "label"], []])
def test_the_windows_of_a_store_are_its_partitions(capsys, label):
    make_store(capsys)
    arguments = [*SCORE, *label, "--store", "store", "--last", "14d"]
    table = drift(capsys, *arguments, code=len(label) // 2)
    rows = LOG.filter(pl.col("day") > date(2026, 11, 15))
    if label:
        expected = rf.drift(rows, "label", "score", by="segment", over="day")
    else:
        expected = rf.score_drift(rows, "score", by="segment", over="day")
    assert_frame_equal(table, expected)
    assert rf.about("out.arrow")["days"] == "2026-11-16 to 2026-11-29"
    _, out, _ = run(capsys, "drift", *arguments)
    assert "\nstore: 1 log, day 2026-11-02 to 2026-11-29; evaluated: 2026-11-16 to" in out


def test_a_group_column_of_a_store_can_divide_the_windows(capsys):
    make_store(capsys)
    options = ["--label", "label", "--score", "score", "--store", "store", "--over", "segment"]
    table = drift(capsys, *options, "--reference", "web", code=1)
    expected = rf.drift(LOG, "label", "score", over="segment", reference="web")
    assert_frame_equal(table, expected)


def test_integers_are_times_of_windows(capsys):
    options = ["--over", "batch", "--every", "7", "--period", "14", "--offset=1"]
    options += ["--reference", "previous"]
    table = drift(capsys, "log.parquet", *AREAS, *options, code=1)
    windows = rf.windows(LOG, "batch", every=7, period=14, offset=1)
    expected = rf.drift(windows, "label", "score", by="segment", reference="previous")
    assert_frame_equal(table, expected)
    _, out, _ = run(capsys, "drift", "log.parquet", *AREAS, *options)
    assert " cannot be compared" not in out


def test_windows_that_cannot_be_compared_do_not_fail_but_are_counted(capsys):
    rows = LOG.filter(segment="web")
    rows = rows.filter(pl.col("label") | (pl.col("day") != FIRST + timedelta(days=3)))
    rows.write_parquet("rows.parquet")
    code, out, _ = run(capsys, "drift", "rows.parquet", *AREAS, "--over", "day", "--adjust", "holm")
    assert code == 0
    assert (
        "PASS: none of 26 windows differs from the reference. 1 window cannot be compared.\n" in out
    )
    assert out.splitlines()[4].endswith("no negatives")
    rows.filter(day=FIRST).write_parquet("rows.parquet")
    code, out, _ = run(capsys, "drift", "rows.parquet", *AREAS, "--over", "day")
    assert code == 0
    assert "PASS: no window is compared with a reference.\n" in out


def test_stdout_has_the_table_only_and_the_verdict_is_on_stderr(capsys):
    options = [*AREAS, *EVERY_WEEK, "--format", "json"]
    code, out, err = run(capsys, "drift", "log.parquet", *options)
    assert code == 1
    assert err.startswith("FAIL: 1 of 6 windows differs from the reference: app 2026-11-23.\n")
    rows = json.loads(out)
    failing = [row for row in rows if row["p_adjusted"] and row["p_adjusted"] < 0.05]
    assert [(row["segment"], row["window"]) for row in failing] == [("app", "2026-11-23")]


def test_calibrate_prints_measures_of_calibration(capsys):
    edges = [0.0, 0.25, 0.5, 1.0]
    for bins, argument in ((["--bins", "0:0.25:0.5:1"], edges), (["--bins", "4"], 4), ([], 10)):
        arguments = ["calibrate", "log.parquet", *AREAS, *bins, "--method", "uniform"]
        assert run(capsys, *arguments, "--quiet", "--out", "out.json") == (0, "", "")
        expected = rf.calibration_summary(
            LOG, "label", "score", by="segment", bins=argument, method="uniform"
        )
        assert json.loads(Path("out.json").read_text()) == expected.to_dicts()
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[:6] == ["segment", "Brier", "Brier", "skill", "ECE", "ICI"]
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["app", "web"]


def test_calibrate_reads_a_store(capsys):
    make_store(capsys)
    arguments = ["calibrate", *AREAS, "--store", "store", "--quiet", "--out", "out.arrow"]
    assert run(capsys, *arguments) == (0, "", "")
    expected = rf.calibration_summary(LOG, "label", "score", by="segment")
    assert_frame_equal(rf.read("out.arrow"), expected)


def test_report_and_decide_read_a_window_of_a_store(capsys):
    make_store(capsys)
    window = ["--store", "store", "--until", "2026-11-22"]
    arguments = ["decide", *AREAS, *window, "--rule", "f1", "--quiet", "--out", "out.arrow"]
    assert run(capsys, *arguments) == (0, "", "")
    curves = rf.curve(LOG.filter(pl.col("day") < LATE), "label", "score", by="segment")
    assert_frame_equal(rf.read("out.arrow"), rf.operating_point(curves, "f1"))
    assert rf.about("out.arrow")["store"] == "store"
