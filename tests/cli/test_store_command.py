from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
import rocframe.io.files
import rocframe.io.logs
from bench import kills
from rocframe.cli import main as cli
from rocframe.cli import tasks
from rocframe.io import tables
from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.report import _settings_list
from tests.all_cases import all_cases

DAYS = [date(2026, 11, 1) + timedelta(days=i) for i in range(3)]
LOG = pl.DataFrame(
    {
        "day": [day for day in DAYS for _ in range(4)],
        "model": ["a", "b"] * 6,
        "label": ["yes", "no", "no", "yes"] * 3,
        "score": [0.9, 0.4, 0.4, 0.1, 0.3, 0.8, 0.7, 0.7, 0.2, 0.5, 0.6, 0.4],
    }
)
OPTIONS = ["--label", "label", "--score", "score"]
STORE = [*OPTIONS, "--store", "store"]
CREATE = ["logs", *STORE, "--positive", "yes", "--by", "model", "--partition-by", "day"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)  # each page takes a second
    Path("logs").mkdir()
    for day in DAYS:
        write_log(day)


def write_log(day, log=LOG, name=None):
    """Write the log of a day, whose time of modification is not recent."""
    path = Path(f"logs/{name or day}.parquet")
    log.filter(day=day).write_parquet(path, compression="uncompressed")
    os.utime(path, (1e9, 1e9))
    return path


def correct_logs():
    """Change all scores in the logs, and return the rows."""
    log = LOG.with_columns(score=-pl.col("score"))
    for day in DAYS:
        log.filter(day=day).write_parquet(f"logs/{day}.parquet")
    return log


def run(*arguments):
    """Run `evaluate`; if an option that cannot be repeated is given twice, the last one is used."""
    words = [*map(str, arguments)]
    for option in ("--label", "--store", "--partition-by", "--out"):
        while words.count(option) > 1:
            first = words.index(option)
            del words[first : first + 2]
    return cli.main(["evaluate", *words])


def evaluate(capsys, *arguments):
    """Return the lines about the store and the messages of a successful command."""
    code = run("--out", "out", *arguments)
    captured = capsys.readouterr()
    errors = re.sub(r"rocframe: (the page was|The column|  ).*\n", "", captured.err)
    assert code == 0, captured.err
    return captured.out.split("\n\n")[1].splitlines(), errors


def error_of(capsys, *arguments):
    code = run("--out", "out", *arguments)
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    return captured.err.removeprefix("rocframe: ").removesuffix("\n")


def files():
    return {str(path): path.read_bytes() for path in Path("store").rglob("*") if path.is_file()}


def parts(folder="store"):
    """Return the paths of the parts of a store."""
    return sorted(map(str, Path(folder).rglob("*.parquet")))


def day_of(part):
    return Path(part).parent.name.removeprefix("day=")


def areas(log=LOG, by="model", **options):
    return rf.auc(log, "label", "score", by=by, positive="yes", **options)


def assert_areas(log=LOG, by="model"):
    assert_frame_equal(rf.read("out/auc.parquet"), areas(log, by))


def test_the_tables_are_those_of_all_logs(capsys):
    lines, errors = evaluate(capsys, *CREATE)
    assert errors == ""
    assert lines == ["store: 3 logs, day 2026-11-01 to 2026-11-03", "3 added"]
    assert_areas()
    metrics = ["recall", "precision"]
    curves = rf.curve(LOG, "label", "score", by="model", positive="yes", metrics=metrics)
    assert_frame_equal(rf.read("out/curves.parquet"), curves)
    metadata = rf.about("out/auc.parquet")
    names = ("label", "score", "positive", "count", "rows", "store", "days", "resolution")
    assert {name: metadata[name] for name in names} == {
        "label": "label",
        "score": ["score"],
        "positive": "yes",
        "count": None,
        "rows": 12,
        "store": "store",
        "days": "2026-11-01 to 2026-11-03",
        "resolution": None,
    }
    assert metadata["files"] == [str(Path(f"logs/{day}.parquet").resolve()) for day in DAYS]


def test_a_second_run_reads_no_log_and_changes_no_part(capsys, monkeypatch):
    evaluate(capsys, *CREATE)
    before = files()

    def fail(*_):
        raise AssertionError

    monkeypatch.setattr("rocframe.cli.sources.open_logs", fail)
    monkeypatch.setattr("rocframe.io.store_update.file_digest", fail)
    assert evaluate(capsys, *CREATE)[0][1:] == ["3 unchanged"]
    assert files() == before
    assert_areas()


@pytest.mark.slow
def test_a_log_with_a_new_time_but_the_same_content_is_unchanged(capsys, monkeypatch):
    evaluate(capsys, *CREATE)
    path = write_log(DAYS[1])
    os.utime(path, (2e9, 1.1e9))
    assert evaluate(capsys, *CREATE)[0][1:] == ["3 unchanged"]
    monkeypatch.setattr("rocframe.io.store_update.file_digest", None)  # the new time is stored
    assert evaluate(capsys, *CREATE)[0][1:] == ["3 unchanged"]


@pytest.mark.slow
def test_a_log_that_was_changed_just_now_is_compared_by_its_content(capsys):
    path = write_log(DAYS[1])
    os.utime(path, None)
    evaluate(capsys, *CREATE)
    status = path.stat()
    changed = LOG.with_columns(score=1 - pl.col("score"))
    changed.filter(day=DAYS[1]).write_parquet(path, compression="uncompressed")
    assert path.stat().st_size == status.st_size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert evaluate(capsys, *CREATE)[0][1] == "1 replaced, 2 unchanged"


