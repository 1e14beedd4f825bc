"""Damaged and unreadable files and folders, on the command line and in functions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from bench.damaged_files import ABORT, DIFFERENT, RAW_ERROR, check_files
from rocframe.cli import main as cli
from rocframe.cli import tasks
from rocframe.io.files import CHECKSUM_SIZE

LOG = pl.DataFrame({"label": [True, False] * 500, "score": [i % 97 / 97 for i in range(1000)]})
GATE = ["--margin", "0.1", "--out", "table.parquet"]
COMMANDS = {
    "evaluate": ["--out", "out"],
    "report": ["--out", "page.html"],
    "decide": ["--out", "table.parquet"],
    "gate": GATE,
}
SKIP = "Write or download the file again, or skip unreadable files with --skip-unreadable.\n"
PAGE_MESSAGE = re.compile("rocframe: the page was not written.*\n")
DAMAGED = "the file is damaged: its content does not match its checksum"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)  # without the page


def run(capsys, command, *sources, options=()):
    columns = ["--label", "label", "--score", "score", "--quiet"]
    code = cli.main([command, *sources, *columns, *COMMANDS[command], *options])
    return code, PAGE_MESSAGE.sub("", capsys.readouterr().err)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_every_command_compares_the_checksum_of_a_log(capsys, suffix):
    file = f"log.{suffix}"
    rf.write(LOG, file)
    content = bytearray(Path(file).read_bytes())
    content[600] ^= 4  # a value: other programs read another number
    Path(file).write_bytes(content)
    rf.write(LOG, "good.parquet")
    for command in COMMANDS:
        sources = [file, "good.parquet"] if command == "gate" else [file]
        assert run(capsys, command, *sources) == (2, f"rocframe: {file}: {DAMAGED}.\n{SKIP}")
    store = ["--store", "store"]
    error = (2, f"rocframe: {file}: {DAMAGED}.\n{SKIP}")
    assert run(capsys, "evaluate", file, options=store) == error
    code, err = run(capsys, "evaluate", ".", options=["--skip-unreadable"])
    assert (code, err) == (0, f"rocframe: skipped {file}: {DAMAGED}.\n")
    assert_frame_equal(rf.read("out/auc.parquet"), rf.auc(LOG, "label", "score"))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_whose_checksum_is_overwritten_is_damaged(suffix):
    rf.write(LOG, f"log.{suffix}")
    content = bytearray(Path(f"log.{suffix}").read_bytes())
    magic = 4 if suffix == "parquet" else 6
    footer = int.from_bytes(content[-magic - 4 : -magic], "little") + magic + 4
    content[-footer - CHECKSUM_SIZE - 1 : -footer] = bytes(CHECKSUM_SIZE + 1)
    Path(f"log.{suffix}").write_bytes(content)
    for function in (rf.read, rf.scan, rf.about):
        with pytest.raises(rf.StorageError) as caught:
            function(f"log.{suffix}")
        assert str(caught.value) == (
            f"path='log.{suffix}': the file is damaged: its checksum is overwritten.\n"
            "Check the path, or write the file again."
        )


def test_a_table_that_another_program_writes_again_has_no_checksum():
    import pyarrow.parquet as pq
    from pyarrow import ipc

    table = LOG.to_arrow().replace_schema_metadata({"rocframe": '{"table": "table"}'})
    pq.write_table(table, "copy.parquet")
    with ipc.new_file("copy.arrow", table.schema) as writer:
        writer.write_table(table)
    for file in ("copy.parquet", "copy.arrow"):
        assert rf.about(file)["table"] == "table"
        assert_frame_equal(rf.read(file), LOG)


def damage_arrow(path):
    """Write an Arrow file whose first buffer has a length of 6e18 bytes, or another number."""
    LOG.write_ipc(path, compression="lz4")
    content = bytearray(path.read_bytes())
    # Each compressed buffer begins with its uncompressed size as an Int64.
    size = (1000 * 8).to_bytes(8, "little")
    position = content.index(size + b"\x04\x22\x4d\x18")  # the magic bytes of LZ4 follow
    content[position + 7] = 0x55
    path.write_bytes(content)


def test_a_damaged_arrow_file_is_an_error_and_does_not_end_the_process(tmp_path):
    (tmp_path / "logs").mkdir()
    damage_arrow(tmp_path / "logs/bad.arrow")
    LOG.write_parquet(tmp_path / "logs/good.parquet")
    script = f"""
