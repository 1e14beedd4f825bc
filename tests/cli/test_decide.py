from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.cli import main as cli
from rocframe.cli.options import parse_amounts, parse_ranges
from rocframe.cli.text_tables import decisions_table

VOTE = str(rf.datasets.path("vote"))
LOG = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 0, 1],
        "truth": ["yes", "no", "yes", "no", "no", "yes"],
        "score": [0.9, 0.4, 0.4, 0.1, 0.3, 0.8],
        "other": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3],
        "group": ["a", "a", "a", "b", "b", "b"],
    }
)
BASIC = ["log.parquet", "--label", "label", "--score", "score"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LOG.write_parquet("log.parquet")


def decide(capsys, *arguments):
    code = cli.main(["decide", *arguments])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    return captured.out


def test_the_table_is_that_of_operating_point(capsys):
    out = decide(capsys, VOTE, "--label", "label", "--score", "score", "--by", "model", "--by",
                 "fold", "--rule", "expected_cost", "--rule", "profit", "--rule", "recall",
                 "--cost", "fp=1", "--cost", "fn=5", "--benefit", "tp=20,fp=-1", "--prevalence",
                 "0.2", "--subject-to", "precision=0.3:", "--out", "best.arrow")  # fmt: skip
    curves = rf.curve(rf.datasets.vote(), "label", "score", by=["model", "fold"])
    options = {
        "costs": {"fp": 1.0, "fn": 5.0},
        "benefits": {"tp": 20.0, "fp": -1.0},
        "prevalence": 0.2,
        "subject_to": {"precision": (0.3, None)},
    }
    rules = ["expected_cost", "profit", "recall"]
    assert_frame_equal(rf.read("best.arrow"), rf.operating_point(curves, rules, **options))
    metadata = rf.about("best.arrow")
    assert metadata["options"]["rule"] == rules
    assert metadata["options"]["costs"] == {"fp": 1.0, "fn": 5.0}
    assert (metadata["label"], metadata["files"]) == ("label", [VOTE])
    assert out.endswith("\n... and 120 more rows\n\nbest.arrow\n")


def test_the_table_is_printed_and_no_file_is_required(capsys):
    out = decide(capsys, *BASIC, "--by", "group")
    assert out.splitlines() == [
        "group  rule     value  threshold  tp  fp  fn  tn  note",
        "a      youden  0.5000        0.9   1   0   1   1  one_negative",
        "b      youden  1.0000        0.8   1   0   0   2  one_positive",
    ]
    assert [path.name for path in Path().iterdir()] == ["log.parquet"]
    assert decide(capsys, *BASIC, "--quiet") == ""


def test_columns_options_are_those_of_evaluate(capsys):
    options = ["--positive", "yes", "--weight", "w", "--count", "count", "--missing", "drop"]
    log = LOG.with_columns(w=0.5, count=pl.lit(3)).vstack(
        LOG.head(1).with_columns(score=pl.lit(None, pl.Float64), w=0.5, count=pl.lit(3))
    )
    log.write_parquet("log.parquet")
    out = decide(capsys, "log.parquet", "--label", "truth", "--score", "score", "--score", "other",
                 *options)  # fmt: skip
    assert out.splitlines() == [
        "model  rule     value  threshold      tp      fp      fn      tn",
        "other  youden  0.5000        0.3  3.0000  0.0000  3.0000  4.5000",
        "score  youden  0.6667        0.8  3.0000  0.0000  1.5000  4.5000",
    ]


def test_minimize_and_maximize_set_the_direction(capsys):
    for option, threshold in (("--minimize", "∞"), ("--maximize", "0.1")):
        out = decide(capsys, *BASIC, "--rule", "alert_rate", option)
        assert out.splitlines()[1].split()[2] == threshold


def test_undefined_groups_have_a_note(capsys):
    out = decide(capsys, *BASIC, "--rule", "recall", "--subject-to", "alerts=10:")
    assert out.splitlines() == [
        "rule    value  threshold  tp  fp  fn  tn  note",
        "recall      -          -   -   -   -   -  no_solution",
    ]


def test_long_tables_end_with_the_number_of_other_rows():
    curves = rf.curve(LOG, "label", "score", by="group")
    lines = decisions_table(rf.operating_point(curves), width=None, max_rows=1).splitlines()
    assert len(lines) == 3
    assert lines[-1] == "... and 1 more row"


def test_amounts_and_ranges_are_read():
    assert parse_amounts("--cost", ["fp=1, fn=.5", "tn=-1e-3"], "") == {
        "fp": 1.0,
        "fn": 0.5,
        "tn": -0.001,
    }
    assert parse_amounts("--cost", None, "") is None
    assert parse_ranges(["precision=0.9:", "alerts=:100", "fpr=0:0.1"]) == {
        "precision": (0.9, None),
        "alerts": (None, 100.0),
        "fpr": (0.0, 0.1),
    }
    assert parse_ranges(None) is None


def test_compressed_logs_of_different_resolutions_are_an_error(capsys):
    Path("logs").mkdir()
    for name, resolution in (("fine", None), ("coarse", 0.5)):
        counts = rf.compress(
            LOG.with_columns(day=pl.lit(name)), "label", "score", by="day", resolution=resolution
        )
        if resolution is None:
            counts = counts.drop("score_width")
        counts.write_parquet(f"logs/{name}.parquet")
    options = ["logs", *BASIC[1:], "--count", "count", "--rule", "youden"]
    for command in ("decide", "report", "evaluate"):
        arguments = options if command == "decide" else [*options[:-2], "--out", "out.html"]
        assert cli.main([command, *arguments]) == 2
        error = capsys.readouterr().err
        assert "score_width: the scores were rounded to different resolutions." in error
        assert "Widths in column 'score_width': 0.0, 0.5.\n" in error
    decide(capsys, *options, "--by", "day")


def test_a_guarantee_is_that_of_operating_point(capsys):
    limit = ["--rule", "recall", "--subject-to", "precision=0.6:", "--guarantee", "0.95"]
    decide(capsys, VOTE, "--label", "label", "--score", "score", "--by", "model", "--by", "fold",
           *limit, "--out", "best.arrow")  # fmt: skip
    curves = rf.curve(rf.datasets.vote(), "label", "score", by=["model", "fold"])
    options = {"subject_to": {"precision": (0.6, None)}, "guarantee": 0.95}
    points = rf.operating_point(curves, "recall", **options)
    assert_frame_equal(rf.read("best.arrow"), points)
    assert 0 < points["threshold"].null_count() < points.height