def test_a_late_log_is_added_and_a_corrected_log_replaces_its_own_parts(capsys):
    Path(f"logs/{DAYS[0]}.parquet").unlink()
    evaluate(capsys, *CREATE)
    kept = set(parts())
    write_log(DAYS[0])
    assert evaluate(capsys, *CREATE)[0][1:] == ["1 added, 2 unchanged"]
    assert_areas()
    corrected = LOG.with_columns(
        label=pl.when(day=DAYS[0]).then(pl.lit("yes")).otherwise("label"),
        day=pl.when(pl.col("score") == 0.4, day=DAYS[0]).then(DAYS[1]).otherwise("day"),
    )
    path = Path(f"logs/{DAYS[0]}.parquet")
    corrected.head(4).write_parquet(path)
    lines, _ = evaluate(capsys, *CREATE)
    assert lines[1:] == ["1 replaced, 2 unchanged", f"replaced: {path}"]
    assert_areas(corrected)
    names = sorted(map(day_of, parts()))
    assert names == ["2026-11-01", "2026-11-02", "2026-11-02", "2026-11-03"]
    assert set(parts()) >= kept
    corrected.clear().write_parquet(path)
    evaluate(capsys, *CREATE)
    assert_areas(LOG.filter(pl.col("day") > DAYS[0]))
    assert evaluate(capsys, *CREATE)[0][1] == "3 unchanged"


@pytest.mark.slow
def test_the_rows_of_a_log_that_no_longer_exists_are_kept(capsys):
    evaluate(capsys, *CREATE)
    path = Path(f"logs/{DAYS[0]}.parquet").resolve()
    path.unlink()
    lines, errors = evaluate(capsys, *CREATE)
    assert lines[1:] == ["2 unchanged", f"The store keeps the rows of 1 deleted log: {path}"]
    assert errors == ""
    assert_areas()


@pytest.mark.slow
def test_the_same_log_under_two_names_is_one_log(capsys):
    Path("link").symlink_to("logs")
    evaluate(capsys, "link", Path("logs").resolve(), *CREATE)
    assert evaluate(capsys, "link", *CREATE[1:])[0][1:] == ["3 unchanged"]
    assert len(parts()) == 3


@pytest.mark.slow
def test_a_moved_log_is_not_counted_twice(capsys):
    evaluate(capsys, *CREATE)
    Path(f"logs/{DAYS[0]}.parquet").rename("logs/x.parquet")
    shutil.copy("logs/x.parquet", "logs/copy.parquet")  # a second log with the same content
    lines, _ = evaluate(capsys, *CREATE)
    assert lines[1:] == ["1 added, 1 moved, 2 unchanged", "moved: logs/copy.parquet"]
    assert_areas(pl.concat([LOG, LOG.filter(day=DAYS[0])]))
    Path("logs/x.parquet").unlink()
    lines, _ = evaluate(capsys, *CREATE)
    assert lines[2].startswith("The store keeps the rows of 1 deleted log: ")
    assert_areas(pl.concat([LOG, LOG.filter(day=DAYS[0])]))


@pytest.mark.parametrize("content", [b"", pytest.param(b"PAR1 truncated", marks=pytest.mark.slow)])
def test_an_unreadable_log_keeps_its_earlier_rows(capsys, content):
    evaluate(capsys, *CREATE)
    before = files()
    path = Path(f"logs/{DAYS[0]}.parquet")
    path.write_bytes(content)
    assert error_of(capsys, *CREATE).startswith(f"{path}: the ")
    assert files() == before
    lines, errors = evaluate(capsys, *CREATE, "--skip-unreadable")
    assert lines[1] == "2 unchanged, 1 skipped"
    assert errors.startswith(f"rocframe: skipped {path}: the ")
    assert files() == before
    assert_areas()


@pytest.mark.slow
def test_a_damaged_part_is_named_and_its_log_is_read_again_after_the_part_is_deleted(capsys):
    evaluate(capsys, *CREATE)
    part = next(Path("store/day=2026-11-02").iterdir())
    content = bytearray(part.read_bytes())
    for damaged in (content[:100] + b"x" + content[101:], content[:50], b""):
        part.write_bytes(damaged)
        message = error_of(capsys, *STORE)
        assert message.startswith(f"{part}: a part of the store cannot be read: the ")
        assert message.endswith(PART_HINT)
    part.unlink()
    assert evaluate(capsys, *CREATE)[0][1] == "1 replaced, 2 unchanged"
    assert_areas()


@pytest.mark.slow
def test_files_that_the_manifest_does_not_list_are_ignored(capsys):
    evaluate(capsys, *CREATE)
    before = files()
    part = next(Path("store/day=2026-11-02").iterdir())
    copy, stale = part.with_name("copy.parquet"), part.with_name("part-0123456789abcdef.parquet")
    old_day = Path("store/day=2026-10-31") / stale.name
    old_day.parent.mkdir()
    for path in (copy, stale, old_day):  # `stale` and `old_day` have the names of parts
        shutil.copy(part, path)
    evaluate(capsys, *STORE, "--by", "model")
    assert_areas()
    assert rf.scan("store").select(pl.col("count").sum()).collect().item() == LOG.height
    assert rf.scan(part.parent).select(pl.col("count").sum()).collect().item() == 4
    logs = ["store", *OPTIONS, "--by", "model", "--count", "count"]
    assert run(*logs, "--out", "out") == 0
    capsys.readouterr()
    assert rf.read("out/auc.parquet")["n_pos"].sum() == 6
    assert evaluate(capsys, *CREATE)[0][1] == "3 unchanged"
    assert files() == {**before, str(copy): part.read_bytes()}
    assert not old_day.parent.exists()


