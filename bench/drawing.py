"""What thinning and drawing take: 20 curves of a million points each, made beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import rocframe as rf
from bench.data import predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import altair as alt
    import polars as pl

CURVES, POINTS = 20, 1_000_000
SIZE = 300  # kilobytes of a chart


class Drawn(NamedTuple):
    """One measurement: what, the goal in seconds, and the work."""

    what: str
    goal: float | None
    work: Callable[[], pl.DataFrame | alt.TopLevelMixin]


def every(points: int = POINTS) -> Iterator[Drawn]:
    """Yield the cases to run, on curves of about so many points."""
    frame = predictions(CURVES * points, groups=CURVES)
    curves = rf.curve(frame, "label", "score", by="group")
    yield Drawn("chart", 3, lambda: rf.chart(curves))
    yield Drawn("chart, precision_recall", None, lambda: rf.chart(curves, kind="precision_recall"))
    yield Drawn("simplify", None, lambda: rf.simplify(curves))
