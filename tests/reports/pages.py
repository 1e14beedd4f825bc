"""Write pages of small logs, and read their tags, texts and charts."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import cache
from html.parser import HTMLParser
from unittest.mock import patch

import polars as pl

from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.figures import DashboardSection
from rocframe.reports.grouped_curves import areas_and_curves
from rocframe.reports.report import report_page
from rocframe.reports.tables import report_tables

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
        {"label": [True, False, True, False, True, False], "score": [0.9, 0.4, 0.4, 0.1, 0.7, 0.2]}
    ).with_row_index("id")
    return pl.concat([part.select(pl.lit(name).alias("model"), pl.all()) for name in names])


def evaluate(predictions=None, by="model", **entries):
    """Return the tables of a page, the options and the other entries of its provenance."""
    predictions = log() if predictions is None else predictions
    names = ("kind", "id", "over", "score", "missing", "unmatched", "ci", "costs", "subject_to")
    options = {name: entries.pop(name) for name in names if name in entries}
    options = {"label": "label", "score": "score", "by": by, "missing": "drop", **options}
    options = ReportOptions(**options).with_models(predictions.lazy())
    tables = report_tables(predictions, options, *areas_and_curves(predictions, options))
    return tables, options, {**ABOUT, **entries}


def without_dashboard():
    """Return a context in which pages have no dashboard, which takes half of the time of a page."""
    section = DashboardSection(figure=None, text="")
    return patch("rocframe.reports.report.dashboard_section", return_value=section)


def write(*args, title="T", files=("curves.parquet", "auc.parquet"), dashboard=False, **options):
    tables, report_options, provenance = evaluate(*args, **options)
    with nullcontext() if dashboard else without_dashboard():
        return report_page(tables, report_options, title=title, provenance=provenance, files=files)


@cache
def plain():
    """Return the page that is written without options."""
    return write(dashboard=True)


class Reader(HTMLParser):
    """The tags, the text and the data of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.scripts = [], [], []
        self.inside, self.joined = None, False
        self.cells = []  # of each table: its caption, and the cells of each row
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.joined = tag == "wbr"
        self.inside = tag
        if tag == "table":
            self.cells.append(("", []))
        elif tag == "tr":
            self.cells[-1][1].append([])
        elif tag in {"th", "td"}:
            self.cells[-1][1][-1].append("")
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.inside == "caption":
            self.cells[-1] = (data, self.cells[-1][1])
        elif self.joined:
            self.text[-1] += data.rstrip()
        elif data.strip() and self.inside != "style":
            self.text.append(data.strip())
        if self.cells and self.cells[-1][1] and self.inside in {"th", "td", "bdi", "wbr", "span"}:
            self.cells[-1][1][-1][-1] += data.strip()
        self.joined = False

    def handle_endtag(self, tag):
        self.inside, self.joined = None, False
        if tag in {"span", "bdi"}:
            self.inside = tag
        if tag == "table":
            self.cells.append(("", []))

    @property
    def code(self):
        """Return the content of each script."""
        return [text for _, text in self.scripts]

    def tables(self):
        """Return the rows of each table, by caption, as dicts from titles to cells."""
        return {
            caption: [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
            for caption, rows in self.cells
            if rows
        }

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