WRONG = [
    (["--resolution", "0.01"], "--resolution 0.01: the store 'store' has no --resolution.\n"),
    (["--max-envelope", "0.1"], "--max-envelope 0.1: the store 'store' has no --resolution.\n"),
    (["--max-envelope", "5"], "--max-envelope 5.0: expected a number above 0 and below 1.\n"),
    (["--positive", "no"], "--positive no: the store 'store' has --positive yes.\n"),
    (["--label", "model"], "--label model: the store 'store' has --label label.\n"),
    (["--weight", "score"], "--weight score: the store 'store' has no --weight.\n"),
    (["--by", "x"], "--by x: the store 'store' has --by day --by model.\n"),
    (["--partition-by", "x"], "--partition-by x: the store 'store' has --partition-by day.\n"),
    (["--since", "2027-01-01"], "--since 2027-01-01: the store has no rows in this window.\n"),
    (["--until", "x"], "--until x: expected a date.\nUse, for example, --until 2026-11-01."),
    (["--last", "7"], '--last 7: expected a number and one of the units "d", '),
    (["--last", "7d", "--since", "2026-11-01"], "--last: --since is given as well.\n"),
    (["--relative"], "--relative: --resolution is not given.\n"),
    (["--id", "day"], "--id day: a store has no columns that identify rows, "),
    (["--out", "store/out"], "store/out: the path is in the store 'store'.\n"),
    (["logs", "--store", "loop"], "loop: the folder cannot be created: File exists.\n"),
    (["--stor", "x"], "Unknown option: --stor. Did you mean --store?"),
    (["--store", "gone"], "gone: the store does not exist.\nCheck the path, or"),
    (["--store", "empty"], "empty: the store is empty.\nCheck the path, or add logs with "),
    (["logs", "--store", "new", "--last", "7d"], "--last 7d: the store 'new' has no --part"),
    (["logs", "--store", "new"], f"logs/{DAYS[0]}.parquet: --label label: the positive class "),
    (
        ["logs", "--store", "new", "--positive", "Yes"],
        f"logs/{DAYS[0]}.parquet: --positive Yes: no label of column 'label' has this value.\n",
    ),
    (
        ["logs", "--store", "new", "--positive", "yes", "--partition-by", "score"],
        f"logs/{DAYS[0]}.parquet: --partition-by score: the column has type Float64.\n",
    ),
]


@pytest.mark.slow
def test_wrong_options_raise_an_error_and_change_nothing(capsys):
    Path("empty").mkdir()
    Path("loop").symlink_to("loop")
    evaluate(capsys, *CREATE)
    before = files()
    with all_cases() as case:
        for arguments, text in WRONG:
            with case(arguments):
                code = run(*STORE, "--out", "out", *arguments)
                assert capsys.readouterr().err.startswith(f"rocframe: {text}")
                assert code == 2
                assert files() == before
                assert not Path("new").exists()


@pytest.mark.slow
def test_options_that_are_not_given_are_those_of_the_store(capsys):
    evaluate(capsys, *CREATE, "--resolution", "0.25")
    rounded = LOG.with_columns(pl.col("score") // 0.25 * 0.25)
    assert_areas(rounded)
    evaluate(capsys, "logs", *STORE, "--by", "day", "--resolution", "0.3")  # also 0.25
    assert_areas(rounded, "day")
    evaluate(capsys, *STORE)
    assert_areas(rounded, None)


@pytest.mark.slow
def test_several_scores_weights_and_counts(capsys):
    log = LOG.with_columns(other=1 - pl.col("score"), w=pl.lit(2), count=pl.lit(3))
    for day in DAYS:
        write_log(day, log)
    assert error_of(capsys, *CREATE).startswith("--count: the log has a column named 'count'")
    evaluate(capsys, "logs", *STORE, "--positive", "yes", "--by", "day", "--score", "other",
             "--weight", "w", "--count", "count")  # fmt: skip
    expected = rf.auc(
        log, "label", ["score", "other"], by="day", positive="yes", weight="w", count="count"
    )
    assert_frame_equal(rf.read("out/auc.parquet"), expected)


@pytest.mark.slow
def test_relative_resolutions_and_envelopes(capsys):
    for options in (["--resolution", "0.25", "--relative"], ["--max-envelope", "0.3"]):
        evaluate(capsys, *CREATE, *options)
        result, exact = rf.read("out/auc.parquet"), areas()
        assert (result["auc_pessimistic"] <= exact["auc"]).all()
        assert (result["auc_optimistic"] >= exact["auc"]).all()
        shutil.rmtree("store")


@pytest.mark.slow
@pytest.mark.parametrize("as_text", [False, True])
def test_a_window_selects_days(capsys, as_text):
    for day in DAYS:
        write_log(day, LOG.with_columns(text=pl.col("day").cast(pl.String)))
    evaluate(capsys, *CREATE, "--partition-by", "text" if as_text else "day")
    for window, days in [
        (["--since", "2026-11-02"], DAYS[1:]),
        (["--until", "2026-11-02"], DAYS[:2]),
        (["--since", "2026-11-02", "--until", "2026-11-02"], DAYS[1:2]),
        (["--last", "2d"], DAYS[1:]),
        (["--last", "1mo"], DAYS),
        (["--last", "1d", "--until", "2026-11-02"], DAYS[1:2]),
    ]:
        lines, _ = evaluate(capsys, *STORE, "--by", "model", *window)
        assert_areas(LOG.filter(pl.col("day").is_in(days)))
        ends = str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}"
        assert lines[0].endswith(f"; evaluated: {ends}" if len(days) < 3 else "2026-11-03")


