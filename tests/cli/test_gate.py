from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.cli import main as cli

RNG = np.random.default_rng(0)
N = 1200
ROWS = pl.DataFrame(
    {
        "id": np.arange(N),
        "segment": np.array(["app", "mail", "web"])[np.arange(N) % 3],
        "label": RNG.random(N) < 0.4,
    }
).with_columns(old=2 * pl.col("label") + pl.Series(RNG.standard_normal(N)))
ROWS = ROWS.with_columns(new=pl.col("old") + pl.Series(RNG.normal(0, 0.05, N)))
ROWS = ROWS.with_columns(
    bad=pl.when(segment="mail").then(pl.Series(RNG.standard_normal(N))).otherwise("new")
)
BASIC = ["--label", "label", "--score", "score", "--margin", "0.03", "--by", "segment"]
PAIRED = [*BASIC, "--id", "id"]


def log(score, rows=ROWS):
    return rows.select("id", "segment", "label", score=score)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log("old").write_parquet("old.parquet")
    log("new").sample(fraction=1, shuffle=True, seed=1).write_parquet("new.parquet")


def gate(capsys, *arguments):
    code = cli.main(["gate", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_models_of_two_logs_are_not_suggested_as_groups(capsys):
    for name in ("old", "new"):
        rows = log(name).with_columns(model=pl.lit(name), fold=pl.lit(1))
        rows.drop("id").write_parquet(f"{name}.parquet")
    _, _, err = gate(capsys, "old.parquet", "new.parquet", *BASIC)
    assert err == (
        "rocframe: The column fold is not a group column, so rows with different values of it are "
        "pooled. Add --by fold to evaluate these rows separately.\n"
    )


def test_the_scores_of_the_two_models_may_have_different_float_types(capsys):
    """Scores of the old model are not compared with scores of the new model."""
    narrow = log("old").cast({"score": pl.Float32})
    narrow.write_parquet("old.parquet")
    options = [*PAIRED, "--quiet", "--out", "gate.parquet"]
    assert gate(capsys, "old.parquet", "new.parquet", *options) == (0, "", "")
    wide = narrow.cast({"score": pl.Float64})
    logs = pl.concat(
        [wide.with_columns(log=pl.lit("old")), log("new").with_columns(log=pl.lit("new"))]
    )
    expected = rf.gate(logs, "label", "score", between="log", baseline="old", by="segment",
                       id="id", margin=0.03)  # fmt: skip
    assert_frame_equal(rf.read("gate.parquet").sort("segment"), expected.sort("segment"))


def test_a_new_model_passes(capsys):
    code, out, err = gate(capsys, "old.parquet", "new.parquet", *PAIRED, "--out", "gate.parquet")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == (
        "segment  AUC old  AUC new  worse by  95 % limit  margin  adjusted p  result"
    )
    assert [line.split()[0] for line in lines[1:4]] == ["app", "mail", "web"]
    assert all(line.endswith("  non-inferior") for line in lines[1:4])
    assert lines[4:] == [
        "",
        "PASS: NEW is non-inferior to OLD in 3 groups.",
        "Test: newcombe, level 0.95, adjustment holm.",
        "",
        "gate.parquet",
    ]
    expected = rf.gate(ROWS, "label", ["old", "new"], baseline="old", margin=0.03, by="segment")
    assert_frame_equal(rf.read("gate.parquet"), expected)
    about = rf.about("gate.parquet")
    assert about["table"] == "gate"
    assert about["files_old"] == ["old.parquet"]
    assert about["files_new"] == ["new.parquet"]
    assert about["options"]["margin"] == 0.03


def test_a_failing_group_is_first_and_the_exit_code_is_1(capsys):
    ROWS.select("id", "segment", "label", p="bad").write_csv("bad.csv")
    arguments = ["old.parquet", "bad.csv", *PAIRED, "--score", "p", "--out", "gate.parquet"]
    code, out, err = gate(capsys, *arguments)
    assert (code, err) == (1, "")
    assert out.splitlines()[1].startswith("mail ")
    assert out.splitlines()[1].endswith("worse by more than the margin")
    assert "\nFAIL: NEW is not shown to be non-inferior to OLD in 1 of 3 groups.\n" in out
    assert rf.read("gate.parquet")["segment"].to_list() == ["mail", "app", "web"]
    assert gate(capsys, *arguments, "--quiet") == (1, "", "")


def test_weights_and_clusters_have_a_default_method(capsys):
    rows = ROWS.with_columns(w=pl.col("id") % 3 + 1, c=pl.col("id") // 2)
    for name in ("old", "new"):
        rows.select("id", "segment", "label", "w", "c", score=name).write_parquet(f"{name}.parquet")
    for options, test in (
        ([*PAIRED, "--cluster", "c"], "delong_t"),
        ([*PAIRED, "--weight", "w"], "delong_t"),
        ([*BASIC, "--weight", "w"], "delong_t_unpaired"),
    ):
        _, out, err = gate(capsys, "old.parquet", "new.parquet", *options)
        assert err == ""
        assert f"Test: {test}, level 0.95, adjustment holm." in out


def test_logs_without_an_id_are_compared_as_different_rows(capsys):
    code, out, _ = gate(capsys, "old.parquet", "new.parquet", *BASIC)
    assert code == 1
    assert out.count("not shown to be non-inferior\n") == 3
    assert out.endswith(
        "Test: newcombe_unpaired, level 0.95, adjustment holm. The rows of the two logs are not "
        "paired, because --id is not given.\n"
    )
    assert gate(capsys, "old.parquet", "new.parquet", *BASIC, "--margin=0.2")[0] == 2
    wide = [option if option != "0.03" else "0.3" for option in BASIC]
    assert gate(capsys, "old.parquet", "new.parquet", *wide, "--method", "delong_unpaired")[0] == 0


def test_one_log_can_have_both_scores(capsys):
    ROWS.write_parquet("both.parquet")
    options = ["--label", "label", "--by", "segment", "--margin", "0.03"]
    assert gate(capsys, "both.parquet", *options, "--score", "old", "--score", "new")[0] == 0
    code, out, _ = gate(capsys, "both.parquet", *options, "--score", "old", "--score", "bad")
    assert code == 1
    # The scores of the two models are exchanged: the new model is better.
    code, out, _ = gate(capsys, "both.parquet", *options, "--score", "bad", "--score", "old")
    assert code == 0
    assert "  −0." in out


@pytest.mark.parametrize(("first", "text"), [("old", "NEW"), ("new", "OLD")])
def test_a_group_that_only_one_log_contains_fails(capsys, first, text):
    log("new", ROWS.filter(pl.col("segment") != "web")).write_parquet("part.parquet")
    logs = ["old.parquet", "part.parquet"] if first == "old" else ["part.parquet", "old.parquet"]
    code, out, _ = gate(capsys, *logs, *PAIRED)
    assert code == 1
    assert out.splitlines()[1].endswith(f"-  no decision: no rows in {text}")
    code, out, _ = gate(capsys, *logs, *PAIRED, "--min-rows", "20")
    assert code == 1
    assert f"no decision: no rows in {text}\n" in out


def test_the_same_log_twice_is_reported(capsys):
    code, out, err = gate(capsys, "old.parquet", "old.parquet", *PAIRED)
    assert (code, err) == (0, "rocframe: OLD and NEW contain the same file old.parquet.\n")
    assert out.count("non-inferior: identical scores\n") == 3


def test_rows_of_one_log_are_left_out_on_request(capsys):
    log("new", ROWS[:-3]).write_parquet("short.parquet")
    code, out, _ = gate(capsys, "old.parquet", "short.parquet", *PAIRED, "--unmatched", "drop")
    assert code == 0
    assert out.count("non-inferior: rows left out: 1\n") == 3


def test_a_group_column_can_have_the_name_model_or_log(capsys):
    for name in ("old", "new"):
        log(name).rename({"segment": "log", "id": "model"}).write_parquet(f"{name}.parquet")
    options = ["--by", "log", "--id", "model", *BASIC[:6]]
    assert gate(capsys, "old.parquet", "new.parquet", *options)[0] == 0


@pytest.mark.parametrize("old_resolution", [0.0625, None])
def test_logs_compressed_to_different_resolutions_are_an_error(capsys, old_resolution):
    for name, resolution in (("old", old_resolution), ("new", 0.5)):
        table = log(name).pipe(rf.compress, "label", "score", resolution=resolution)
        if resolution is None:
            table = table.drop("score_width")
        table.write_parquet(f"{name}.parquet")
    options = ["--label", "label", "--score", "score", "--margin", "0.3", "--count", "count"]
    code, _, text = gate(capsys, "old.parquet", "new.parquet", *options)
    assert code == 2
    assert text.startswith(
        "rocframe: score_width: the compared rows have scores that were rounded to different"
    )
    assert f"Widths in column 'score_width': new: 0.5; old: {old_resolution or 0.0}.\n" in text
    log("old").pipe(rf.compress, "label", "score", resolution=0.5).write_parquet("old.parquet")
    assert gate(capsys, "old.parquet", "new.parquet", *options)[0] == 0


def test_folders_and_several_id_columns(capsys):
    for name in ("old", "new"):
        for segment in ("app", "mail", "web"):
            folder = Path(name, f"segment={segment}")
            folder.mkdir(parents=True)
            part = log(name).filter(segment=segment).drop("segment").with_columns(day=1)
            part.write_parquet(folder / "part.parquet")
    code, _, _ = gate(capsys, "old", "new/*/*.parquet", *PAIRED, "--id", "day")
    assert code == 0


def test_other_metrics(capsys):
    for name in ("old", "new"):
        probability = (1 / (1 + (-pl.col(name)).exp())).alias(name)
        log(name, ROWS.with_columns(probability)).write_parquet(f"{name}.parquet")
    for metric, title in (
        ("brier", "Brier"),
        ("log_loss", "log loss"),
        ("average_precision", "AP"),
    ):
        code, out, _ = gate(capsys, "old.parquet", "new.parquet", *PAIRED, "--metric", metric)
        assert code == 0
        assert f"  {title} old  {title} new  worse by  " in out


RECALL = [*PAIRED, "--metric", "recall", "--quiet", "--out", "gate.parquet"]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--alert-rate", "0.2"], {"alert_rate": 0.2}),
        (["--alerts", "80"], {"alerts": 80}),
        (["--threshold", "1"], {"threshold": 1}),
        (["--threshold", "1", "--threshold=-1"], {"threshold": {"old": 1, "new": -1}}),
        (["--fpr", "0.1"], {"fpr": 0.1}),
        (["--specificity", "0.9"], {"specificity": 0.9}),
        (["--rule", "f_beta", "--beta", "2"], {"rule": "f_beta", "beta": 2}),
        (
            ["--rule", "tpr", "--subject-to", "precision=0.5:"],
            {"rule": "tpr", "subject_to": {"precision": (0.5, None)}},
        ),
        (["--metric", "auc", "--tpr", "0.5:1"], {"metric": "auc", "tpr": (0.5, 1)}),
        (
            ["--metric", "expected_cost", "--cost", "fp=1,fn=3", "--threshold", "1"],
            {"metric": "expected_cost", "costs": {"fp": 1, "fn": 3}, "threshold": 1},
        ),
        (["--threshold", "0"], {"threshold": 0.0}),
    ],
)
def test_options_of_points_are_the_arguments_of_gate(capsys, options, arguments):
    metric = options[:2] if options[0] == "--metric" else RECALL[-5:-3]
    rest = options[2:] if options[0] == "--metric" else options
    code, out, err = gate(capsys, "old.parquet", "new.parquet", *PAIRED, *metric, *RECALL[-3:],
                          *rest)  # fmt: skip
    assert (out, err) == ("", "")
    expected = rf.gate(ROWS, "label", ["old", "new"], baseline="old", margin=0.03, by="segment",
                       seed=0, **{"metric": "recall"} | arguments)  # fmt: skip
    written = rf.read("gate.parquet").sort("segment")
    values = ["segment", "verdict", "deterioration", "test"]
    assert_frame_equal(written.select(values), expected.select(values))
    assert code == (0 if expected["passed"].all() else 1)
    described = rf.about("gate.parquet")["options"]
    assert described["metric"] == arguments.get("metric", "recall")
    assert arguments.keys() <= described.keys()


def test_the_exit_code_is_that_of_the_metric_at_the_point(capsys):
    log("bad").write_parquet("bad.parquet")
    options = [option if option != "0.03" else "0.1" for option in PAIRED]
    options += ["--metric", "recall", "--alert-rate", "0.3"]
    code, out, _ = gate(capsys, "old.parquet", "new.parquet", *options)
    assert code == 0
    assert "recall old  recall new  worse by" in out
    assert "Test: bootstrap, level 0.95, adjustment holm." in out
    code, out, _ = gate(capsys, "old.parquet", "bad.parquet", *options)
    assert code == 1
    assert out.splitlines()[1].startswith("mail ")
    assert gate(capsys, "old.parquet", "new.parquet", *PAIRED, "--metric", "recall")[0] == 2


def test_logs_of_different_rows_have_tests_of_different_rows(capsys):
    for metric, test in (
        (["recall", "--threshold", "1"], "miettinen_nurminen"),
        (["average_precision"], "bootstrap_unpaired"),
    ):
        options = [*BASIC[:4], "--margin", "0.2", "--metric", *metric]
        code, out, _ = gate(capsys, "old.parquet", "new.parquet", *options)
        assert code == 0
        assert (
            f"Test: {test}, level 0.95, adjustment holm. The rows of the two logs are not paired"
        ) in out


@pytest.mark.slow
def test_a_closed_output_does_not_change_the_exit_code():
    log("bad").write_parquet("bad.parquet")
    read, write = os.pipe()
    os.close(read)
    program = "import sys; from rocframe.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "gate", "old.parquet", "bad.parquet", *PAIRED]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
