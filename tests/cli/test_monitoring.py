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
    """Return the table that `drift` writes, without verdicts.

    The command prints nothing, and has this exit code.
    """
    result = run(capsys, "drift", *arguments, "--quiet", "--out", "out.arrow")
    assert result == (code, "", "")
    table = rf.read("out.arrow")
    assert code == (False in table["passed"])
    assert table.columns[-2:] == ["passed", "verdict"]
    return table.drop("passed", "verdict")


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
        "min_rows": 0,
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
        "segment  window         PSI  critical  adjusted p      KS  adjusted p    n  n_missing  "
        "result"
    )
    assert out.endswith("Test: PSI and KS, level 0.9, adjustment bh.\n")
    largest = table["psi"].max()
    drift(capsys, "scores.parquet", *options, "--margin", f"{largest - 0.01}", code=1)
    drift(capsys, "scores.parquet", *options, "--margin", f"{largest + 0.01}", code=0)
    _, out, _ = run(capsys, "drift", "scores.parquet", *options, "--margin", "0.2")
    assert (
        "FAIL: 1 of 6 windows differs from the reference, with a PSI or KS above 0.2: app 2026"
        in out
    )


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
@pytest.mark.parametrize("has_reference", [False, True])
def test_windows_of_different_resolutions_have_the_largest_of_their_group(
    capsys, label, has_reference
):
    """Each log has its own resolution with --max-envelope."""
    for day, rows in LOG.group_by("day"):
        rows.write_parquet(f"{day[0]}.parquet")
    arguments = ["2026*.parquet", *AREAS, "--store", "store", "--partition-by", "day"]
    assert run(capsys, "evaluate", *arguments, "--max-envelope", "0.03", "-q")[0] == 0
    stored = rf.scan("store").collect()
    assert stored["score_width"].n_unique() > 2
    widest = stored.group_by("segment").agg(pl.col("score_width").max())
    rounded = LOG.join(widest, on="segment").with_columns(
        pl.col("score") // pl.col("score_width") * pl.col("score_width")
    )
    first = rounded.filter(day=FIRST)
    LOG.filter(day=FIRST).drop([] if label else "label").write_parquet("first.parquet")
    arguments = [*SCORE, *label, "--store", "store"]
    options = {"over": "day", "by": "segment"}
    if has_reference:
        arguments += ["--reference", "first.parquet"]
        options["reference"] = first
    table = drift(capsys, *arguments, code=len(label) // 2)
    if label:
        expected = rf.drift(rounded, "label", "score", **options)
    else:
        expected = rf.score_drift(rounded, "score", **options)
    assert_frame_equal(table, expected)


def test_skipped_files_of_the_reference_are_reported(capsys):
    Path("first").mkdir()
    LOG.filter(day=FIRST).write_parquet("first/0.parquet")
    Path("first/1.parquet").write_bytes(b"")
    arguments = ["log.parquet", *AREAS, "--over", "day", "--reference", "first/*.parquet"]
    code, _, err = run(capsys, "drift", *arguments, "--skip-unreadable", "--out", "first/2.parquet")
    assert code == 1
    assert "rocframe: skipped first/1.parquet: " in err
    about = rf.about("first/2.parquet")
    assert about["files_reference"] == ["first/0.parquet"]
    assert [*about["files_skipped"]] == ["first/1.parquet"]
    again = run(capsys, "drift", *arguments, "--skip-unreadable", "--out", "first/2.parquet", "-q")
    assert again[0] == 1
    assert rf.about("first/2.parquet") == about


def test_a_reference_that_is_a_window_and_a_folder_is_an_error(capsys):
    folder = Path(str(LATE))
    folder.mkdir()
    first = LOG.filter(day=FIRST)
    first.write_parquet(folder / "0.parquet")
    arguments = ["log.parquet", *AREAS, "--over", "day", "--reference"]
    code, _, err = run(capsys, "drift", *arguments, str(LATE))
    assert code == 2
    assert f"--reference {LATE}: this is a window, and also a file or folder.\n" in err
    table = drift(capsys, *arguments, f"./{LATE}", code=1)
    expected = rf.drift(LOG, "label", "score", over="day", by="segment", reference=first)
    assert_frame_equal(table, expected)


def test_references_have_the_time_zone_and_the_type_of_the_windows(capsys):
    times = pl.col("day").cast(pl.Datetime).dt.replace_time_zone("America/New_York")
    price = pl.col("batch").cast(pl.Decimal(6, 2)) / 10
    rows = LOG.with_columns(day=times, price=price.cast(pl.Decimal(6, 2)))
    rows.write_parquet("rows.parquet")
    for over, text in (
        (["--over", "day", "--every", "1w"], "2026-11-09"),
        (["--over", "price"], "2.20"),
    ):
        arguments = ["drift", "rows.parquet", *AREAS, *over, "--reference"]
        code, out, _ = run(capsys, *arguments, text, "--format", "jsonl", "-q")
        assert code == 1
        assert {json.loads(row)["reference"][: len(text)] for row in out.splitlines()} == {text}
    code, _, err = run(
        capsys, "drift", "rows.parquet", *AREAS, *EVERY_WEEK, "--reference", "2026-11-10"
    )
    assert (code, "datetime" in err) == (2, False)
    assert "The windows are: 2026-11-02 00:00:00, 2026-11-09 00:00:00, " in err


@pytest.mark.parametrize("label", [["--label", "label"], []])
def test_the_windows_of_a_store_are_its_partitions(capsys, label):
    make_store(capsys)
    arguments = [*SCORE, *label, "--store", "store", "--last", "14d"]
    table = drift(capsys, *arguments, code=1)
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


def test_windows_that_cannot_be_compared_fail_unless_they_are_small(capsys):
    rows = LOG.filter(segment="web")
    rows = rows.filter(pl.col("label") | (pl.col("day") != FIRST + timedelta(days=3)))
    rows.write_parquet("rows.parquet")
    code, out, _ = run(capsys, "drift", "rows.parquet", *AREAS, "--over", "day")
    assert code == 1
    assert "FAIL: 1 of 27 windows cannot be compared: web 2026-11-05.\n" in out
    assert out.splitlines()[4].endswith("FAIL: no negatives")
    options = ["--over", "day", "--min-rows", "1"]
    code, out, _ = run(capsys, "drift", "rows.parquet", *AREAS, *options)
    assert code == 0
    assert "PASS: none of 26 windows differs from the reference. 1 window does not count" in out
    assert out.splitlines()[4].endswith("does not count: below min rows")


@pytest.mark.parametrize("label", [["--label", "label"], []])
def test_the_first_window_passes(capsys, label):
    LOG.filter(day=FIRST).write_parquet("rows.parquet")
    for reference in ("first", "previous"):
        arguments = [*SCORE, *label, "--over", "day", "--reference", reference]
        code, out, _ = run(capsys, "drift", "rows.parquet", *arguments)
        assert code == 0
        assert "PASS: no window is compared with a reference.\n" in out


def test_small_windows_do_not_hide_drift(capsys):
    """p-values are adjusted for the windows that count."""
    rng = np.random.default_rng(4)
    day = np.append(np.repeat([1, 2], 1000), np.repeat(np.arange(3, 63), 12))
    rows = pl.DataFrame({"day": day, "score": rng.normal(size=len(day)) + 0.11 * (day == 2)})
    large = rows.filter(pl.col("day") < 3)
    assert verdicts(capsys, large, "--min-rows", "50") == ["reference", "drift"]
    expected = ["reference", "drift", *["ignored"] * 60]
    assert verdicts(capsys, rows, "--min-rows", "50") == expected
    assert "drift" not in verdicts(capsys, rows, code=0)


@pytest.mark.parametrize("label", [["--label", "label"], []])
def test_windows_that_are_all_small_are_an_error(capsys, label):
    LOG.head(20).write_parquet("first.parquet")
    for options in (["--min-rows", "5000"], ["--reference", "first.parquet", "--min-rows", "21"]):
        arguments = ["log.parquet", *SCORE, *label, "--over", "day", *options]
        rows = "positives or negatives" if label else "scores"
        problem = f"all windows, or their references, have fewer {rows} than this number"
        hint = "Such windows do not count, so no window is left. Pass a smaller number."
        error = f"rocframe: --min-rows {options[-1]}: {problem}.\n{hint}\n"
        assert run(capsys, "drift", *arguments) == (2, "", error)
    arguments = ["log.parquet", *SCORE, *label, "--over", "day", "--min-rows", "-5"]
    code, _, err = run(capsys, "drift", *arguments)
    assert (code, err.splitlines()[0]) == (
        2,
        "rocframe: --min-rows -5: expected an integer of at least 0.",
    )


def verdicts(capsys, rows, *arguments, code=1):
    """Return the verdict on each day of rows with a column `day`."""
    rows.write_parquet("rows.parquet")
    arguments = ["rows.parquet", "--score", "score", "--over", "day", *arguments, "-q"]
    exit_code, out, _ = run(capsys, "drift", *arguments, "--format", "json")
    assert exit_code == code
    return [row["verdict"] for row in json.loads(out)]


def test_an_area_without_a_variance_cannot_be_compared(capsys):
    label = np.arange(200) % 2 == 0
    score = np.where(np.arange(200) < 100, label, 0.5)
    rows = pl.DataFrame({"day": np.arange(200) // 100, "label": label, "score": score})
    options = ["--label", "label", "--margin", "0.1"]
    assert verdicts(capsys, rows, *options) == ["reference", "undecided"]


def test_the_test_of_ks_finds_what_the_bins_do_not(capsys):
    """All scores of the reference are equal, or a shift is within a bin of most of its rows."""
    constant = pl.DataFrame({"day": [1] * 500 + [2] * 500, "score": [0.0] * 500 + [1.0] * 500})
    assert verdicts(capsys, constant) == ["reference", "drift"]
    assert verdicts(capsys, constant, "--margin", "1", code=0) == ["reference", "no_drift"]
    share = RNG.random((2, 500))
    mass = np.where(share < 0.95, [[0.0], [-1.0]], share)
    assert verdicts(capsys, constant.with_columns(score=mass.ravel())) == ["reference", "drift"]


def test_missing_scores_fail_above_a_limit(capsys):
    score = pl.Series(RNG.random(1000)).set(pl.Series(np.arange(1000) >= 600), None)
    rows = pl.DataFrame({"day": [1] * 500 + [2] * 500, "score": score})
    options = ["--missing", "drop", "--bins", "2"]
    assert verdicts(capsys, rows, *options) == ["reference", "missing_scores"]
    assert verdicts(capsys, rows, *options, "--max-missing", "0.8", "--margin", "0.5", code=0) == [
        "reference",
        "no_drift",
    ]
    rows = rows.filter((pl.col("day") == 1) | pl.col("score").is_null())
    assert verdicts(capsys, rows, *options) == ["reference", "missing_scores"]
    assert verdicts(capsys, rows, *options, "--max-missing", "1") == ["reference", "undecided"]


def test_a_window_without_a_reference_has_no_missing_scores(capsys):
    score = pl.Series(RNG.random(1000)).set(pl.Series(np.arange(1000) % 4 == 0), None)
    rows = pl.DataFrame({"day": [1] * 500 + [2] * 500, "score": score})
    options = ["--missing", "drop", "--reference", "previous", "--bins", "2"]
    assert verdicts(capsys, rows.head(500), *options, code=0) == ["no_test"]
    assert verdicts(capsys, rows, *options, code=0) == ["no_test", "no_drift"]


def test_small_windows_with_missing_scores_do_not_count(capsys):
    rows = pl.DataFrame({"day": [1] * 500 + [2] * 8, "score": RNG.random(508)})
    rows = rows.with_columns(rows["score"].set(pl.Series(np.arange(508) > 503), None))
    options = ["--missing", "drop", "--min-rows", "50"]
    assert verdicts(capsys, rows, *options, code=0) == ["reference", "ignored"]
    missing = pl.DataFrame({"day": [3] * 60, "score": [None] * 60})
    expected = ["reference", "ignored", "missing_scores"]
    assert verdicts(capsys, pl.concat([rows, missing]), *options) == expected


def test_bins_are_those_of_score_drift(capsys):
    for bins, argument in (("4", 4), ("-1:0.3:0.6:1", [-1, 0.3, 0.6, 1])):
        table = drift(capsys, "log.parquet", *SCORE, *EVERY_WEEK, f"--bins={bins}", code=1)
        assert_frame_equal(table, rf.score_drift(WEEKS, "score", by="segment", bins=argument))


def test_windows_that_overlap_the_reference_have_no_test(capsys):
    options = ["--over", "batch", "--every", "7", "--period", "14", "--format", "json", "-q"]
    code, out, _ = run(capsys, "drift", "log.parquet", *AREAS, *options)
    assert code == 1
    assert [row["verdict"] for row in json.loads(out) if row["segment"] == "web"] == [
        "reference",
        "no_test",
        *["no_drift"] * 3,
    ]


def test_a_long_table_shows_windows_that_fail_and_the_last_ones(capsys):
    n = 100 * 40
    rows = pl.DataFrame({"day": np.arange(n) // 40, "score": RNG.random(n)})
    rows = rows.with_columns(pl.col("score") + 9 * (pl.col("day") == 3)).write_parquet(
        "log.parquet"
    )
    code, out, _ = run(capsys, "drift", "log.parquet", "--score", "score", "--over", "day")
    assert code == 1
    assert [int(line.split()[0]) for line in out.splitlines()[1:61]] == [3, *range(41, 100)]
    assert out.splitlines()[61] == "... and 40 more windows"


def test_stdout_has_the_table_only_and_the_verdict_is_on_stderr(capsys):
    options = [*AREAS, *EVERY_WEEK, "--format", "json"]
    code, out, err = run(capsys, "drift", "log.parquet", *options)
    assert code == 1
    assert err.startswith("FAIL: 1 of 6 windows differs from the reference: app 2026-11-23.\n")
    rows = json.loads(out)
    failing = [row for row in rows if row["passed"] is False]
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
