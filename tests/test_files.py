from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import rocframe as rf
from rocframe.io.files import check_target, file_problem, replacement, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "the file is empty (0 bytes)"),
        (b"hello", "it is not a Parquet file: it does not begin with PAR1"),
        (b"PAR1....", "the Parquet file is truncated: it does not end with PAR1"),
        (b"PAR1....PAR1", None),
    ],
)
def test_both_ends_of_a_file_show_whether_it_is_complete(tmp_path, content, wrong):
    path = tmp_path / "table.parquet"
    path.write_bytes(content)
    assert file_problem(path, "Parquet") == wrong


def test_a_folder_and_a_missing_file_are_distinct_problems(tmp_path):
    assert file_problem(tmp_path, "Parquet") == "it is a folder"
    assert file_problem(tmp_path / "gone.parquet", "Parquet") == "the file does not exist"


def test_a_file_is_replaced_only_when_it_is_complete(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with replacement(path) as new:
        new.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["page.html"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail():
        with replacement(path) as new:
            new.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["page.html"]


def test_a_failing_disk_is_a_storage_error_with_the_path(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(rf.StorageError) as caught, replacement(path):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == (
        f"path={str(path)!r}: the file cannot be written: No space left on device.\n"
        "If the file existed, it is unchanged."
    )
    assert names(tmp_path) == []


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "page.html", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "page.html"
    path.touch()
    path.chmod(0o604)
    write_text(path, "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path):
    (tmp_path / "store").mkdir()
    real, link = tmp_path / "store" / "page-7.html", tmp_path / "page.html"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert names(tmp_path / "store") == ["page-7.html"]


def test_a_read_only_folder_is_refused_before_anything_is_computed(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):  # modes do not bind root; /proc takes files from nobody
        folder = Path("/proc")
        if not folder.is_dir():
            pytest.skip("every folder here can be written to")
    with pytest.raises(rf.StorageError) as caught:
        check_target(folder / "page.html")
    path = str(folder / "page.html")
    assert str(caught.value).startswith(f"path={path!r}: the file cannot be written: ")


def test_a_folder_is_not_a_target(tmp_path):
    with pytest.raises(rf.StorageError) as caught:
        check_target(tmp_path)
    assert str(caught.value) == (
        f"path={str(tmp_path)!r}: it is a folder.\nPass the name of a file in this folder."
    )


def test_a_device_is_never_replaced_by_a_file(tmp_path):
    link = tmp_path / "null.parquet"
    link.symlink_to(os.devnull)
    with pytest.raises(rf.StorageError) as caught:
        check_target(link)
    assert str(caught.value).startswith(f"path={str(link)!r}: it is not a regular file.\n")
    assert not Path(os.devnull).is_file()


def test_a_path_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "page.html"
    with pytest.raises(rf.StorageError) as caught:
        check_target(path)
    assert str(caught.value).startswith(
        f"path={str(path)!r}: {str(tmp_path / 'file')!r} is a file and not a folder.\n"
    )