import os
import rocframe as rf
from rocframe.cli import main as cli, tasks
os.chdir({str(tmp_path)!r})
tasks.find_spec = lambda _: None
for function in (rf.read, rf.scan, lambda path: rf.about(path)):
    try:
        function("logs/bad.arrow")
    except rf.StorageError as error:
        print("StorageError", str(error).splitlines()[0][:60])
columns = ["--label", "label", "--score", "score", "--quiet"]
for arguments in (["--out", "o1"], ["--out", "o2", "--skip-unreadable"],
                  ["--out", "o3", "--skip-unreadable", "--store", "store"]):
    print(cli.main(["evaluate", "logs", *columns, *arguments]))
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    problem = "path='logs/bad.arrow': the file cannot be read: "
    assert [line.split(problem[:20])[0] for line in result.stdout.splitlines()] == [
        "StorageError ",
        "StorageError ",
        "StorageError ",
        "2",
        "0",
        "0",
    ]
    assert result.stderr.startswith("rocframe: logs/bad.arrow: the file cannot be read: ")
    assert PAGE_MESSAGE.sub("", result.stderr).count("\n") == 4
    expected = rf.auc(LOG, "label", "score")
    assert_frame_equal(rf.read("o2/auc.parquet"), expected)
    assert_frame_equal(rf.read("o3/auc.parquet"), expected)


def deny(monkeypatch, *folders):
    """Let the functions that list a folder fail as for a folder without the permission."""
    scandir = os.scandir

    def fail(path="."):
        if Path(path).absolute() in {Path(folder).absolute() for folder in folders}:
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)


@pytest.mark.parametrize("source", ["logs", "logs/*", "logs/*/*.parquet", "logs/**/*.parquet"])
def test_a_folder_that_cannot_be_listed_is_an_error_or_is_skipped(capsys, monkeypatch, source):
    for name in "abc":
        Path("logs", name).mkdir(parents=True)
        LOG.with_columns(name=pl.lit(name)).write_parquet(f"logs/{name}/log.parquet")
    deny(monkeypatch, "logs/b")
    problem = "logs/b: the folder cannot be listed: Permission denied"
    hint = "Make the folder readable, or skip it with --skip-unreadable.\n"
    for options in ([], ["--store", "store"]):
        error = (2, f"rocframe: {problem}.\n{hint}")
        assert run(capsys, "evaluate", source, options=options) == error
    for options in ([], ["--store", "store2"]):
        code, err = run(capsys, "evaluate", source, options=["--skip-unreadable", *options])
        assert (code, err) == (0, f"rocframe: skipped {problem}.\n")
        areas = rf.read("out/auc.parquet")
        assert areas.select("n_pos", "n_neg").row(0) == (1000, 1000)
        assert rf.about("out/auc.parquet")["files_skipped"] == {
            "logs/b": "the folder cannot be listed: Permission denied"
        }


def test_scanning_a_folder_names_a_subfolder_that_cannot_be_listed(monkeypatch):
    Path("table/b").mkdir(parents=True)
    LOG.write_parquet("table/a.parquet")
    deny(monkeypatch, "table/b")
    with pytest.raises(rf.StorageError) as caught:
        rf.scan("table")
    assert str(caught.value) == (
        "path='table/b': the folder cannot be listed: Permission denied.\nMake the folder readable."
    )


