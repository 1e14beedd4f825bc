from __future__ import annotations

import json
import re
import sys

import altair as alt
import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.export import json_for_html
from tests.reports.pages import Reader

pytest.importorskip("vl_convert")

MARKUP = "</script><script>alert(1)</script><!-- \"' & {{ a }} שלום 🦊 \u2028"
OTHER = alt.Chart(pl.DataFrame({"a": [1, 2], "b": [MARKUP, "c"]})).mark_bar().encode(x="a", y="b")


def chart(name="model", **options):
    rows = pl.DataFrame({name: ["a", MARKUP], "label": [1, 0], "score": [0.9, 0.4]})
    return rf.curve(rows, "label", "score", by=name).roc.chart(**options)


def test_a_fragment_contains_the_chart_and_a_call_that_draws_the_chart():
    page = Reader(rf.chart_fragment(chart(), bundle=False))
    assert [tag for tag, _ in page.tags] == ["div", "script", "div", "script"]
    with alt.theme.enable("rocframe"):
        assert json.loads(page.code[0]) == chart().to_dict()
    assert page.code[1] == "window.rocframe?.draw?.()"
    assert page.tags[0][1] == {
        "class": "rocframe-chart",
        "role": "img",
        "aria-label": chart().to_dict()["description"].replace("\u2028", " "),
    }
    assert page.tags[1][1] == {"type": "application/json"}


def test_a_fragment_with_its_bundle_has_no_other_scripts():
    fragment = rf.chart_fragment(chart())
    assert fragment.startswith(rf.chart_bundle() + "\n<div ")
    page = Reader(fragment)
    assert [tag for tag, _ in page.tags] == ["script", "div", "script", "div", "script"]
    assert [attrs for tag, attrs in page.tags if tag == "script"] == [
        {},
        {"type": "application/json"},
        {},
    ]
    assert "src=" not in "".join(part for part in fragment.splitlines() if part.startswith("<div"))


@pytest.mark.parametrize("name", ["model", MARKUP])
def test_markup_in_names_and_values_is_escaped(name):
    for drawing in (chart(name), chart(name).properties(title=MARKUP, description=MARKUP), OTHER):
        text = rf.chart_fragment(drawing, bundle=False)
        page = Reader(text)
        assert len(page.tags) == 4
        assert "alert(1)" in page.code[0]
        assert text.count("</script>") == 2


def test_a_fragment_has_no_ids_and_repeated_calls_return_equal_fragments():
    text = rf.chart_fragment(chart(), bundle=False)
    assert text == rf.chart_fragment(chart(), bundle=False)
    assert all("id" not in attrs for _, attrs in Reader(text).tags)


def test_a_fragment_has_no_blank_lines():
    assert rf.chart_fragment(chart(), bundle=False).count("\n") == 0
    assert not re.search(r"\n\s*\n", rf.chart_fragment(chart()))


@pytest.mark.parametrize(
    ("drawing", "alternative"),
    [
        (OTHER, "Chart"),
        (OTHER.properties(title="A\nB"), "A B"),
        (OTHER.properties(title=alt.Title(["A", "B"])), "A B"),
        (OTHER.properties(title="A", description="B"), "B"),
        (OTHER | OTHER, "Chart"),
        ((OTHER & OTHER).properties(title="C"), "C"),
    ],
)
def test_any_chart_of_altair_has_a_fragment(drawing, alternative):
    page = Reader(rf.chart_fragment(drawing, bundle=False))
    assert page.tags[0][1]["aria-label"] == alternative
    assert json.loads(page.code[0])["$schema"].endswith(".json")


def test_a_fragment_contains_data_of_any_length_and_null_for_infinity():
    data = pl.DataFrame({"a": range(6000)}).select(
        pl.when(pl.col("a") == 0).then(float("inf")).otherwise("a").alias("a")
    )
    text = rf.chart_fragment(alt.Chart(data).mark_point().encode(x="a:Q"), bundle=False)
    (rows,) = json.loads(Reader(text).code[0])["datasets"].values()
    assert len(rows) == 6000
    assert rows[:2] == [{"a": None}, {"a": 1.0}]


def test_a_fragment_contains_its_data_with_any_data_transformer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with alt.data_transformers.enable("json"):
        text = rf.chart_fragment(OTHER, bundle=False)
        assert alt.data_transformers.active == "json"
    assert "datasets" in json.loads(Reader(text).code[0])
    assert list(tmp_path.iterdir()) == []


def test_json_for_html_is_equal_json_without_markup():
    spec = {"a": MARKUP, "</script>": ["<", ">", "&", "\u2029"]}
    text = json_for_html(spec)
    assert json.loads(text) == spec
    assert not re.search("[<>&\u2028\u2029]", text)


def test_json_for_html_rejects_nan():
    with pytest.raises(ValueError, match="JSON"):
        json_for_html({"a": float("nan")})


def test_the_bundle_is_one_script_that_defines_one_name():
    bundle = rf.chart_bundle()
    assert bundle == rf.chart_bundle()
    (script,) = Reader(bundle).code
    assert bundle.count("</script") == 1
    assert "<!--" not in bundle
    assert script.startswith("if(!window.rocframe?.embed)(()=>{")
    assert "window.vega" not in script


def test_without_the_extra_only_the_bundle_raises_an_error(monkeypatch):
    from rocframe.reports import export as offline_script

    offline_script.embed_script.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert rf.chart_fragment(chart(), bundle=False)
    with pytest.raises(rf.MissingExtraError) as caught:
        rf.chart_fragment(chart())
    assert str(caught.value) == (
        "chart_bundle: this needs vl-convert, which is not installed.\n"
        'Install it with: pip install "rocframe[report]".'
    )
