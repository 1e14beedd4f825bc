from __future__ import annotations

import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.cli import main as cli
from rocframe.cli import tasks

VOTE = str(rf.datasets.path("vote"))
LOG = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 0, 1],
        "truth": ["yes", "no", "yes", "no", "no", "yes"],
        "score": [0.9, 0.4, 0.4, 0.1, None, 0.8],
        "other": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3],
        "model": ["a", "a", "a", "b", "b", "b"],
    }
)
BASIC = ["log.parquet", "--label", "label", "--score", "other"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LOG.write_parquet("log.parquet")


@pytest.fixture(autouse=True)
def _without_page(monkeypatch):
    """Do not write pages, because each page takes a second."""
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)


# Messages that other tests check: the page is not written, rows are pooled, and progress.
COMMON_MESSAGES = re.compile(
    r"^rocframe: (the page was not written.*|The columns? .* pooled\..*| +[\d.]+ s  .*)\n",
    re.MULTILINE,
)


def run(capsys, *arguments):
    code = cli.main([str(one) for one in arguments])
    captured = capsys.readouterr()
    return code, captured.out, COMMON_MESSAGES.sub("", captured.err)


def evaluate(capsys, *arguments):
    code, out, err = run(capsys, "evaluate", *arguments, "--out", "out")
    assert (code, err) == (0, "")
    return out


def error_of(capsys, *arguments):
    code, out, err = run(capsys, "evaluate", *arguments, "--out", "out")
    assert (code, out) == (2, "")
    assert err.startswith("rocframe: ")
    assert "Traceback" not in err
    return err.removeprefix("rocframe: ").removesuffix("\n")


def test_the_tables_are_those_of_the_functions(capsys):
    out = evaluate(capsys, VOTE, "--label", "label", "--score", "score", "--by", "model")
    vote = rf.datasets.vote()
    areas = rf.auc(vote, "label", "score", by="model")
    assert_frame_equal(rf.read("out/auc.parquet"), areas)
    metrics = ["recall", "precision"]
    curves = rf.curve(vote, "label", "score", by="model", metrics=metrics)
    assert_frame_equal(rf.read("out/curves.parquet"), curves)
    lines = out.splitlines()
    assert lines[0] == "model                   AUC     95 % interval  n_pos  n_neg  n_missing"
    assert [line.split()[0] for line in lines[1:7]] == areas["model"].to_list()
    assert lines[7:] == ["", "out/curves.parquet", "out/auc.parquet"]


def test_max_error_simplifies_the_curves_in_the_table(capsys):
    evaluate(capsys, VOTE, "--label", "label", "--score", "score", "--by", "model", "--kind", "pr",
              "--max-error", "0.01")  # fmt: skip
    curves = rf.curve(rf.datasets.vote(), "label", "score", by="model", kind="pr")
    expected = rf.simplify(curves, max_error=0.01)
    assert expected.height < curves.height
    assert_frame_equal(rf.read("out/curves.parquet"), expected)
    assert rf.about("out/curves.parquet")["max_error"] == 0.01


def test_a_message_names_usual_group_columns_that_are_not_used(capsys, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "COMMON_MESSAGES", re.compile("$^"))
    options = ["--label", "label", "--score", "score", "--quiet"]
    _, _, err = run(capsys, "evaluate", VOTE, *options, "--out", "out")
    assert (
        "rocframe: The columns model and fold are not group columns, so rows with different values "
        "of them are pooled. Add --by model --by fold to evaluate these rows separately.\n"
    ) in err
    _, _, err = run(capsys, "evaluate", VOTE, *options, "--by", "model", "--out", "out")
    assert "The column fold is not a group column, so rows with different values of it" in err
    _, _, err = run(capsys, "evaluate", VOTE, *options, "--by", "model", "--by", "fold", "--out",
                    "out")  # fmt: skip
    assert "group column" not in err


def test_the_metadata_contain_the_options_and_the_files(capsys):
    evaluate(capsys, "log.parquet", "--label", "truth", "--positive", "yes", "--score", "score",
              "--by", "model", "--missing", "drop")  # fmt: skip
    metadata = rf.about("out/curves.parquet")
    assert {name: metadata[name] for name in ("table", "kind", "by")} == {
        "table": "curve",
        "kind": "roc",
        "by": ["model"],
    }
    assert {name: metadata[name] for name in list(metadata)[7:]} == {
        "label": "truth",
        "score": ["score"],
        "positive": "yes",
        "weight": None,
        "count": None,
        "missing": "drop",
        "rows": 6,
        "rows_missing": 1,
        "files": ["log.parquet"],
        "files_skipped": {},
    }
    assert rf.about("out/auc.parquet")["table"] == "auc"


