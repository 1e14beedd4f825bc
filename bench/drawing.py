"""Benchmarks of `chart` and `simplify`, by default with 20 curves of a million points each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import rocframe as rf
from bench.data import predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import altair as alt
    import polars as pl

CURVES, POINTS = 20, 1_000_000
MAX_CHART_KB = 300  # goal for the size of a chart, in kilobytes


class Drawing(NamedTuple):
    """A benchmark: its name, the goal in seconds, and the function to run."""

    name: str
    goal: float | None
    run: Callable[[], pl.DataFrame | alt.TopLevelMixin]


def benchmarks(points: int = POINTS) -> Iterator[Drawing]:
    """Yield the benchmarks, with curves of about `points` points each."""
    frame = predictions(CURVES * points, groups=CURVES)
    curves = rf.curve(frame, "label", "score", by="group")
    yield Drawing("chart", 3, lambda: rf.chart(curves))
    yield Drawing(
        "chart, precision_recall", None, lambda: rf.chart(curves, kind="precision_recall")
    )
    yield Drawing("simplify", None, lambda: rf.simplify(curves))
