"""Default options in files, shell completion, and the options `--quiet` and `--verbose`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import rocframe as rf
from rocframe.cli import main as cli

VOTE = str(rf.datasets.path("vote"))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


OPTIONS = 'label = "label"\nscore = ["score"]\nby = ["model", "fold"]\nformat = "json"\n'


@pytest.mark.parametrize(
    ("file", "table"), [("rocframe.toml", "evaluate"), ("pyproject.toml", "tool.rocframe.evaluate")]
)
def test_a_file_has_default_options_of_a_command(capsys, file, table):
    Path(file).write_text(f"[{table}]\n{OPTIONS}level = 0.9\nno-count = true\n", encoding="utf-8")
    expected = rf.auc(rf.datasets.vote(), "label", "score", by=["model", "fold"], level=0.9)
    code, out, err = run(capsys, "evaluate", VOTE)
    assert (code, err) == (0, "")
    assert json.loads(out) == expected.to_dicts()


def test_options_of_the_command_line_take_precedence_and_then_those_of_rocframe_toml(capsys):
    Path("rocframe.toml").write_text(f"[evaluate]\n{OPTIONS}level = 0.9\n", encoding="utf-8")
    other = '[tool.rocframe.evaluate]\nlevel = 0.8\nci = "newcombe"\n'
    Path("pyproject.toml").write_text(other, encoding="utf-8")
    row = json.loads(run(capsys, "evaluate", VOTE)[1])[0]
    assert (row["ci_level"], row["ci_method"]) == (0.9, "newcombe")
    row = json.loads(run(capsys, "evaluate", VOTE, "--level", "0.5", "--by", "model")[1])[0]
    assert (row["ci_level"], row["ci_method"]) == (0.5, "newcombe")
    assert "fold" not in row


def test_options_of_other_commands_are_not_used(capsys):
    Path("rocframe.toml").write_text("[gate]\nmargin = 0.1\n", encoding="utf-8")
    options = ["--label", "label", "--score", "score", "--by", "model", "--by", "fold", "-q"]
    assert run(capsys, "evaluate", VOTE, *options) == (0, "", "")


def test_files_in_parent_folders_are_not_read(capsys, monkeypatch):
    Path("rocframe.toml").write_text("[evaluate]\nlable = 1\n", encoding="utf-8")
    Path("sub").mkdir()
    monkeypatch.chdir("sub")
    options = ["--label", "label", "--score", "score", "--by", "model", "--by", "fold", "-q"]
    assert run(capsys, "evaluate", VOTE, *options) == (0, "", "")


def test_verbose_shows_each_step_at_once(capsys):
    options = ["--label", "label", "--score", "score", "--by", "model", "--by", "fold"]
    code, out, err = run(capsys, "evaluate", VOTE, *options, "--verbose", "--format", "csv")
    assert code == 0
    assert out.startswith("model,fold,auc,")
    steps = [re.fullmatch(r"rocframe: +\d+\.\d s  (.+)", line)[1] for line in err.splitlines()]
    assert steps == ["Finding the logs", "Opening file", "Reading the log", "Computing the AUC"]


def test_the_help_and_the_version_do_not_read_the_files(capsys):
    Path("rocframe.toml").write_text("[evaluate\n", encoding="utf-8")
    Path("pyproject.toml").write_bytes(b"\xff")
    assert run(capsys, "--version") == (0, f"{rf.__version__}\n", "")
    assert run(capsys, "evaluate", "--help")[::2] == (0, "")


ROLES = 'label = "label"\nscore = ["score"]\n'


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("no-count = true\nquiet = true", ["-v"]),
        ("no-count = true\nverbose = true", ["--quiet"]),
        ("no-count = true", ["--count", "count"]),
        ('count = "other"', ["--no-count"]),
        ('store = "gone"\nsince = "2026-11-01"\nuntil = "2026-11-02"', ["--no-count"]),
        ('store = "gone"\nlast = "3d"', ["--no-count"]),
    ],
)
@pytest.mark.parametrize("file", ["rocframe.toml", "pyproject.toml"])
def test_options_of_the_command_line_replace_those_that_they_exclude(options, arguments, file):
    table = "tool.rocframe.decide" if file == "pyproject.toml" else "decide"
    Path(file).write_text(f"[{table}]\n{ROLES}{options}\n", encoding="utf-8")
    rf.datasets.vote().with_columns(count=1).write_parquet("log.parquet")
    assert cli.main(["decide", "log.parquet", *arguments, "--by", "model", "--by", "fold"]) == 0


def test_a_file_of_options_can_be_used_with_and_without_the_label(capsys):
    path = Path("rocframe.toml")
    path.write_text(f'[drift]\n{ROLES}over = "fold"\npositive = "1"\n', encoding="utf-8")
    rows = rf.datasets.vote().filter(pl.col("model") == pl.col("model").first())
    rows.write_parquet("log.parquet")
    for arguments, column in (([], "auc"), (["--no-label"], "psi")):
        code, out, _ = run(capsys, "drift", "log.parquet", *arguments, "--format", "csv", "-q")
        assert (code in {0, 1}, column in out.splitlines()[0].split(",")) == (True, True)
    path.write_text("[drift]\nno-label = true\n", encoding="utf-8")
    options = ["log.parquet", "--score", "score", "--over", "fold", "--format", "csv", "-q"]
    _, out, _ = run(capsys, "drift", *options)
    assert "psi" in out.splitlines()[0]
    _, out, _ = run(capsys, "drift", *options, "--label", "label")
    assert "auc" in out.splitlines()[0]
    code, _, err = run(capsys, "drift", *options, "--label", "label", "--no-label")
    assert (code, err) == (2, "rocframe: --label and --no-label cannot be combined.\n")


def test_a_window_of_the_command_line_replaces_that_of_a_file(capsys):
    days = pl.date_range(date(2026, 11, 1), date(2026, 11, 4), eager=True)
    log = pl.DataFrame({"label": [True, False] * 2, "score": [0.9, 0.1, 0.2, 0.8], "day": days})
    log.write_parquet("log.parquet")
    options = f'{ROLES}store = "store"\nsince = "2026-11-01"\npartition-by = "day"\n'
    Path("rocframe.toml").write_text(f"[evaluate]\n{options}", encoding="utf-8")
    code, out, _ = run(capsys, "evaluate", "log.parquet", "--last", "2d", "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["auc"] == 0


@pytest.fixture
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))


def test_the_completion_names_a_file_that_cannot_be_written(capsys, monkeypatch):
    Path("home").write_bytes(b"")
    monkeypatch.setenv("HOME", "home")
    monkeypatch.setenv("USERPROFILE", "home")
    code, out, err = run(capsys, "--install-completion", "--shell", "bash")
    assert (code, out) == (2, "")
    assert err.startswith("rocframe: home/")
    assert err.endswith(
        "the file cannot be written: Not a directory.\nCheck the path, and the variable HOME.\n"
    )


@pytest.mark.usefixtures("_home")
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_completion_of_bash_knows_commands_options_and_choices(capsys):
    code, out, _ = run(capsys, "--install-completion", "--shell", "bash")
    assert code == 0
    script = Path(".local/share/bash-completion/completions/rocframe")
    assert str(script) in out
    assert str(script) in Path(".bashrc").read_text(encoding="utf-8")

    def completions(*words):
        commands = (
            f'source "{script}"; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; '
            "_rocframe; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, check=True)
        return {word.strip() for word in done.stdout.split()}

    assert completions("rocframe", "ev") == {"evaluate"}
    assert completions("rocframe", "evaluate", "--max") == {"--max-error", "--max-envelope"}
    assert completions("rocframe", "decide", "--format", "js") == {"json", "jsonl"}


@pytest.mark.usefixtures("_home")
def test_an_unknown_shell_is_an_error_of_the_user(capsys, monkeypatch):
    from cyclopts.completion import detect

    def unknown():
        raise detect.ShellDetectionError

    monkeypatch.setattr(detect, "detect_shell", unknown)
    code, out, err = run(capsys, "--install-completion")
    assert (code, out) == (2, "")
    assert err == "Could not auto-detect shell. Please specify --shell explicitly.\n"
