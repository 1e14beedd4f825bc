"""Charts in a browser whose groups have names of JavaScript or of Vega."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from rocframe.charts.style import JAVASCRIPT_NAMES, WORD_JOINER

WORDS = """
arguments break class delete do eval false for function in let new prototype return self this
true typeof undefined var window NaN Infinity length name apply concat forEach get has join keys map
values E PI MAX_VALUE datum event item group parent view signal scale data format isValid key _id
_vgsid_ f0 x curve angle
"""
NAMES = [*sorted(JAVASCRIPT_NAMES), *WORDS.split()]
ROWS = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})

HALF = set(sorted(JAVASCRIPT_NAMES)[::2])


def charts():
    """Return charts in which each name is a model, a panel, a line, a column and a rule."""
    rows = pl.concat(ROWS.with_columns(model=pl.lit(name)) for name in ("plain", *NAMES))
    special = rows.filter(pl.col("model").is_in(JAVASCRIPT_NAMES))
    curves, special_curves = (
        rf.curve(part, "label", "score", by="model") for part in (rows, special)
    )
    # A legend has at most twelve names.
    yield special_curves.filter(pl.col("model").is_in(HALF)).roc.chart()
    yield special_curves.filter(~pl.col("model").is_in(HALF)).roc.chart()
    yield special_curves.roc.chart(color=None, facet="model")
    yield rf.auc(rows, "label", "score", by="model").roc.chart()
    yield rf.dashboard(
        special_curves.filter(pl.col("model") != "if").rename({"model": "constructor"})
    )
    plain = curves.filter(pl.col("model") == "plain")
    for name in NAMES:
        named = plain.rename({"model": name})
        points = named.roc.operating_point("youden").with_columns(rule=pl.lit(name))
        yield named.roc.chart() + points.roc.chart()


def test_charts_with_names_of_javascript_and_vega_are_drawn(open_page, tmp_path):
    parts = [rf.chart_fragment(chart, bundle=False) for chart in charts()]
    path = tmp_path / "names.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8>{''.join(parts)}{rf.chart_bundle()}", encoding="utf-8"
    )
    page, events = open_page(path)
    page.wait_for_function(
        "document.querySelectorAll('.rocframe-chart[data-drawn=started]').length === 0",
        timeout=120_000,
    )
    boxes = page.locator(".rocframe-chart")
    assert events == []
    assert boxes.evaluate_all("all => all.map(one => one.dataset.drawn)") == ["yes"] * len(parts)
    shown = boxes.evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('svg text')].map(t => t.textContent))"
    )
    # JAVASCRIPT_NAMES has to contain all members of `Object.prototype`.
    members = page.evaluate("Object.getOwnPropertyNames(Object.prototype)")
    assert set(members) <= JAVASCRIPT_NAMES
    texts = [[text.replace(WORD_JOINER, "") for text in one] for one in shown]
    for one, names in zip(texts, (HALF, JAVASCRIPT_NAMES - HALF, JAVASCRIPT_NAMES), strict=False):
        assert set(one) >= {f"{name} (AUC 0.875)" for name in names}
    assert set(texts[3]) >= {"plain", *NAMES}
    assert set(texts[4]) >= {f"{name} (AUC 0.875)" for name in JAVASCRIPT_NAMES if name != "if"}
    for name, one in zip(NAMES, texts[5:], strict=True):
        # The name is the title of a legend, and the name of the rule in a legend.
        assert one.count(name) == 2
        assert "plain (AUC 0.875)" in one
