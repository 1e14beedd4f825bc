from __future__ import annotations

from pathlib import Path

import pytest

import rocframe as rf
from rocframe.io.logs import find_logs

FILES = [
    "a.parquet",
    "b.arrow",
    "notes.txt",
    "logs/c.csv",
    "logs/day=1/d.pq",
    "logs/day=1/_SUCCESS",
    "logs/day=1/.d.parquet",
    "logs/_temporary/e.parquet",
    "logs/.hidden/f.parquet",
    "out/curves.parquet",
    "[1].parquet",
]


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


@pytest.mark.parametrize(
    ("sources", "files"),
    [
        (["a.parquet"], ["a.parquet"]),
        (["*.parquet"], ["[1].parquet", "a.parquet"]),
        (["logs"], ["logs/c.csv", "logs/day=1/d.pq"]),
        (["logs/**/*.pq"], ["logs/day=1/d.pq"]),
        (["log?"], ["logs/c.csv", "logs/day=1/d.pq"]),
        (["logs/day=*"], ["logs/day=1/d.pq"]),
        (["[1].parquet"], ["[1].parquet"]),
        (["b.arrow", "a.parquet"], ["a.parquet", "b.arrow"]),
        (["a.parquet", "a.*", "./a.parquet"], ["a.parquet"]),
    ],
)
def test_each_file_of_names_globs_and_folders_is_listed_once(sources, files):
    assert find_logs(sources) == files


def test_a_glob_may_be_an_absolute_path(tmp_path):
    assert find_logs([f"{tmp_path}/b.*"]) == [str(tmp_path / "b.arrow")]


def test_tables_of_an_earlier_run_are_excluded():
    assert "out/curves.parquet" in find_logs(["."])
    assert "out/curves.parquet" not in find_logs(["."], exclude=[Path("out/curves.parquet")])
    with pytest.raises(rf.LogError) as caught:
        find_logs(["out/*"], exclude=[Path("out/curves.parquet"), Path("out/auc.parquet")])
    assert str(caught.value) == "'out/*': no logs found.\nPass files or folders."


def test_links_to_folders_are_followed_once():
    Path("elsewhere").mkdir()
    Path("elsewhere/g.parquet").touch()
    Path("logs/link").symlink_to(Path("elsewhere").resolve())
    Path("logs/cycle").symlink_to(Path("logs").resolve())
    assert find_logs(["logs"]) == ["logs/c.csv", "logs/day=1/d.pq", "logs/link/g.parquet"]


@pytest.mark.parametrize("sources", [["days"], ["days/*"], ["days/current", "days"]])
def test_a_file_with_several_names_is_listed_by_a_name_without_links(sources):
    Path("days/day=1").mkdir(parents=True)
    Path("days/day=1/a.parquet").touch()
    Path("days/before").mkdir()
    Path("days/before/latest").symlink_to("../day=1")
    Path("days/current").symlink_to("day=1")
    Path("days/a.parquet").symlink_to("day=1/a.parquet")
    assert find_logs(sources) == ["days/day=1/a.parquet"]


def test_a_link_to_itself_is_a_file_that_does_not_exist():
    Path("logs/latest").symlink_to("latest")
    Path("logs/d.csv").symlink_to("d.csv")
    assert find_logs(["logs"]) == ["logs/c.csv", "logs/d.csv", "logs/day=1/d.pq"]
    with pytest.raises(rf.LogError) as caught:
        find_logs(["logs/latest"])
    assert str(caught.value).startswith("logs/latest: the file or folder does not exist.\n")


def test_the_error_names_a_folder_without_logs():
    Path("empty").mkdir()
    with pytest.raises(rf.LogError) as caught:
        find_logs(["empty"])
    assert str(caught.value) == (
        "empty: the folder contains no logs.\nLogs have one of these suffixes: "
        "'.parquet', '.pq', '.arrow', '.feather', '.ipc', '.csv'."
    )
