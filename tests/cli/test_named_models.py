"""`compare` and `gate` of models that are values of a column, or several columns of scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.cli import main as cli

RNG = np.random.default_rng(3)
N = 900
WIDE = pl.DataFrame(
    {
        "id": np.arange(N),
        "day": pl.date_range(pl.date(2026, 11, 1), pl.date(2026, 11, 9), eager=True).sample(
            N, with_replacement=True, seed=1
        ),
        "segment": np.array(["app", "web"])[np.arange(N) % 2],
        "label": RNG.random(N) < 0.4,
    }
).with_columns(old=(pl.col("label") + pl.Series(RNG.normal(size=N))).round(2))
WIDE = WIDE.with_columns(
    new=(pl.col("old") + pl.Series(RNG.normal(0, 0.1, N))).round(2),
    bad=(pl.col("old") + pl.Series(RNG.normal(0, 3, N))).round(2),
)
MODELS = ["old", "new", "bad"]
LONG = WIDE.unpivot(
    MODELS, index=["id", "day", "segment", "label"], variable_name="model", value_name="score"
)
SHUFFLED = LONG.rename({"model": "models"}).sample(fraction=1, shuffle=True, seed=5)
LABEL = ["--label", "label"]
COLUMNS = [*LABEL, "--score", "score", "--between", "model"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WIDE.write_parquet("wide.parquet")
    for model in MODELS:  # a log of each model
        LONG.filter(model=model).write_parquet(f"{model}.parquet")


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def written(capsys, *arguments, code=0):
    """Return the table that a command writes; the command prints nothing."""
    assert run(capsys, *arguments, "--quiet", "--out", "out.arrow") == (code, "", "")
    return rf.read("out.arrow")


def make_store(capsys, *options):
    logs = ["wide.parquet"] if "--by" not in options else [f"{model}.parquet" for model in MODELS]
    arguments = ["evaluate", *logs, *LABEL, "--store", "store", "--partition-by", "day", "-q"]
    assert run(capsys, *arguments, *options)[0] == 0


def test_compare_prints_the_comparisons_of_models_in_a_column(capsys):
    logs = [f"{model}.parquet" for model in MODELS]
    expected = rf.compare(LONG, "label", "score", id="id", by="segment", baseline="old")
    options = [*COLUMNS, "--id", "id", "--by", "segment", "--baseline", "old"]
    assert_frame_equal(written(capsys, "compare", *logs, *options), expected)
    about = rf.about("out.arrow")
    assert about["files"] == sorted(logs)
    assert about["options"]["baseline"] == "old"
    assert about["options"]["between"] == "model"
    code, out, err = run(capsys, "compare", *logs, *options)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == [
        *("segment", "model_a", "model_b", "AUC", "a", "AUC", "b", "difference", "95", "%"),
        *("interval", "p", "adjusted", "p"),
    ]
    assert lines[5:] == ["", "Test: delong_t, level 0.95, adjustment holm."]


def test_compare_prints_the_comparisons_of_columns_of_scores(capsys):
    options = [*LABEL, "--score", "old", "--score", "new", "--metric", "auc", "--metric", "recall"]
    options += ["--threshold", "old=0.5", "--threshold", "new=0.6", "--adjust", "none"]
    table = written(capsys, "compare", "wide.parquet", *options)
    expected = rf.compare(
        WIDE,
        "label",
        ["old", "new"],
        metric=["auc", "recall"],
        threshold={"old": 0.5, "new": 0.6},
        adjust=None,
    )
    assert_frame_equal(table, expected)
    assert rf.about("out.arrow")["options"]["threshold"] == {"old": 0.5, "new": 0.6}
    _, out, _ = run(capsys, "compare", "wide.parquet", *options)
    assert out.splitlines()[1].split()[:3] == ["new", "old", "auc"]
    assert out.endswith("Test: delong_t, mcnemar, level 0.95, adjustment none.\n")


def test_compare_tests_non_inferiority_and_points_of_the_curve(capsys):
    options = [*LABEL, "--score", "old", "--score", "new", "--baseline", "old", "--margin", "0.1"]
    options += ["--metric", "recall", "--alert-rate", "0.2", "--method", "delta"]
    expected = rf.compare(
        WIDE,
        "label",
        ["old", "new"],
        baseline="old",
        margin=0.1,
        metric="recall",
        alert_rate=0.2,
        method="delta",
    )
    assert_frame_equal(written(capsys, "compare", "wide.parquet", *options), expected)


def test_models_of_different_rows_are_compared_by_unpaired_tests(capsys):
    expected = rf.compare(SHUFFLED, "label", "score", between="models", by="segment")
    SHUFFLED.rename({"models": "model"}).write_parquet("shuffled.parquet")
    arguments = ["compare", "shuffled.parquet", *COLUMNS, "--by", "segment"]
    assert_frame_equal(written(capsys, *arguments), expected)
    _, out, _ = run(capsys, *arguments)
    assert out.endswith("The compared rows are not paired, because --id is not given.\n")


def test_compare_and_gate_read_the_models_of_a_store(capsys):
    make_store(capsys, "--score", "score", "--by", "segment", "--by", "model")
    window = ["--store", "store", "--since", "2026-11-04"]
    rows = SHUFFLED.filter(pl.col("day") >= pl.date(2026, 11, 4))
    options = {"between": "models", "by": "segment", "baseline": "old"}
    assert_frame_equal(
        written(capsys, "compare", *COLUMNS, *window, "--by", "segment", "--baseline", "old"),
        rf.compare(rows, "label", "score", **options),
    )
    about = rf.about("out.arrow")
    assert about["days"] == "2026-11-04 to 2026-11-09"
    assert {Path(file).stem for file in about["files"]} == {*MODELS}
    gate = ["gate", *COLUMNS, *window, "--by", "segment", "--baseline", "old", "--margin", "0.2"]
    expected = rf.gate(rows, "label", "score", **options, margin=0.2)
    keys = ["segment", "model_new"]
    assert_frame_equal(written(capsys, *gate, code=1).sort(keys), expected.sort(keys))
    _, out, _ = run(capsys, *gate)
    assert out.splitlines()[1].split()[:2] == ["app", "bad"]
    assert out.splitlines()[-3:-1] == [
        "store: 3 logs, day 2026-11-01 to 2026-11-09; evaluated: 2026-11-04 to 2026-11-09",
        "FAIL: each new model is not shown to be non-inferior to old in 2 of 4 comparisons.",
    ]
    assert out.endswith("The compared rows are not paired, because a store merges equal rows.\n")


def test_several_scores_of_a_store_are_models(capsys):
    make_store(capsys, "--score", "old", "--score", "new", "--score", "bad")
    scores = ["--score", "new", "--score", "old"]  # some, in any order
    expected = rf.compare(WIDE, "label", ["new", "old"])
    assert_frame_equal(written(capsys, "compare", *LABEL, *scores, "--store", "store"), expected)
    gate = ["gate", *LABEL, *scores, "--store", "store", "--margin", "0.05"]
    expected = rf.gate(WIDE, "label", {"old": "new", "new": "old"}, baseline="old", margin=0.05)
    assert_frame_equal(written(capsys, *gate), expected)
    named = rf.gate(WIDE, "label", ["new", "old"], baseline="old", margin=0.05)
    assert_frame_equal(written(capsys, *gate, "--baseline", "old"), named)
    areas = written(capsys, "decide", *LABEL, "--score", "bad", "--store", "store")
    curve = rf.curve(WIDE, "label", "bad")
    assert_frame_equal(areas, rf.operating_point(curve, "youden"))


def test_gate_compares_all_new_models_with_the_baseline(capsys):
    logs = [f"{model}.parquet" for model in MODELS]
    options = [*COLUMNS, "--id", "id", "--baseline", "old", "--margin", "0.05"]
    expected = rf.gate(LONG, "label", "score", id="id", baseline="old", margin=0.05)
    table = written(capsys, "gate", *logs, *options, code=1)
    assert_frame_equal(table.sort("model_new"), expected.sort("model_new"))
    _, out, _ = run(capsys, "gate", *logs, *options)
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["model_new", "bad", "new"]
    assert lines[-2].startswith("FAIL: each new model is not shown to be non-inferior to old in 1")
    code, out, _ = run(capsys, "gate", "old.parquet", "new.parquet", *options)
    assert code == 0
    assert "\nPASS: new is non-inferior to old in 1 group.\n" in out


def test_names_of_models_can_be_numbers(capsys):
    rows = LONG.with_columns(model=pl.col("model").replace_strict({"old": 1, "new": 2, "bad": 3}))
    rows.write_parquet("numbers.parquet")
    options = [*COLUMNS, "--id", "id", "--baseline", "1", "--metric", "recall"]
    options += ["--threshold", "1=0.5", "--threshold", "2=0.4", "--threshold", "3=0.1"]
    expected = rf.compare(
        rows,
        "label",
        "score",
        id="id",
        baseline=1,
        metric="recall",
        threshold={1: 0.5, 2: 0.4, 3: 0.1},
    )
    assert_frame_equal(written(capsys, "compare", "numbers.parquet", *options), expected)
    assert rf.about("out.arrow")["options"]["threshold"]["2"] == 0.4


def test_groups_of_rows_are_compared(capsys):
    expected = rf.compare(WIDE, "label", "old", between="segment")
    options = [*LABEL, "--score", "old", "--between", "segment"]
    code, out, _ = run(capsys, "compare", "wide.parquet", *options, "--format", "json")
    assert (code, json.loads(out)) == (0, expected.to_dicts())


def test_the_column_of_the_models_is_not_suggested_as_a_group(capsys):
    _, _, err = run(capsys, "compare", "old.parquet", "new.parquet", *COLUMNS, "--id", "id")
    assert err == ""
