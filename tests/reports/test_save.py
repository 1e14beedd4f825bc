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


LONE_SURROGATE = (
    ": the text contains a lone surrogate, which UTF-8 does not support.\nRemove this character."
)


def test_text_that_utf_8_does_not_support_raises_an_error(tmp_path):
    title = "ROC \ud800"
    chart = CHART.properties(title=title)
    for call in (
        lambda: rf.chart_fragment(chart, bundle=False),
        lambda: rf.save_chart(chart, tmp_path / "chart.html"),
        lambda: rf.save_chart(chart, tmp_path / "chart.png"),
    ):
        with pytest.raises(rf.OptionValueError) as caught:
            call()
        assert str(caught.value) == f"chart={title!r}{LONE_SURROGATE}"
    log = pl.DataFrame({"label": [1, 0], "score": [0.9, 0.1]})
    page = {"path": tmp_path / "page.html"}
    for options, text in (
        ({"title": title}, f"title={title!r}{LONE_SURROGATE}"),
        ({"title": None}, "title=None: expected text.\nPass a string."),
        (
            {"about": {"n": 10**5000}},
            "about['n']=<int>: the value cannot be converted to text.\nPass a string.",
        ),
    ):
        with pytest.raises(rf.OptionValueError) as caught:
            rf.report(log, "label", "score", **page, **options)
        assert str(caught.value) == text
    assert list(tmp_path.iterdir()) == []


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


def test_images_with_a_font_that_is_not_installed_raise_an_error_instead_of_losing_their_text(
    tmp_path,
):
    missing = "No Such Font"
    everywhere = CHART.configure(font=missing)
    in_a_mark = CHART + CHART.mark_text(font=missing).encode(text="b:N")
    message = (
        "font='No Such Font': the font is not installed, so the image would have no text.\n"
        'Install it, or name another font for this case: font="No Such Font, sans-serif". SVG and '
        "HTML files use the fonts of the reader."
    )
    for chart in (everywhere, in_a_mark):
        for suffix in (".png", ".pdf"):
            with pytest.raises(rf.OptionValueError) as caught:
                rf.save_chart(chart, tmp_path / f"chart{suffix}")
            assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []
    rf.save_chart(everywhere, tmp_path / "chart.svg")
    rf.save_chart(CHART.configure(font="monospace"), tmp_path / "plain.png")
    rf.save_chart(CHART.configure(font=f"{missing}, monospace"), tmp_path / "list.png")
    assert (tmp_path / "list.png").read_bytes() == (tmp_path / "plain.png").read_bytes()


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        (
            "chart.svg",
            {"scale": 2},
            (
                "scale=2: this option cannot be used with the format '.svg'.\n"
                "Leave out scale=, or use one of these formats: '.png'."
            ),
        ),
        (
            "chart.pdf",
            {"scale": 2},
            (
                "scale=2: this option cannot be used with the format '.pdf'.\n"
                "Leave out scale=, or use one of these formats: '.png'."
            ),
        ),
        (
            "chart.pdf",
            {"ppi": 300},
            (
                "ppi=300: this option cannot be used with the format '.pdf'.\n"
                "Leave out ppi=, or use one of these formats: '.png'."
            ),
        ),
        (
            "chart.png",
            {"scale": 0},
            (
                "scale=0: expected a number of at least 0.01 and below 10000.\n"
                "Use, for example, scale=2."
            ),
        ),
        (
            "chart.png",
            {"scale": 1e-5},
            (
                "scale=1e-05: expected a number of at least 0.01 and below 10000.\n"
                "Use, for example, scale=2."
            ),
        ),
        (
            "chart.png",
            {"scale": 20000},
            (
                "scale=20000: expected a number of at least 0.01 and below 10000.\n"
                "Use, for example, scale=2."
            ),
        ),
        (
            "chart.png",
            {"scale": True},
            (
                "scale=True: expected a number of at least 0.01 and below 10000.\n"
                "Use, for example, scale=2."
            ),
        ),
        (
            "chart.png",
            {"ppi": "300"},
            (
                "ppi='300': expected a number of at least 1 and below 10000.\n"
                "Use, for example, ppi=300."
            ),
        ),
    ],
)
def test_unsupported_options_and_values_raise_an_error(tmp_path, name, options, text):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.save_chart(CHART, tmp_path / name, **options)
    assert str(caught.value) == text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["", ".jpg", ".vg"])
def test_an_unknown_suffix_raises_an_error(tmp_path, suffix):
    with pytest.raises(rf.StorageError) as caught:
        rf.save_chart(CHART, tmp_path / f"chart{suffix}")
    assert str(caught.value).endswith(
        f"unknown chart format {suffix!r}.\nSupported: '.json', '.html', '.svg', '.png', '.pdf'."
    )


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
