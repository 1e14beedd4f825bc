from __future__ import annotations

from rocframe.reports.export import cached_text


def test_cached_text_is_computed_once_and_again_after_its_file_changed(monkeypatch, tmp_path):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    calls = []

    def compute():
        calls.append(1)
        return f"a ✓\n{len(calls)}"

    assert [cached_text("one.js", compute) for _ in range(3)] == ["a ✓\n1"] * 3
    (path,) = (tmp_path / "rocframe").iterdir()
    content_of_file = path.read_bytes()
    for position, content in enumerate(
        (content_of_file[:-1], content_of_file + b"x", b"", b"\xff", b"x")
    ):
        path.write_bytes(content)
        assert cached_text("one.js", compute) == f"a ✓\n{position + 2}"


def test_without_a_writable_folder_nothing_is_cached(monkeypatch, tmp_path):
    (tmp_path / "rocframe").write_text("no folder")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    assert [cached_text("one.js", lambda: "text") for _ in range(2)] == ["text"] * 2
