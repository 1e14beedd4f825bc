from __future__ import annotations

import time

from rocframe.cli.terminal import Progress


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