def test_a_log_with_scores_of_another_float_type_is_not_added_to_a_store(capsys):
    options = ["--label", "label", "--score", "score", "--store", "store"]
    rows = pl.DataFrame({"label": [True, False] * 9, "score": [0.7] * 18})
    for name, dtype in (("1", pl.Float32), ("2", pl.Float32), ("3", pl.Float64)):
        rows.cast({"score": dtype}).with_columns(file=pl.lit(name)).write_parquet(f"{name}.parquet")
    for name in ("1", "2"):
        evaluate(capsys, f"{name}.parquet", *options)
    assert rf.read("out/auc.parquet").select("auc", "n_pos").row(0) == (0.5, 18)
    assert error_of(capsys, "3.parquet", *options).startswith(
        "3.parquet: column 'score' has type Float64, but type Float32 in the store, such as in "
    )


def test_a_date_can_be_the_positive_class(capsys):
    days = LOG.select(label=pl.Series([1, 0, 1, 0, 0, 1]).cast(pl.Date), score="other")
    days.write_parquet("days.parquet")
    evaluate(capsys, "days.parquet", "--label", "label", "--positive", "1970-01-02",
              "--score", "score")  # fmt: skip
    expected = rf.auc(LOG, "label", "other")
    assert_frame_equal(rf.read("out/auc.parquet"), expected)
    assert rf.about("out/auc.parquet")["positive"] == "1970-01-02"


def test_several_scores_are_compared_as_models(capsys):
    out = evaluate(capsys, "log.parquet", "--label", "label", "--score", "score",
                    "--score", "other", "--missing", "drop")  # fmt: skip
    assert rf.read("out/auc.parquet")["model"].to_list() == ["other", "score"]
    assert rf.about("out/auc.parquet")["rows_missing"] == {"other": 0, "score": 1}
    assert out.startswith("model     AUC")


def test_several_groups_and_globs(capsys):
    LOG.write_parquet("log2.parquet")
    evaluate(capsys, "log*.parquet", "--label", "label", "--score", "other", "--by", "model",
              "--by", "truth")  # fmt: skip
    expected = rf.auc(pl.concat([LOG, LOG]), "label", "other", by=["model", "truth"])
    assert_frame_equal(rf.read("out/auc.parquet"), expected)
    assert rf.about("out/auc.parquet")["files"] == ["log.parquet", "log2.parquet"]


def test_folders_named_key_value_are_a_group_column(capsys):
    Path("logs").mkdir()
    for (day,), part in LOG.group_by("model"):
        Path(f"logs/day={day}").mkdir()
        part.write_parquet(f"logs/day={day}/part.parquet")
    evaluate(capsys, "logs", "--label", "label", "--score", "other", "--by", "day")
    assert rf.read("out/auc.parquet")["day"].to_list() == ["a", "b"]


def test_kinds_are_columns_of_one_table(capsys):
    evaluate(capsys, *BASIC, "--kind", "pr", "--kind", "det", "--kind", "lift_chart")
    columns = rf.read("out/curves.parquet").columns
    assert columns[5:] == ["recall", "precision", "fpr", "fnr", "alert_rate"]
    assert rf.about("out/curves.parquet")["kind"] == "precision_recall"


def test_options_set_the_interval_or_omit_it(capsys):
    out = evaluate(capsys, VOTE, "--label", "label", "--score", "score", "--ci", "newcombe",
                    "--level", "0.9")  # fmt: skip
    assert "90 % interval" in out
    assert rf.read("out/auc.parquet")["ci_method"].to_list() == ["newcombe"]
    assert "interval" not in evaluate(capsys, *BASIC, "--ci", "none")


def test_tables_of_an_earlier_run_are_not_read_as_logs(capsys):
    for _ in range(2):
        assert run(capsys, "evaluate", "*.parquet", *BASIC[1:], "--out", ".")[0] == 0
    assert rf.about("auc.parquet")["files"] == ["log.parquet"]


def test_weights_and_counts(capsys):
    LOG.with_columns(w=2.0, count=pl.lit(3)).write_parquet("log.parquet")
    evaluate(capsys, *BASIC, "--weight", "w", "--count", "count")
    assert rf.read("out/auc.parquet")["n_pos"].item() == 9
    assert rf.about("out/auc.parquet")["rows"] == 18
    evaluate(capsys, *BASIC, "--no-count")
    assert rf.read("out/auc.parquet")["n_pos"].item() == 3


def test_quiet_prints_nothing(capsys):
    assert evaluate(capsys, *BASIC, "--quiet") == ""
    assert evaluate(capsys, *BASIC, "-q") == ""


