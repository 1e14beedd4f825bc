from __future__ import annotations

import json
import struct
import sys

import altair as alt
import polars as pl
import pytest

import rocframe as rf

pytest.importorskip("vl_convert")

MARKUP = "</title></script><script>alert(1)</script>"
CHART = (
    alt.Chart(pl.DataFrame({"a": [1.0, float("inf")], "b": [MARKUP, "c"]}))
    .mark_point()
    .encode(x="a:Q", y="b:N")
    .properties(title=MARKUP)
)
STARTS = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF-", ".html": b"<!doctype html>"}


@pytest.mark.parametrize(("suffix", "start"), STARTS.items(), ids=STARTS)
def test_a_chart_is_saved_in_the_format_of_the_suffix(tmp_path, suffix, start):
    for path in (tmp_path / f"chart{suffix}", tmp_path / f"chart{suffix.upper()}"):
        rf.save_chart(CHART, str(path))
        assert path.read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_specification_is_strict_json(tmp_path):
    rf.save_chart(CHART, tmp_path / "chart.json")
    spec = json.loads((tmp_path / "chart.json").read_text(encoding="utf-8"), parse_constant=int)
    (rows,) = spec["datasets"].values()
    assert rows == [{"a": 1.0, "b": MARKUP}, {"a": None, "b": "c"}]


def test_a_page_contains_the_fragment_and_escapes_markup_in_the_data(tmp_path):
    rf.save_chart(CHART, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert rf.chart_fragment(CHART) in page
    assert "<script>alert" not in page
    assert page.count("<title>") == page.count("</title>") == 1


def test_a_page_can_name_a_file_whose_name_has_invalid_bytes(tmp_path):
    log = pl.DataFrame({"label": [1, 0], "score": [0.9, 0.1]})
    path = rf.report(log, "label", "score", path=tmp_path / "page.html", about={"files": "a\udcff"})
    assert "a\\udcff" in path.read_text(encoding="utf-8")


def test_scale_and_ppi_set_the_size_of_an_image(tmp_path):
    def size(**options):
        rf.save_chart(CHART, tmp_path / "chart.png", **options)
        return struct.unpack(">II", (tmp_path / "chart.png").read_bytes()[16:24])

    width, height = size()
    assert size(scale=2) == (2 * width, 2 * height)
    assert size(ppi=144) == (2 * width, 2 * height)


def test_only_images_need_the_fonts_of_the_chart(tmp_path):
    missing = "No Such Font"
    everywhere = CHART.configure(font=missing)
    in_a_mark = CHART + CHART.mark_text(font=missing).encode(text="b:N")
    for chart in (everywhere, in_a_mark):
        for suffix in (".png", ".pdf"):
            with pytest.raises(rf.OptionValueError, match="the font is not installed"):
                rf.save_chart(chart, tmp_path / f"chart{suffix}")
    assert list(tmp_path.iterdir()) == []
    rf.save_chart(everywhere, tmp_path / "chart.svg")
    rf.save_chart(CHART.configure(font="monospace"), tmp_path / "plain.png")
    rf.save_chart(CHART.configure(font=f"{missing}, monospace"), tmp_path / "list.png")
    assert (tmp_path / "list.png").read_bytes() == (tmp_path / "plain.png").read_bytes()


def test_the_old_file_is_unchanged_if_the_chart_cannot_be_drawn(tmp_path):
    path = tmp_path / "chart.svg"
    path.write_text("before")
    broken = CHART.copy()
    broken.mark = "no mark"
    with pytest.raises(Exception, match="no mark"):
        rf.save_chart(broken, path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["chart.svg"]
    with pytest.raises(rf.StorageError, match="does not exist"):
        rf.save_chart(CHART, tmp_path / "none" / "chart.svg")


@pytest.mark.parametrize("suffix", STARTS)
def test_without_the_extra_only_specifications_are_written(tmp_path, monkeypatch, suffix):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    rf.save_chart(CHART, tmp_path / "chart.json")
    with pytest.raises(rf.MissingExtraError) as caught:
        rf.save_chart(CHART, tmp_path / f"chart{suffix}")
    assert str(caught.value) == (
        "save_chart: this needs vl-convert, which is not installed.\n"
        'Install it with: pip install "rocframe[report]".'
    )
    assert [one.name for one in tmp_path.iterdir()] == ["chart.json"]
