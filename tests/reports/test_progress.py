from __future__ import annotations

import io
import re
import sys
import time

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.progress import Progress


def test_fast_commands_show_no_progress(capsys):
    with Progress(delay=60) as progress:
        progress.step("Reading")
    assert capsys.readouterr().err == ""


def test_slow_commands_show_a_line_per_step(capsys):
    with Progress(delay=0) as progress:
        progress.step("Reading")
        time.sleep(0.05)
        progress.step("Counting")
        progress.step("Counting")
    lines = capsys.readouterr().err.splitlines()
    assert [line[20:] for line in lines] == ["Reading", "Counting"]
    assert lines[0].startswith("rocframe:    0.")


def test_many_small_steps_are_one_line_in_a_log(capsys):
    with Progress(delay=0) as progress:
        time.sleep(0.05)
        for number in range(1000):
            progress.count("Opening file", number, 1000)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_quiet_commands_show_no_progress(capsys):
    with Progress(quiet=True, delay=0) as progress:
        progress.step("Reading")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stderr", ["none", "closed", "full"])
def test_progress_does_not_fail_without_a_working_stderr(stderr, monkeypatch):
    stream = None
    if stderr != "none":
        stream = io.StringIO()
        stream.close()
    if stderr == "full":
        stream = FullFile()
    monkeypatch.setattr(sys, "stderr", stream)
    for quiet in (True, False):
        with Progress(quiet=quiet, delay=0) as progress:
            progress.step("Reading")
            if stream is not None:
                stream.close()
            progress.step("Counting")


class FullFile(io.StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(28, "No space left on device")


def test_a_timer_that_ends_with_the_command_shows_no_step(capsys):
    with Progress(delay=60) as progress:
        progress.step("Reading")
    progress._activate()
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_one_line_with_a_bar(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(delay=0) as progress:
        time.sleep(0.05)
        progress.step("Reading")
        progress.expect(4)
        progress.count("Drawing", 1, 2)
        time.sleep(0.2)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    last = text.strip().splitlines()[-1]
    assert "━" in last
    assert last.endswith("Drawing 2 of 2")


def test_a_log_has_a_line_with_the_rows_and_the_seconds_of_a_long_step(monkeypatch, capsys):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("rocframe.reports.progress.monotonic", lambda: next(clock))
    with Progress(delay=0) as progress:
        for n in (1_000_000, 2_500_000, 4_000_000):
            progress.read_rows("Reading 3 files", n, 4_000_000)
    lines = [line[20:] for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == "Reading 3 files"
    last = re.fullmatch(
        r"Reading 3 files: 4,000,000 of 4,000,000 rows in (\d+)\.0 s, ([\d,]+) rows per second",
        lines[-1],
    )
    assert float(last[2].replace(",", "")) == pytest.approx(4e6 / int(last[1]), rel=0.005)
    assert all(line.startswith("Reading 3 files: ") for line in lines[1:])


def test_a_terminal_shows_rows_per_second_and_the_remaining_time(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(delay=0) as progress:
        progress.read_rows("Reading the log", 0, 8_000_000)
        time.sleep(0.5)
        progress.read_rows("Reading the log", 2_000_000, 8_000_000)
        time.sleep(0.2)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    last = text.strip().splitlines()[-1]
    assert re.search(r"2,000,000 of 8,000,000 rows in \d\.\d s, [\d,]+ rows per second, ", last)
    assert last.endswith("s left")


def test_rows_of_an_unknown_number_have_no_remaining_time(monkeypatch, capsys):
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr("rocframe.reports.progress.monotonic", lambda: next(clock))
    with Progress(delay=0) as progress:
        for n in (1_000_000, 2_000_000):
            progress.read_rows("Reading the log", n, None)
    lines = capsys.readouterr().err.splitlines()
    assert "Reading the log: 2,000,000 rows in " in lines[-1]
    assert "left" not in lines[-1]


def test_a_terminal_without_control_codes_shows_lines(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(delay=0) as progress:
        progress.step("Reading")
    assert capsys.readouterr().err.endswith("Reading\n")


def test_the_bar_shows_the_share_of_the_steps():
    progress = Progress(delay=60)
    progress.step("Reading")
    progress.expect(4)
    shares = [progress.share]
    for step in ("Counting", "Drawing"):
        for item in range(2):
            progress.count(step, item, 2)
            shares.append(progress.share)
    progress.step("Writing")
    progress.step("Closing")
    progress.step("One more")
    assert [*shares, progress.share] == [0, 0.2, 0.3, 0.4, 0.5, 1]


def test_a_report_names_its_steps(tmp_path, capsys):
    pytest.importorskip("vl_convert")
    log = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.6, 0.1]})
    rf.report(log, "label", "score", path=tmp_path / "a.html", progress=True, kind="roc")
    lines = [line[20:] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "Reading the predictions",
        "Computing the AUC",
        "Computing the curves",
        "Computing the metrics",
        "Computing the calibration",
        "Drawing the charts: ROC",
        "Drawing the charts: Calibration",
        "Drawing the dashboard",
        "Writing the page",
    ]