def test_skip_unreadable_skips_files_that_cannot_be_read(capsys):
    Path("empty.parquet").touch()
    assert error_of(capsys, *BASIC, "empty.parquet").startswith("empty.parquet: the file is empty")
    assert not Path("out").exists()
    code, _, err = run(
        capsys, "evaluate", *BASIC, "empty.parquet", "--skip-unreadable", "-o", "out"
    )
    reason = "the file is empty (0 bytes)"
    assert (code, err) == (0, f"rocframe: skipped empty.parquet: {reason}.\n")
    assert rf.about("out/auc.parquet")["files_skipped"] == {"empty.parquet": reason}


# Errors of the user: one short message and exit code 2


@pytest.mark.skipif(find_spec("vl_convert") is None, reason="the extra is not installed")
def test_an_identifier_in_an_error_is_an_option(capsys):
    code, _, err = run(capsys, "report", *BASIC, "--id", "model", "--out", "page.html")
    assert code == 2
    assert err == (
        'rocframe: --id model: models are compared only if --by contains a column named "model".\n'
        "Rename the column of the models, for example with "
        '.rename({"classifier": "model"}), and include it in --by; or leave out --id.\n'
    )


def test_a_failure_does_not_change_the_tables_of_an_earlier_run(capsys):
    evaluate(capsys, *BASIC)
    before = Path("out/auc.parquet").read_bytes()
    error_of(capsys, "log.parquet", "--label", "label", "--score", "score")
    assert Path("out/auc.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("missing='raise': score column", "--missing raise: score column"),
        ('Say missing="drop" to', "Say --missing drop to"),
        ("positive='a b': no", "--positive 'a b': no"),
        ('Say count="count" or count=None.', "Say --count count or --no-count."),
        ("level=95.0: it", "--level 95.0: it"),
        ("path='out/auc.parquet': it", "out/auc.parquet: it"),
        ("day=1/a.parquet: it", "day=1/a.parquet: it"),
        ("by='x': as by= or label=.", "--by x: as --by or --label."),
        ("id=['a b', 'c']: it", "--id 'a b' --id c: it"),
        ("by=['train-inf', 'inf']: it", "--by train-inf --by inf: it"),
        ("by=[]: it", "by=[]: it"),
        ("costs={'inf \\'x': inf}: it", "--cost inf 'x=inf: it"),
        ("prevalence=-1.5e-07: it", "--prevalence -1.5e-07: it"),
        ("resolution=1e+16: it", "--resolution 1e+16: it"),
        ("subject_to['tpr']=(inf, None): it", "--subject-to tpr=inf:: it"),
        ("subject_to['tprr']: it", "--subject-to tprr: it"),
        ("label=1/a.parquet: it", "label=1/a.parquet: it"),
        ("logs/label=1.5/a.parquet: it", "logs/label=1.5/a.parquet: it"),
        ("C:\\label=1\\a.parquet: it", "C:\\label=1\\a.parquet: it"),
        ("datetime.date(2024, 2, 29): it", "2024-02-29: it"),
        ("datetime.date(2024, 99, 1): it", "datetime.date(2024, 99, 1): it"),
        ("datetime.datetime(2024): it", "datetime.datetime(2024): it"),
        ("datetime.time(99999999999): it", "datetime.time(99999999999): it"),
    ],
)
def test_arguments_in_messages_become_options(message, text):
    assert cli.with_options(message) == text


# Help, interrupts and failures


def test_version_and_help(capsys):
    assert run(capsys, "--version") == (0, f"{rf.__version__}\n", "")
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "evaluate" in out
    code, out, _ = run(capsys, "evaluate", "--help")
    assert code == 0
    for option in ("--label", "--score", "--by", "--positive", "--weight", "--count", "--no-count",
                   "--missing", "--kind", "--ci", "--level", "--title", "--out", "--max-error",
                   "--skip-unreadable", "--quiet"):  # fmt: skip
        assert option in out


def test_ctrl_c_has_the_exit_code_130(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tasks, "evaluate_logs", interrupted)
    code, out, err = run(capsys, "evaluate", *BASIC, "--out", "out")
    assert (code, out) == (130, "")
    assert err == "rocframe: interrupted. Each output file is complete or unchanged.\n"


def test_too_little_memory_is_a_user_error_and_creates_no_folder(capsys, monkeypatch):
    def allocate(*_):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(tasks, "report_areas", allocate)
    code, out, err = run(capsys, "evaluate", *BASIC, "--out", "new/out")
    assert (code, out) == (2, "")
    assert err == (
        "rocframe: there is not enough memory for these logs. "
        "Each output file is complete or unchanged.\n"
        "Evaluate fewer files or groups at a time, or write smaller tables with --max-error.\n"
    )
    assert not Path("new").exists()


