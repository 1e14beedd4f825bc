"""Output for other programs: JSON, JSON Lines, CSV and files, and the exit codes."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
import rocframe.cli
from rocframe.cli import main as cli
from rocframe.cli import tasks
from rocframe.cli.formats import TEXT_FORMATS, print_table
from rocframe.cli.options import FormatName

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
ROLES = ["--label", "label", "--score", "score", "--by", "segment"]
ROWS = pl.DataFrame(
    {
        "id": range(240),
        "segment": ["café", None, 'a,"b"\n', ""] * 60,
        "label": [True, False, False, True, False] * 48,
        "score": [(i * 37 % 101) / 101 for i in range(240)],
        "week": [i // 80 for i in range(240)],
    }
)
NEW = ROWS.with_columns(score=pl.Series([(i * 41 % 103) / 97 for i in range(240)]))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)
    ROWS.write_parquet("log.parquet")
    NEW.write_parquet("new.parquet")
    GATED.write_parquet("long.parquet")


def run(capfd, *arguments):
    code = cli.main(list(arguments))
    captured = capfd.readouterr()
    return code, captured.out, captured.err


# The arguments of each command, and the function whose table it prints.
CURVES = rf.curve(ROWS, "label", "score", by="segment")
GATED = pl.concat([ROWS.with_columns(log=pl.lit("old")), NEW.with_columns(log=pl.lit("new"))])
COMMANDS = {
    "evaluate": (["evaluate", "log.parquet"], rf.auc(ROWS, "label", "score", by="segment")),
    "decide": (["decide", "log.parquet", "--rule", "f1"], rf.operating_point(CURVES, "f1")),
    "gate": (
        ["gate", "log.parquet", "new.parquet", "--id", "id", "--margin", "0.6"],
        rf.gate(GATED, "label", "score", between="log", baseline="old", by="segment", id="id",
                margin=0.6),
    ),
    "compare": (
        ["compare", "long.parquet", "--between", "log", "--id", "id"],
        rf.compare(GATED, "label", "score", between="log", by="segment", id="id"),
    ),
    "drift": (
        ["drift", "log.parquet", "--over", "week"],
        rf.drift(ROWS, "label", "score", over="week", by="segment"),
    ),
    "calibrate": (
        ["calibrate", "log.parquet", "--bins", "5"],
        rf.calibration_summary(ROWS, "label", "score", by="segment", bins=5),
    ),
}  # fmt: skip

every_command = pytest.mark.parametrize("name", COMMANDS)


def test_every_command_has_a_table_here_and_every_format_a_record():
    assert {*COMMANDS, "report"} == set(cli.COMMANDS)
    assert ["table", *TEXT_FORMATS] == list(get_args(FormatName))


@every_command
def test_json_has_the_columns_and_all_digits_of_the_table(capfd, name):
    arguments, table = COMMANDS[name]
    code, out, err = run(capfd, *arguments, *ROLES, "--format", "json", "--quiet")
    assert (code, err) == (0, "")
    assert out.isascii()
    rows = json.loads(out, parse_constant=pytest.fail)
    assert [list(row) for row in rows] == [table.columns] * table.height
    assert sorted(rows, key=repr) == sorted(table.to_dicts(), key=repr)


@every_command
def test_all_formats_have_the_same_rows(capfd, name):
    arguments, table = COMMANDS[name]
    texts = {
        form: run(capfd, *arguments, *ROLES, "--format", form, "--quiet")[1]
        for form in TEXT_FORMATS
    }
    rows = json.loads(texts["json"])
    assert [json.loads(line) for line in texts["jsonl"].splitlines()] == rows
    csv = pl.read_csv(texts["csv"].encode(), schema=table.schema)
    assert csv.to_dicts() == rows


@every_command
@pytest.mark.parametrize("suffix", [*TEXT_FORMATS, "parquet", "arrow"])
def test_a_file_has_the_table_in_the_format_of_its_suffix(capfd, name, suffix):
    arguments, table = COMMANDS[name]
    file = f"result.{suffix}"
    code, out, err = run(capfd, *arguments, *ROLES, "--out", file, "--quiet")
    assert (code, out, err) == (0, "", "")
    code, out, _ = run(capfd, *arguments, *ROLES, "--format", "json")
    rows = json.loads(out)
    assert [path.name for path in Path().iterdir() if path.name.startswith("result")] == [file]
    if suffix in TEXT_FORMATS:
        text = run(capfd, *arguments, *ROLES, "--format", suffix)[1]
        assert Path(file).read_bytes() == text.encode()
    else:
        result = rf.read(file)
        assert result.to_dicts() == rows
        assert result.schema == table.schema
        assert rf.about(file)["label"] == "label"


def test_messages_are_on_stderr_beside_output_for_programs(capfd):
    code, out, err = run(capfd, *COMMANDS["gate"][0], *ROLES, "--format", "jsonl", "--out", "t.csv")
    assert code == 0
    assert len(out.splitlines()) == 4
    assert err.startswith("PASS: NEW is non-inferior to OLD in 4 groups.\nTest: newcombe")
    assert err.endswith("t.csv\n")


def test_a_report_prints_its_areas(capfd, monkeypatch):
    monkeypatch.setattr(tasks, "_page", lambda *_, **__: "page")
    arguments = ["report", "log.parquet", *ROLES, "--out", "page.html", "--format", "json"]
    pytest.importorskip("vl_convert")
    code, out, _ = run(capfd, *arguments)
    assert code == 0
    assert [row["segment"] for row in json.loads(out)] == COMMANDS["evaluate"][1][
        "segment"
    ].to_list()


def test_quiet_prints_the_table_only_if_a_format_is_given(capfd):
    arguments = ["evaluate", "log.parquet", *ROLES, "--quiet"]
    assert run(capfd, *arguments) == (0, "", "")
    text = run(capfd, *arguments, "--format", "table")[1]
    assert text == run(capfd, *arguments[:-1])[1]
    assert text.startswith("segment")


SPECIAL = pl.DataFrame(
    {
        "number": [float("inf"), float("-inf"), float("nan"), None, -1e-300, 0.1 + 0.2],
        "large": pl.Series([2**63, 1, 0, None, 2, 3], dtype=pl.UInt64),
        "day": [dt.date(2026, 11, 29), None, *[dt.date(2026, 1, 1)] * 4],
        "time": pl.Series([dt.datetime(2026, 1, 1, 11, tzinfo=dt.UTC)] * 6).dt.convert_time_zone(
            "Europe/Berlin"
        ),
        "bytes": [b"\xff\x00", None, b"", b"a", b"b", b"c"],
        "text": ["", None, "NULL", "a\tb\x1b", "é\u2028", '"'],
        "list": [[1.5, float("inf")], None, [], [None], [2.0], [3.0]],
    }
)


def printed(capfd, table, form):
    print_table(table, form)
    return capfd.readouterr().out


def test_special_values_are_strict_json(capfd):
    rows = json.loads(printed(capfd, SPECIAL, "json"), parse_constant=pytest.fail)
    values = {name: [row[name] for row in rows] for name in SPECIAL.columns}
    assert values == {
        "number": ["inf", "-inf", "nan", None, -1e-300, 0.1 + 0.2],
        "large": [2**63, 1, 0, None, 2, 3],
        "day": ["2026-11-29", None, *["2026-01-01"] * 4],
        "time": ["2026-01-01T12:00:00.000000+01:00"] * 6,
        "bytes": ["ff00", None, "", "61", "62", "63"],
        "text": SPECIAL["text"].to_list(),
        "list": [[1.5, "inf"], None, [], [None], [2.0], [3.0]],
    }


def test_special_values_of_csv_can_be_read_again(capfd):
    text = printed(capfd, SPECIAL, "csv")
    table = pl.read_csv(
        BytesIO(text.encode()),
        schema_overrides={"large": pl.UInt64, "bytes": pl.String, "day": pl.Date},
    )
    kept = ["number", "large", "day", "text"]
    assert_frame_equal(table.select(kept), SPECIAL.select(kept))
    assert table["list"].to_list() == ['[1.5, "inf"]', "null", "[]", "[null]", "[2.0]", "[3.0]"]


@pytest.mark.parametrize(("form", "text"), [("json", "[]\n"), ("jsonl", ""), ("csv", "a,b\n")])
def test_a_table_without_rows(capfd, form, text):
    assert printed(capfd, pl.DataFrame(schema={"a": pl.Int64, "b": pl.String}), form) == text


def test_output_for_programs_is_utf_8_in_every_locale():
    command = [sys.executable, "-m", "rocframe.cli.main", "evaluate", "log.parquet", *ROLES]
    done = subprocess.run(
        [*command, "--format", "csv"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert "café".encode() in done.stdout


EXIT_CODES = {
    0: ["evaluate", "log.parquet", *ROLES],
    1: ["gate", "log.parquet", "new.parquet", *ROLES, "--id", "id", "--margin", "0"],
    2: ["decide", "gone.parquet", *ROLES],
}


@pytest.mark.parametrize("code", EXIT_CODES)
def test_the_exit_codes_do_not_depend_on_the_format(capfd, code):
    for form in get_args(FormatName):
        assert run(capfd, *EXIT_CODES[code], "--format", form)[0] == code


def test_the_page_lists_all_exit_codes():
    section = PAGE.read_text(encoding="utf-8").split("## Exit codes")[1]
    listed = re.findall(r"^\| (\d+) \|", section, re.MULTILINE)
    names = ("SUCCESS", "NOT_PASSED", "USER_ERROR", "INTERNAL_ERROR", "INTERRUPTED")
    assert list(map(int, listed)) == [getattr(rocframe.cli, name) for name in names]


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_examples_with_jq_print_what_the_page_shows(tmp_path):
    """The shell finds the command `rocframe` in a folder of its own."""
    page = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"```bash\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert examples
    program = tmp_path / "bin" / "rocframe"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocframe.cli.main "$@"\n')
    program.chmod(0o755)
    Path("data").symlink_to(PAGE.parents[1] / "data", target_is_directory=True)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    for script, expected in examples:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert done.stdout == expected
