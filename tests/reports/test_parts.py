"""Reports of many rows, whose curves are computed in parts, equal those of one table."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.reports import grouped_curves
from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.grouped_curves import areas_and_curves
from rocframe.reports.report import report_page
from rocframe.reports.tables import report_tables
from tests.reports.pages import ABOUT, without_dashboard

N = 600


def predictions():
    """Return rows of two models and five segments; one segment has no positives, one is null."""
    rng = np.random.default_rng(7)
    segment = rng.integers(0, 5, N)
    positive = (rng.random(N) < 0.4) & (segment != 2)
    score = np.round(0.6 * rng.random(N) + 0.3 * positive, 2)
    names = np.array(["north", "south", "east", "west", None], dtype=object)
    return pl.DataFrame(
        {
            "y": np.where(positive, "yes", "no"),
            "binary": positive.astype(int),
            "score": score,
            "other": np.round(score * 2 - 1 + rng.random(N) / 5, 2),
            "model": rng.choice(["b", "a"], N),
            "segment": pl.Series(names[segment].tolist(), dtype=pl.String),
            "fold": rng.integers(0, 3, N),
            "weight": rng.random(N),
        }
    )


CASES = {
    "keys": {"by": ["model", "segment"], "text_keys": ("model", "segment")},
    "positive class that some groups lack": {"label": "y", "positive": "yes", "by": "segment"},
    "no keys": {},
    "weights": {"by": ["segment"], "weight": "weight", "kind": ["det", "lift"]},
    "counts that are keys": {"by": ["fold", "segment"], "over": None, "count": "fold"},
    "several scores": {"by": "segment", "score": ["score", "other"]},
    "several scores without keys": {"score": ["score", "other"]},
    "costs": {"by": "model", "costs": {"fp": 1, "fn": 5}},
    "constraints": {"by": "segment", "subject_to": {"alerts": (0, 10)}},
    "folds": {"by": ["fold", "model"], "text_keys": ("model",)},
    "scores outside [0, 1]": {"by": "model", "score": "other"},
    "bootstrap": {"by": "segment", "ci": "bootstrap", "seed": 3},
}


@pytest.mark.parametrize("case", CASES)
def test_tables_and_page_of_parts_are_those_of_one_table(case, monkeypatch):
    settings = {"label": "binary", "score": "score", **CASES[case]}
    log = predictions()
    if settings.get("costs"):
        log = log.sample(fraction=1, shuffle=True, seed=1)
    options = ReportOptions(**settings).with_models(log.lazy())
    expected, expected_curves, page = _report(log, options)
    monkeypatch.setattr(grouped_curves, "PART_SCORES", 100)
    compact = log.with_columns(pl.col(options.text_keys).cast(pl.Categorical))
    tables, curves, page_of_parts = _report(compact, options)
    assert_frame_equal(curves, expected_curves, check_exact=True)
    assert page_of_parts == page
    for field in fields(tables):
        value, other = (getattr(one, field.name) for one in (tables, expected))
        if isinstance(value, pl.DataFrame):
            assert_frame_equal(value, other, check_exact=True)
    assert (tables.curves.predictions is not None) == ("by" in settings)


def _report(log, options):
    """Return the tables, the curves as their parts were passed on, and the page."""
    parts = []
    areas = grouped_curves.report_areas(log, options, lambda _: None)
    curves = grouped_curves.report_curves(log, options, lambda _: None, parts.append)
    tables = report_tables(log, options, areas, curves)
    with without_dashboard():
        page = report_page(tables, options, title="T", provenance=ABOUT)
    assert_frame_equal(pl.concat(curves.parts()), pl.concat(parts), check_exact=True)
    return tables, pl.concat(parts), page


def test_curves_of_parts_are_those_of_the_function_curve(monkeypatch):
    monkeypatch.setattr(grouped_curves, "PART_SCORES", 50)
    log, by = predictions(), ["segment", "model"]
    options = ReportOptions(label="binary", score="score", by=by, kind="roc")
    areas, curves = areas_and_curves(log, options)
    expected = rf.curve(log, "binary", "score", by=by)
    assert_frame_equal(pl.concat(curves.parts()), expected, check_exact=True)
    assert curves.keys.equals(areas.select(by))
    few = areas.filter(pl.col("segment").is_null() | (pl.col("segment") == "east"))
    in_few = pl.col("segment").is_null() | (pl.col("segment") == "east")
    assert_frame_equal(curves.of_groups(few), expected.filter(in_few), check_exact=True)
    assert_frame_equal(curves.of_groups(few.clear()), expected.clear())


def test_curves_of_expressions_are_computed_from_all_rows(monkeypatch):
    monkeypatch.setattr(grouped_curves, "PART_SCORES", 50)
    log, score = predictions(), pl.col("other") / pl.col("other").max()
    options = ReportOptions(label="binary", score=score, by="model", kind="roc")
    _, curves = areas_and_curves(log, options)
    assert_frame_equal(curves.all_curves(), rf.curve(log, "binary", score, by="model"))