def test_a_folder_without_access_to_its_files_is_an_error_of_one_line(capsys, monkeypatch):
    """As in a folder without the permission x, whose files are listed but have no properties."""
    Path("logs/closed").mkdir(parents=True)
    LOG.write_parquet("logs/closed/log.parquet")
    names = ("stat", "lstat", "readlink", "open", "scandir")
    originals = {name: getattr(os, name) for name in names}

    def denied(name):
        def call(path, *arguments, **options):
            if isinstance(path, str | os.PathLike) and Path(path).parent.name == "closed":
                raise PermissionError(13, "Permission denied", os.fspath(path))
            return originals[name](path, *arguments, **options)

        return call

    for name in names:
        monkeypatch.setattr(os, name, denied(name))
    file = "logs/closed/log.parquet"
    error = (2, f"rocframe: {file}: the file cannot be read: Permission denied.\n{SKIP}")
    for source in ("logs", "logs/closed", file, "logs/*/log.parquet", "logs/**/*.parquet"):
        assert run(capsys, "evaluate", source) == error
    permissions = "Check the permissions of the folders in the path"
    for function in (rf.read, rf.scan, rf.about, lambda path: rf.write(LOG, path)):
        with pytest.raises(rf.StorageError) as caught:
            function(file)
        assert str(caught.value) == (
            f"path={file!r}: it cannot be accessed: Permission denied.\n{permissions}."
        )
    rf.write(LOG, "log.parquet")
    for command in ("evaluate", "report", "decide"):
        monkeypatch.setitem(COMMANDS, command, ["--out", file])
        assert run(capsys, command, "log.parquet") == (
            2,
            f"rocframe: {file}: it cannot be accessed: Permission denied.\n{permissions}.\n",
        )


@pytest.mark.parametrize("name", ["run[1]", "run[", "a?b", "x*", "{a,b}"])
def test_a_folder_name_with_characters_of_a_glob_is_a_folder_name(capsys, name):
    Path(name).mkdir()
    Path("a+b").mkdir()  # the glob a?b matches this folder as well
    pl.DataFrame({"other": [1]}).write_parquet("a+b/log.parquet")
    expected = rf.auc(LOG, "label", "score")
    for suffix, write in (("parquet", LOG.write_parquet), ("arrow", LOG.write_ipc)):
        write(Path(name, f"log.{suffix}"))
        assert_frame_equal(rf.read(f"{name}/log.{suffix}"), LOG)
        assert_frame_equal(rf.scan(f"{name}/log.{suffix}").collect(), LOG)
        code, err = run(capsys, "evaluate", f"{name}/log.{suffix}")
        assert (code, err) == (0, "")
        assert_frame_equal(rf.read("out/auc.parquet"), expected)
    Path(name, "log.arrow").unlink()
    assert_frame_equal(rf.scan(name).collect(), LOG)
    store = ["--store", f"{name}/store"]
    for _ in range(2):
        assert run(capsys, "evaluate", f"{name}/log.parquet", options=store) == (0, "")
        assert_frame_equal(rf.read("out/auc.parquet"), expected)


@pytest.mark.parametrize("command", ["evaluate", "decide"])
def test_control_characters_of_names_do_not_reach_the_terminal(capsys, command):
    file = "a\x1b[31m\u202e.parquet"
    rf.write(LOG, file)
    Path("bad\x1b[2J\n.parquet").write_text("no table")
    runs = [
        [command, "."],
        [command, file, "--score", "x\x1b[31m"],
        [command, file, "--by", "\x1b]0;title\x07"],
        [command, file, "--positive", "\x9b"],
        [command, "gone\x1b"],
        [command, file, "--un\x1bknown"],
        [command, file, "--label", "label", "--score", "score", "--out", "o\x1b.parquet"],
        [command, ".", "--label", "label", "--score", "score", "--out", "o\x1b.parquet",
         "--skip-unreadable"],
    ]  # fmt: skip
    for arguments in runs:
        options = ["--label", "label", "--score", "score", "--out", "out"]
        is_complete = "--out" in arguments
        cli.main(arguments if is_complete else [*arguments, *options])
        captured = capsys.readouterr()
        for line in (captured.out + captured.err).split("\n"):
            assert line.isprintable(), (arguments, line)
        assert captured.out + captured.err


@pytest.mark.slow
def test_random_damage_is_an_error_or_does_not_change_the_result(tmp_path):
    wrong = []
    counts = check_files(8, 5, tmp_path, lambda text, _: wrong.append(text))
    assert wrong == []
    own = {outcome for (is_own, _, outcome) in counts if is_own}
    assert not own & {ABORT, DIFFERENT, RAW_ERROR}