def test_no_tables_are_written_if_the_page_fails(capsys, monkeypatch):
    def fail(*_, **__):
        raise rf.RocframeError("no page")

    monkeypatch.setattr(tasks, "find_spec", lambda _: True)
    monkeypatch.setattr("rocframe.reports.tables.report_tables", fail)
    assert run(capsys, "evaluate", *BASIC, "--out", "out")[0] == 2
    assert not Path("out").exists()


def test_an_error_of_the_package_shows_its_traceback(capsys, monkeypatch):
    def wrong(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(tasks, "evaluate_logs", wrong)
    code, out, err = run(capsys, "evaluate", *BASIC, "--out", "out")
    assert (code, out) == (70, "")
    assert err.startswith("Traceback")
    assert err.endswith("ZeroDivisionError\n")


# The program does not write the page, which takes a second.
SCRIPT = """
import sys
from rocframe.cli import main, tasks
tasks.find_spec = lambda _: None
sys.exit(main.main())
"""
PROGRAM = [sys.executable, "-c", SCRIPT]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for child processes")
def test_ctrl_c_stops_the_program_and_leaves_no_temporary_file():
    pl.select(
        label=pl.int_range(1_000_000) % 2, score=pl.int_range(1_000_000).hash() % 1_000_000
    ).write_parquet("large.parquet")
    child = subprocess.Popen(
        [
            *PROGRAM,
            "evaluate",
            "large.parquet",
            "--label",
            "label",
            "--score",
            "score",
            "-o",
            "out",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not Path("out").exists():
        assert child.poll() is None, child.stderr.read()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate()
    assert (child.returncode, err[-60:]) in [
        (130, "rocframe: interrupted. Each output file is complete or unchanged.\n"[-60:]),
        (0, ""),
    ]
    assert not list(Path().glob("out/*.tmp"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_closed_output_pipe_is_not_an_error():
    command = [*PROGRAM, "evaluate", *BASIC, "--out", "out"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.close()
        err = child.stderr.read()
    assert child.returncode == 0
    assert "Traceback" not in err
    assert "Exception" not in err


LIBRARIES = {"altair", "cyclopts", "jinja2", "markdown_it", "numpy", "pyarrow", "rich", "scipy"}
LIBRARIES |= {"vl_convert", "rocframe.charts", "rocframe.reports", "rocframe.kernel"}


def loaded_libraries(*arguments):
    """Return the libraries and folders that the command line loads, and the number of modules."""
    script = (
        "import sys; from rocframe.cli.main import main; code = main(sys.argv[1:]) if sys.argv[1:] "
        "else 0; print(*sorted(sys.modules), sep='\\n')"
    )
    command = [sys.executable, "-c", script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = set(result.stdout.splitlines())
    return LIBRARIES & modules, len(modules)


def test_the_command_line_loads_its_libraries_lazily():
    assert loaded_libraries()[0] == set()


@pytest.mark.parametrize(
    "line", ["--version", "--help", "evaluate --help", "gate --help", "evaluate --lable label"]
)
def test_help_and_mistyped_options_load_no_library_for_data_or_charts(line):
    """Polars is loaded, because `import rocframe` registers the namespace `.roc` of its frames."""
    libraries, number = loaded_libraries(*line.split())
    assert libraries <= {"cyclopts", "rich"}
    assert number < 1000


def test_evaluate_loads_no_library_for_charts_or_tests_before_it_reads_a_log():
    Path("empty.parquet").touch()
    libraries, _ = loaded_libraries("evaluate", "empty.parquet", *BASIC[1:], "--out", "out")
    assert libraries & {"altair", "jinja2", "pyarrow", "scipy", "vl_convert"} == set()


def test_without_the_extra_the_tables_are_written_and_a_message_is_shown(capsys):
    code = cli.main(["evaluate", *BASIC, "--by", "model", "--out", "out"])
    assert code == 0
    assert capsys.readouterr().err == (
        "rocframe: the page was not written, because vl-convert is not installed; install it with "
        'pip install "rocframe[report]".\n'
    )
    assert sorted(path.name for path in Path("out").iterdir()) == ["auc.parquet", "curves.parquet"]


@pytest.mark.skipif(find_spec("vl_convert") is None, reason="the extra is not installed")
def test_the_page_is_written_to_the_folder_of_the_tables(capsys, monkeypatch):
    monkeypatch.setattr(tasks, "find_spec", find_spec)
    out = evaluate(capsys, *BASIC, "--title", "Who & what")
    assert out.splitlines()[-3:] == ["out/curves.parquet", "out/auc.parquet", "out/charts.html"]
    assert "<title>Who &amp; what</title>" in Path("out/charts.html").read_text(encoding="utf-8")
