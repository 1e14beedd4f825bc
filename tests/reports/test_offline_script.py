from __future__ import annotations

from rocframe.reports.offline_script import cached_text


def test_cached_text_is_made_once_and_again_after_its_file_changed(monkeypatch, tmp_path):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    made = []

    def make():
        made.append(1)
        return f"a ✓\n{len(made)}"

    assert [cached_text("one.js", make) for _ in range(3)] == ["a ✓\n1"] * 3
    (path,) = (tmp_path / "rocframe").iterdir()
    whole = path.read_bytes()
    for place, content in enumerate((whole[:-1], whole + b"x", b"", b"\xff", b"x")):
        path.write_bytes(content)
        assert cached_text("one.js", make) == f"a ✓\n{place + 2}"


def test_without_a_writable_folder_nothing_is_cached(monkeypatch, tmp_path):
    (tmp_path / "rocframe").write_text("no folder")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    assert [cached_text("one.js", lambda: "text") for _ in range(2)] == ["text"] * 2
