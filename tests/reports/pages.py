"""Write pages of small logs, and read their tags, texts and charts."""

from __future__ import annotations

import json
from functools import cache
from html.parser import HTMLParser

import polars as pl

from rocframe.reports.page import report_page
from rocframe.reports.report import ReportOptions
from rocframe.reports.report_tables import areas_and_curves, report_tables

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
    ).with_row_index("id")
    return pl.concat([part.select(pl.lit(name).alias("model"), pl.all()) for name in names])


def evaluate(predictions=None, by="model", **entries):
    """Return the tables of a page, the options and the other entries of its provenance."""
    predictions = log() if predictions is None else predictions
    names = ("kind", "id", "over", "score", "missing", "unmatched", "ci", "costs")
    options = {name: entries.pop(name) for name in names if name in entries}
    options = {"label": "label", "score": "score", "by": by, "missing": "drop", **options}
    options = ReportOptions(**options).with_models(predictions.lazy())
    tables = report_tables(predictions, options, *areas_and_curves(predictions, options))
    return tables, options, {**ABOUT, **entries}


def write(*args, title="T", files=("curves.parquet", "auc.parquet"), **options):
    tables, report_options, provenance = evaluate(*args, **options)
    return report_page(tables, report_options, title=title, provenance=provenance, files=files)


@cache
def plain():
    """Return the page that is written without options."""
    return write()


class Reader(HTMLParser):
    """The tags, the text and the data of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.scripts = [], [], []
        self.inside, self.joined = None, False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.joined = tag == "wbr"
        self.inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.joined:
            self.text[-1] += data.rstrip()
        elif data.strip() and self.inside != "style":
            self.text.append(data.strip())
        self.joined = False

    def handle_endtag(self, _):
        self.inside, self.joined = None, False

    def specs(self):
        data = [text for attrs, text in self.scripts if attrs == {"type": "application/json"}]
        return [json.loads(text) for text in data]

    def curves(self):
        charts = [spec for spec in self.specs() if spec["description"].split(" chart, ")[1:]]
        return [spec for spec in charts if spec not in self.calibration()]

    def calibration(self):
        return [one for one in self.specs() if one["description"].startswith("Calibration chart")]

    def after(self, text, count, section=None):
        start = 0 if section is None else self.text.index(section)
        start = self.text.index(text, start) + 1
        return self.text[start : start + count]
