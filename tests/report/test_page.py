from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import polars as pl
import pytest

import rocframe as rf

pytest.importorskip("vl_convert")

from rocframe.report.page import Report, as_json, page

NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "a & b 'c'",
    "שלום",
    "🦊",
    "{{ title }}",
    "<!--",
    "\u2028",
]
ABOUT = {
    "label": "label",
    "score": ["score"],
    "positive": True,
    "weight": None,
    "count": None,
    "missing": "drop",
    "rows": 48,
    "files": ["log.parquet"],
    "files_skipped": {},
}


def log(names=("a", "b")):
    part = pl.DataFrame(
        {
            "label": [True, False, True, False, True, False],
            "score": [0.9, 0.4, 0.4, 0.1, 0.7, 0.2],
        }
    )
    return pl.concat([part.select(pl.lit(name).alias("model"), pl.all()) for name in names])


def write(predictions=None, by="model", kinds=("roc", "precision_recall"), title="T", **about):
    predictions = log() if predictions is None else predictions
    options = {"by": by, "missing": "drop"}
    return page(
        Report(
            title=title,
            areas=rf.auc(predictions, "label", "score", **options),
            curves=rf.curve(predictions, "label", "score", **options),
            kinds=kinds,
            about={**ABOUT, **about},
            tables=("curves.parquet", "auc.parquet"),
        )
    )


class Reader(HTMLParser):
    """What a browser makes of a page: its tags, its text, and its data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.scripts, self.inside = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif data.strip() and self.inside != "style":
            self.text.append(data.strip())

    def handle_endtag(self, _):
        self.inside = None

    def specs(self):
        return [json.loads(text) for attrs, text in self.scripts if "data-chart" in attrs]


def test_a_page_has_the_table_the_charts_and_where_they_come_from():
    read = Reader(write())
    assert read.text[0:3] == [
        "T",
        "T",
        "48 predictions, 2 groups by model. Scored by score, positive if label = true.",
    ]
    start = read.text.index("model")
    assert read.text[start : start + 5] == [
        "model",
        "AUC",
        "95 % interval",
        "positives",
        "negatives",
    ]
    assert read.text[start + 5 : start + 8] == ["a", "0.9444", "0.4746 to 0.9969"]
    assert [spec["title"]["text"] for spec in read.specs()] == ["ROC", "Precision-recall"]
    assert "log.parquet" in read.text
    assert read.text[read.text.index("What was left out") + 1] == "Nothing."


def test_names_and_values_are_text_wherever_they_stand():
    predictions = log(NASTY).rename({"model": NASTY[0]})
    text = write(predictions, by=NASTY[0], title=NASTY[1], label=NASTY[0], score=[NASTY[1]],
                 files=[NASTY[0]], files_skipped={NASTY[1]: NASTY[0]})  # fmt: skip
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    read = Reader(text)
    assert {tag for tag, _ in read.tags} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "table",
        "thead", "tr", "th", "tbody", "td", "bdi", "noscript", "figure", "figcaption", "ul", "li",
        "dl", "dt", "dd", "script",
    }  # fmt: skip
    assert len(read.scripts) == 4
    assert read.text.count(NASTY[1]) == 4  # title twice, the group, the file that was left out
    assert all(name in read.text for name in NASTY[:-1])
    assert "'\\u2028'" in read.text


def test_json_in_a_page_is_the_same_json_and_cannot_end_its_script():
    spec = {"a": "".join(NASTY), "</script>": ["<", ">", "&", "\u2029"]}
    text = as_json(spec)
    assert json.loads(text) == spec
    assert not re.search("[<>&\u2028\u2029]", text)


def test_numbers_that_json_lacks_never_get_into_a_page():
    with pytest.raises(ValueError, match="JSON"):
        as_json({"a": float("nan")})


def test_nothing_is_fetched_from_anywhere():
    read = Reader(write())
    assert [tag for tag, attrs in read.tags if {"src", "href", "data", "srcset"} & set(attrs)] == []
    policy = next(attrs for tag, attrs in read.tags if attrs.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'; ")
    style = re.search("<style>(.*?)</style>", write(), re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_each_chart_has_words_for_those_who_do_not_see_it():
    read = Reader(write(kinds=["roc", "precision_recall", "det", "gain", "lift", "lift_chart"]))
    said = [attrs["aria-label"] for _, attrs in read.tags if attrs.get("role") == "img"]
    assert len(said) == 6
    assert all("2 curves" in words and ("a (A" in words or "a (ROC A" in words) for words in said)


def test_what_is_left_out_is_said():
    predictions = pl.concat([log(), log(["c"]).filter("label"), log(["d"]).clear()])
    predictions = predictions.with_columns(score=pl.when(pl.int_range(pl.len()) > 0).then("score"))
    read = Reader(write(predictions, files_skipped={"bad.parquet": "the file is empty"}))
    first = read.text.index("What was left out") + 1
    assert read.text[first : first + 3] == [
        "bad.parquet: the file is empty.",
        "1 prediction with a missing label, score or weight: left out.",
        "1 group with no negatives: no area can be had.",
    ]
    assert {"missing", "note", "no_negatives"} <= set(read.text)


def test_many_groups_are_counted_where_they_are_not_shown():
    read = Reader(write(log([f"{number:04}" for number in range(600)])))
    assert "100 more rows in auc.parquet." in read.text
    assert (
        "12 curves of 600 are drawn: those with the most rows. curves.parquet has them all."
        in read.text
    )


@pytest.mark.parametrize("predictions", [log().clear(), log().filter("label")])
@pytest.mark.parametrize("by", ["model", None])
def test_without_a_single_curve_there_is_a_page_all_the_same(predictions, by):
    read = Reader(write(predictions, by=by))
    assert len(read.specs()) == 2


def test_the_same_evaluation_makes_the_same_page():
    assert write() == write()


def test_a_large_log_makes_a_small_page():
    n = 200_000
    many = pl.select(
        model=pl.int_range(n) % 2, label=pl.int_range(n) % 3 == 0, score=pl.int_range(n).hash() % n
    )
    assert len(write(many)) < 1_300_000