@pytest.mark.parametrize(
    ("values", "all_values", "until"),
    [
        (["10", "9", "2"], "10 to 9", "2"),
        (["²", "--5", "a"], "--5 to ²", "a"),
        ([10, 9, -2], "-2 to 10", 9),
    ],
)
def test_text_is_ordered_as_text_and_integers_as_integers(capsys, values, all_values, until):
    log = LOG.with_columns(key=pl.col("day").replace_strict(dict(zip(DAYS, values, strict=True))))
    for day in DAYS:
        write_log(day, log)
    lines, _ = evaluate(capsys, *CREATE, "--partition-by", "key")
    assert lines[0] == f"store: 3 logs, key {all_values}"
    lines, _ = evaluate(capsys, *STORE, "--by", "model", "--until", until)
    assert_areas(log.filter(pl.col("key") <= until))
    assert lines[0].endswith(f"; evaluated: {min(values)} to {until}")
    error = error_of(capsys, *STORE, "--last", "²")
    if until == 9:
        assert error.startswith("--last ²: expected an int, because the times are integers.\n")
    else:
        assert error.startswith("--last ²: the days of the store are text, and not all are dates ")


@pytest.mark.slow
def test_integers_are_windows_and_times_are_converted_to_dates(capsys):
    log = LOG.with_columns(batch=pl.int_range(pl.len()) // 4, time=pl.col("day").cast(pl.Datetime))
    for day in DAYS:
        write_log(day, log)
    evaluate(capsys, *CREATE, "--partition-by", "batch", "--last", "2")
    assert_areas(LOG.filter(pl.col("day") > DAYS[0]))
    evaluate(capsys, *CREATE, "--store", "times", "--partition-by", "time", "--last", "1d")
    assert_areas(LOG.filter(day=DAYS[2]))
    assert rf.scan("times").collect_schema()["time"] == pl.Date


@pytest.mark.slow
def test_a_log_without_positives_is_added_with_a_message(capsys):
    write_log(DAYS[0], LOG.with_columns(label=pl.lit("no")))
    _, errors = evaluate(capsys, *CREATE)
    path = f"logs/{DAYS[0]}.parquet"
    assert errors == f"rocframe: no row with the positive class 'yes' in {path}.\n"
    assert rf.read("out/auc.parquet")["n_neg"].sum() == 8


def test_a_log_with_missing_scores_is_named_and_not_added(capsys):
    evaluate(capsys, *CREATE)
    before = files()
    holes = LOG.filter(day=DAYS[0]).with_columns(
        score=pl.when(pl.int_range(pl.len()) > 1).then("score")
    )
    holes.write_parquet("logs/holes.parquet")
    assert error_of(capsys, *CREATE) == (
        "logs/holes.parquet: the score is null or NaN in 2 rows.\n"
        "Correct the log, or pass --missing drop, which leaves out these rows."
    )
    assert files() == before
    assert evaluate(capsys, *CREATE, "--missing", "drop")[0][1] == "1 added, 3 unchanged"


def test_scores_of_a_store_are_compared_before_there_are_labels(capsys):
    last = LOG.filter(day=DAYS[-1]).with_columns(label=pl.lit(None, pl.String))
    last.write_parquet(f"logs/{DAYS[-1]}.parquet")
    _, errors = evaluate(capsys, *CREATE, "--missing", "drop")
    assert errors == f"rocframe: no row with a label and a score in logs/{DAYS[-1]}.parquet.\n"
    options = {"over": "day", "by": "model", "bins": [0, 0.3, 0.6, 1]}
    found = rf.score_drift(rf.scan("store"), "score", count="count", **options).collect()
    assert_frame_equal(found, rf.score_drift(LOG, "score", **options))
    assert found["psi"].null_count() < found.height


def test_a_run_states_which_rows_and_logs_are_not_used(capsys):
    log = LOG.filter(day=DAYS[0])
    log.with_columns(day=pl.lit(None, pl.Date)).write_parquet("logs/no_day.parquet")
    log.clear().write_parquet("logs/no_rows.parquet")
    log.with_columns(score=pl.lit(None, pl.Float64)).write_parquet("logs/no_scores.parquet")
    lines, errors = evaluate(capsys, *CREATE, "--missing", "drop")
    assert errors == (
        "rocframe: no row with a label and a score in logs/no_rows.parquet, "
        "logs/no_scores.parquet.\n"
    )
    null_days = "4 rows without a day, which --since, --until and --last leave out"
    assert lines[1:] == ["6 added", null_days]
    lines, errors = evaluate(capsys, *STORE, "--missing", "drop")
    assert (lines[1:], errors) == ([null_days], "")


@pytest.mark.parametrize("option", [["--since", "2026-11-01"], ["--last", "7d"]])
def test_a_window_of_a_store_without_days_raises_an_error(capsys, option):
    LOG.with_columns(day=pl.lit(None, pl.Date)).write_parquet("no_day.parquet")
    assert error_of(capsys, "no_day.parquet", *CREATE[1:], *option) == (
        f"{' '.join(option)}: the store has no rows in this window.\n"
        "The column 'day' of the store is null in all rows."
    )


def test_rounded_scores_and_pooled_models_are_stated(capsys):
    columns = ["--store", "store", "--positive", "yes", "--partition-by", "day"]
    assert run("logs", *OPTIONS, *columns, "--resolution", "0.5", "--out", "out") == 0
    captured = capsys.readouterr()
    assert (
        "rocframe: The column model is not a group column, so rows with different values of it "
        "are pooled. Add --by model to evaluate these rows separately.\n"
    ) in captured.err
    area = rf.read("out/auc.parquet")
    width = (area["auc_optimistic"] - area["auc_pessimistic"]).item()
    assert (
        f"\n3 added\nRounded scores: the AUC is known to within {width:.2g}. For a closer value, "
        "create a store with a finer --resolution.\n"
    ) in captured.out
    settings = page_settings(area)
    assert settings["Rounded scores"] == "rounded down, --resolution 0.5"
    assert settings["Days"] == "2026-11-01 to 2026-11-03"


def page_settings(area):
    options = ReportOptions(label="label", score="score", count="count")
    return dict(_settings_list(area, options, rf.about("out/auc.parquet"), {}))


def test_all_damaged_logs_are_named(capsys):
    for day in DAYS[:2]:
        Path(f"logs/{day}.parquet").write_bytes(b"")
    for store in (STORE, OPTIONS):
        assert error_of(capsys, "logs", *store) == (
            f"logs/{DAYS[0]}.parquet: the file is empty (0 bytes); these files cannot be read "
            f"either: logs/{DAYS[1]}.parquet.\nWrite or download the file again, or skip "
            "unreadable files with --skip-unreadable."
        )


def test_a_folder_of_a_store_is_not_a_store(capsys):
    evaluate(capsys, *CREATE)
    assert error_of(capsys, *STORE, "--store", "store/day=2026-11-02") == (
        "store/day=2026-11-02: the folder is one day of a store.\nDid you mean --store store?"
    )


def test_the_current_folder_can_be_the_store(capsys, monkeypatch):
    Path("store").mkdir()
    monkeypatch.chdir("store")
    options = ["--store", ".", "--out", "../out"]
    for changes in ("3 added", "3 unchanged"):
        lines, _ = evaluate(capsys, "../logs", *CREATE[1:], *options)
        assert lines == [".: 3 logs, day 2026-11-01 to 2026-11-03", changes]
    monkeypatch.chdir("..")
    evaluate(capsys, *STORE, "--by", "model")
    assert_areas()
    monkeypatch.chdir("store/day=2026-11-02")
    assert error_of(capsys, *OPTIONS, "--store", ".", "--out", "../../out") == (
        f".: the folder is one day of a store.\nDid you mean --store {Path.cwd().parent}?"
    )


@pytest.mark.slow
def test_the_store_can_be_in_the_folder_of_the_logs(capsys):
    for _ in range(2):
        lines, _ = evaluate(capsys, *CREATE, "--store", "logs/store")
    assert lines[1] == "3 unchanged"


@pytest.mark.slow
def test_a_column_with_another_type_names_the_log_and_a_part(capsys):
    evaluate(capsys, *CREATE)
    path = write_log(DAYS[0], LOG.with_columns(model=pl.lit(1)), name="other")
    part = next(Path("store/day=2026-11-01").iterdir())
    assert error_of(capsys, *CREATE, "--skip-unreadable") == (
        f"{path}: column 'model' has type Int64, but type String in the store, such as in "
        f"'{part}'.\nCast the column of one of the logs, or use another folder as --store for it."
    )


def test_a_store_that_cannot_be_changed_can_be_evaluated(capsys, monkeypatch):
    evaluate(capsys, *CREATE)

    def fail(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rocframe.io.logs.exclusive_lock", fail)
    assert error_of(capsys, *CREATE) == (
        "store: the store cannot be changed: Permission denied.\n"
        "Make the folder writable. To read the store only, name no log files in the command."
    )
    evaluate(capsys, *STORE, "--by", "model")
    assert_areas()


SCRIPT = """
import sys
from rocframe.cli import main, tasks
tasks.find_spec = lambda _: None
sys.exit(main.main())
"""


def start(*arguments, script=SCRIPT):
    return subprocess.Popen(
        [sys.executable, "-c", script, "evaluate", *CREATE, "--quiet", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(rf.__file__).parents[1])},
    )


def write_many_logs():
    """Write logs with several days each, so that each log has several parts."""
    rows = [LOG.with_columns(day=LOG["day"] + timedelta(days=i)) for i in range(20)]
    for i, log in enumerate(rows):
        log.write_parquet(f"logs/x{i}.parquet")
    return pl.concat([LOG, *rows])


def killed_in(function, call):
    """Run an update in a process that is killed in the given call of a function."""
    script = f"""
import os, signal
from rocframe.io import store_update
from rocframe.io import logs as store
calls, original = [], {function}
def kill(*args, **kwargs):
    calls.append(args)
    if len(calls) == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **kwargs)
{function} = kill
{SCRIPT}"""
    assert start("--out", "out", script=script).wait() == -signal.SIGKILL


def test_a_reader_after_a_killed_update_returns_the_earlier_state(capsys):
    log = pl.concat(LOG.with_columns(day=LOG["day"] + timedelta(3 * i)) for i in range(4))
    changed = log.with_columns(score=-pl.col("score"))
    for path in Path("logs").iterdir():
        path.unlink()
    log.write_parquet("logs/log.parquet")
    evaluate(capsys, *CREATE)
    before = parts()
    changed.write_parquet("logs/log.parquet")
    killed_in("store_update.write", 6)  # five of twelve parts are written
    assert len(parts()) > len(before) - 1  # the old code replaced parts one after the other
    evaluate(capsys, *STORE, "--by", "model")
    assert_areas(log)
    assert rf.scan("store").collect()["score"].min() > 0
    lines, _ = evaluate(capsys, *CREATE)
    assert lines[1] == "1 replaced"
    assert_areas(changed)
    assert (len(parts()), set(parts()) & set(before)) == (len(before), set())


@pytest.mark.slow
def test_a_reader_after_a_kill_that_follows_the_publication_returns_the_new_state(capsys):
    evaluate(capsys, *CREATE)
    changed = correct_logs()
    killed_in("store.Store.remove_unlisted_parts", 1)
    assert len(parts()) == 6
    evaluate(capsys, *STORE, "--by", "model")
    assert_areas(changed)
    assert evaluate(capsys, *CREATE)[0][1] == "3 unchanged"
    assert len(parts()) == 3


@pytest.mark.slow
def test_a_store_whose_first_update_was_killed_is_empty(capsys):
    killed_in("store_update.write", 2)
    assert len(parts()) == 1
    assert error_of(capsys, *STORE) == (
        "store: the store is empty.\n"
        "Check the path, or add logs with rocframe evaluate LOG --store."
    )
    with pytest.raises(rf.StorageError, match="the folder contains no Parquet files"):
        rf.scan("store")
    evaluate(capsys, *CREATE, "--resolution", "0.25")
    assert_areas(LOG.with_columns(pl.col("score") // 0.25 * 0.25))
    assert len(parts()) == 3


def test_an_update_with_an_error_changes_nothing(capsys, monkeypatch):
    evaluate(capsys, *CREATE)
    before = files()
    correct_logs()
    calls = []

    def fail(table, path, **options):
        calls.append(path)
        if len(calls) == 3:
            raise rf.StorageError.compose(path, "the disk is full", "Delete files.")
        rf.write(table, path, **options)

    monkeypatch.setattr("rocframe.io.store_update.write", fail)
    assert error_of(capsys, *CREATE) == f"{calls[2]}: the disk is full.\nDelete files."
    assert files() == before


def test_an_interrupt_after_the_publication_keeps_the_new_parts(capsys, monkeypatch):
    evaluate(capsys, *CREATE)
    changed = correct_logs()
    flush = rocframe.io.files.flush_to_disk

    def interrupt(path):
        if Path(path).name == "store":  # the folder is flushed after the manifest was replaced
            raise KeyboardInterrupt
        flush(path)

    with monkeypatch.context() as patch:
        patch.setattr("rocframe.io.files.flush_to_disk", interrupt)
        assert run("--out", "out", *CREATE) != 0
    capsys.readouterr()
    evaluate(capsys, *STORE, "--by", "model")
    assert_areas(changed)


def test_a_store_of_another_format_is_named(capsys):
    evaluate(capsys, *CREATE)
    manifest = Path("store/_rocframe_store.json")
    content = json.loads(manifest.read_text())
    del content["checksum"]
    content["version"] = 2
    content["checksum"] = rocframe.io.logs._content_digest(content)
    manifest.write_text(json.dumps(content))
    assert error_of(capsys, *STORE) == (
        "store/_rocframe_store.json: the store has the format 2 of another version.\n"
        "Use the version of rocframe that wrote the store, or create a new store."
    )


def test_other_files_may_have_an_entry_store_in_their_metadata(tmp_path):
    table = pl.DataFrame({"shop": [1, 2]})
    folder = tmp_path / "tables"
    folder.mkdir()
    rf.write(table, folder / "a.parquet", about={"store": "Zurich"})
    assert_frame_equal(rf.scan(folder).collect(), table)


def test_a_reader_in_the_middle_of_an_update_returns_the_earlier_state(capsys, monkeypatch):
    evaluate(capsys, *CREATE)
    changed, rows = correct_logs(), rf.scan("store").collect()
    calls = []

    def write_then_read(table, path, **options):
        rf.write(table, path, **options)
        calls.append(path)
        if len(calls) < 3:
            evaluate(capsys, *STORE, "--by", "model")
            assert_areas()
            assert_frame_equal(rf.scan("store").collect(), rows)

    monkeypatch.setattr("rocframe.io.store_update.write", write_then_read)
    assert run(*CREATE, "--out", "out2") == 0
    assert len(calls) == 3
    assert_frame_equal(rf.read("out2/auc.parquet"), areas(changed))


@pytest.mark.parametrize("reader", ["evaluate", "scan"])
def test_a_reader_beside_an_update_returns_one_state(capsys, monkeypatch, reader):
    evaluate(capsys, *CREATE)
    changed = LOG.with_columns(score=-pl.col("score"))
    original, calls = tables.check_file, []

    def update_then_check(path, **options):
        calls.append(path)
        if len(calls) == 2:  # the reader has already read one part
            correct_logs()
            assert run(*CREATE, "--quiet", "--out", "out2") == 0
        return original(path, **options)

    monkeypatch.setattr(tables, "check_file", update_then_check)
    if reader == "evaluate":
        evaluate(capsys, *STORE, "--by", "model")
        assert_areas(changed)
    else:
        assert rf.scan("store").collect()["score"].max() < 0


DAMAGED = "the file is damaged: its content does not match its checksum"
PART_HINT = (
    "Restore this file. Otherwise, delete it and run the command with the logs, which reads its "
    "log again. If the log no longer exists, add --drop-missing-parts."
)


def test_a_missing_or_unreadable_part_is_named(capsys):
    evaluate(capsys, *CREATE)
    part = Path(next(part for part in parts() if day_of(part) == "2026-11-02"))
    content = part.read_bytes()
    damaged = bytearray(content)
    damaged[100] ^= 1
    for change, problem in [
        (lambda: part.write_bytes(damaged), DAMAGED),
        (part.unlink, "the file does not exist"),
        (part.mkdir, "it is a folder"),
        (lambda: shutil.rmtree(part.parent), "the file does not exist"),
    ]:
        change()
        text = f"{part}: a part of the store cannot be read: {problem}.\n{PART_HINT}"
        assert error_of(capsys, *STORE) == text
        with pytest.raises(rf.StorageError) as error:
            rf.scan("store")
        assert str(error.value).endswith(f"{problem}.\n{PART_HINT}")
        assert f"path={str(part)!r}" in str(error.value)
    evaluate(capsys, *STORE, "--by", "model", "--until", "2026-11-01")  # does not need this part
    assert_areas(LOG.filter(day=DAYS[0]))


def test_missing_parts_are_read_again_or_dropped_on_request(capsys):
    evaluate(capsys, *CREATE)
    for day in DAYS[:2]:
        shutil.rmtree(f"store/day={day}")
    assert evaluate(capsys, *CREATE)[0][1] == "2 replaced, 1 unchanged"
    assert_areas()
    for day in DAYS[:2]:
        Path(f"logs/{day}.parquet").unlink()
    shutil.rmtree(f"store/day={DAYS[0]}")
    part = "store/day=2026-11-01/part-"
    assert error_of(capsys, *CREATE).startswith(f"{part}")
    assert error_of(capsys, *STORE).startswith(f"{part}")
    lines, _ = evaluate(capsys, *STORE, "--by", "model", "--drop-missing-parts")
    assert re.sub("part-.{16}", "part-x", lines[1]) == (
        "The store no longer lists 1 missing file: day=2026-11-01/part-x.parquet"
    )
    assert_areas(LOG.filter(pl.col("day") > DAYS[0]))
    lines, _ = evaluate(capsys, *CREATE)
    assert lines[0] == "store: 2 logs, day 2026-11-02 to 2026-11-03"
    shutil.rmtree("store/day=2026-11-02")
    shutil.rmtree("store/day=2026-11-03")
    Path("logs/2026-11-03.parquet").unlink()
    text = (
        "store: the store is empty.\n"
        "Check the path, or add logs with rocframe evaluate LOG --store."
    )
    assert error_of(capsys, *STORE, "--drop-missing-parts") == text
    assert list(Path("store").iterdir()) == []


RESTORE_HINT = (
    "Restore this file from a backup, or create a new store: run the command with all logs and "
    "another folder as --store."
)


def test_a_missing_or_damaged_manifest_is_named(capsys):
    evaluate(capsys, *CREATE)
    manifest = Path("store/_rocframe_store.json")
    content = manifest.read_bytes()
    problem = "the list of the files of the store is damaged"
    for damaged in (
        content[:-9],
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        content.replace(b'"size": ', b'"size": 1', 1),
        content.replace(b"2026-11-02", b"2026-11-03"),
    ):
        manifest.write_bytes(damaged)
        for arguments in (STORE, CREATE, ["store", *OPTIONS]):
            text = f"store/_rocframe_store.json: {problem}.\n{RESTORE_HINT}"
            assert error_of(capsys, *arguments) == text
        for folder in ("store", "store/day=2026-11-02"):
            with pytest.raises(rf.StorageError, match=problem):
                rf.scan(folder)
    manifest.unlink()
    first = parts()[0]
    problem = f"the file does not exist, although the folder contains {first!r}"
    for arguments in (STORE, CREATE):
        assert error_of(capsys, *arguments) == f"{manifest}: {problem}.\n{RESTORE_HINT}"
    with pytest.raises(rf.StorageError) as error:
        rf.scan("store")
    assert str(error.value) == f"path={str(manifest)!r}: {problem}.\n{RESTORE_HINT}"
    assert error_of(capsys, *STORE, "--store", "logs").startswith(
        f"logs/_rocframe_store.json: the file does not exist, although the folder contains "
        f"'logs/{DAYS[0]}.parquet'.\n"
    )
    manifest.write_bytes(content)
    assert evaluate(capsys, *CREATE)[0][1] == "3 unchanged"


@pytest.mark.slow
def test_kills_at_random_moments_leave_the_state_before_or_after_an_update(tmp_path):
    folder = tmp_path / "trial"
    folder.mkdir()
    result = kills.trial(folder, n_kills=3, n_readers=1, seed=5)
    assert result.errors == []
    assert result.counts["kills"] == 3


@pytest.mark.slow
def test_two_simultaneous_runs_do_not_damage_the_store():
    log = write_many_logs()
    for _ in range(3):
        processes = [start("--out", f"out{i}") for i in range(2)]
        assert [process.wait() for process in processes] == [0, 0]
        for i in range(2):
            assert_frame_equal(rf.read(f"out{i}/auc.parquet"), areas(log))
        assert rf.scan("store").collect()["count"].sum() == log.height
        log = log.with_columns(score=log["score"] / 2)
        for path in Path("logs").iterdir():
            one = pl.read_parquet(path)
            one.with_columns(score=one["score"] / 2).write_parquet(path)


@pytest.mark.slow
def test_a_run_waits_for_the_lock_of_another_process(capsys, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    Path("store").mkdir()
    lock = Path("store/.rocframe.lock").open("w")  # noqa: SIM115
    fcntl.flock(lock, fcntl.LOCK_EX)
    monkeypatch.setattr("rocframe.io.files.sleep", lambda _: lock.close())
    evaluate(capsys, *CREATE)
    assert_areas()
    assert not Path("store/.rocframe.lock").exists()


def test_temporary_files_of_killed_processes_are_removed(capsys):
    evaluate(capsys, *CREATE)
    stale = Path("store/day=2026-11-02/.rocframe-0123456789ab-0123.tmp")
    stale.write_bytes(b"x")
    Path("store/.rocframe.lock").touch()
    assert evaluate(capsys, *CREATE)[0][1] == "3 unchanged"
    assert not stale.exists()
    assert not Path("store/.rocframe.lock").exists()


@pytest.mark.slow
def test_times_with_a_time_zone_are_dates_of_this_time_zone(capsys):
    times = pl.Series([datetime(2026, 11, 1, 23, 30, tzinfo=UTC)])
    for day in DAYS:
        rows = LOG.filter(day=day)
        times = times.dt.convert_time_zone("Europe/Berlin").new_from_index(0, rows.height)
        rows.with_columns(time=times).write_parquet(f"logs/{day}.parquet")
    evaluate(capsys, *CREATE, "--partition-by", "time")
    assert rf.scan("store").collect()["time"].unique().to_list() == [date(2026, 11, 2)]


def test_copies_of_logs_are_a_warning(capsys):
    write_log(DAYS[0], name="empty", log=LOG.clear())
    evaluate(capsys, *CREATE)
    shutil.copytree("logs", "copy")
    Path("logs/day=1").mkdir()
    shutil.copy(f"logs/{DAYS[0]}.parquet", "logs/day=1/0.parquet")
    lines, errors = evaluate(capsys, *CREATE, "copy")
    assert lines[1] == "5 added, 4 unchanged"
    names = ", ".join(f"copy/{day}.parquet" for day in DAYS)
    assert "other logs of the store have the same content" in errors
    assert f"count twice: {names}. " in errors


def test_logs_whose_labels_or_scores_have_no_type_are_missing_values(capsys):
    """As of pandas with None in all rows."""
    write_log(DAYS[1], LOG.with_columns(label=None))
    write_log(DAYS[2], LOG.with_columns(score=None))
    assert "column 'label' for --label has no values" in error_of(capsys, *CREATE)
    logs = [pl.read_parquet(f"logs/{day}.parquet") for day in DAYS]
    options = ["--missing", "drop"]
    lines, _ = evaluate(capsys, *CREATE, *options)
    assert lines[1] == "3 added"
    columns = ["day", "model", "label", "score"]
    rows = pl.concat([log.select(columns) for log in logs], how="vertical_relaxed")
    stored = rf.scan("store").collect()
    expected = rf.compress(
        rows.with_columns(pl.col("label") == "yes"), "label", "score", by=["day", "model"]
    )
    assert_frame_equal(stored, expected, check_row_order=False, check_column_order=False)
    header = Path("logs/none.csv")
    header.write_text("day,model,label,score\n")
    assert "column 'score' for --score has no values" in error_of(capsys, *CREATE, *options)


def test_an_empty_store_names_the_logs_that_were_skipped(capsys):
    for day in DAYS:
        Path(f"logs/{day}.parquet").write_bytes(b"")
    files = ", ".join(f"logs/{day}.parquet (the file is empty (0 bytes))" for day in DAYS)
    assert error_of(capsys, *CREATE, "--skip-unreadable") == (
        f"store: the store is empty, because logs were skipped: {files}.\n"
        "Write or download the files again."
    )


@pytest.mark.slow
def test_only_files_that_cannot_be_read_or_have_no_rows_are_skipped(capsys):
    path = Path("logs/none.csv")
    path.write_text("day,model,label,score\n")
    assert error_of(capsys, *CREATE).startswith(f"{path}: column 'score' for --score has no values")
    lines, errors = evaluate(capsys, *CREATE, "--skip-unreadable")
    assert lines[1] == "3 added, 1 skipped"
    assert errors.startswith(f"rocframe: skipped {path}: column 'score' for --score has no values")
    path = Path("logs/z.csv")
    path.write_text("day,model,label\n2026-11-01,a,yes\n")
    before = files()
    write_log(DAYS[0], LOG.with_columns(score=pl.col("score") / 2))
    message = error_of(capsys, *CREATE, "--skip-unreadable")
    assert files() == before
    assert message.startswith(f"{path}: the file has no column 'score' for --score.\n")
