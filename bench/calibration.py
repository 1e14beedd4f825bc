"""Benchmarks of calibration, with goals in seconds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import rocframe as rf
from bench.data import predictions
from bench.decisions import Decision

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, GROUPS = 10_000_000, 100
# The goals of the methods of `calibration`.
GOALS = {"quantile": 3.0, "uniform": 3.0, "isotonic": 4.0, "loess": None, "kernel": None}
SUMMARY_GOAL = 5.0


def benchmarks(scale: float = 1.0) -> Iterator[Decision]:
    """Yield the benchmarks, with the number of rows multiplied by `scale`."""
    rows = max(1_000, round(ROWS * scale))
    frame = predictions(rows, groups=GROUPS)
    name = f"{rows:,} rows, {GROUPS} groups"
    run = partial(rf.calibration, frame, "label", "score", by="group")
    for method, goal in GOALS.items():
        yield Decision(f"calibration, {method}", name, goal, partial(run, method=method))
    summary = partial(rf.calibration_summary, frame, "label", "score", by="group")
    yield Decision("calibration_summary", name, SUMMARY_GOAL, summary)
    for what, options in {
        "weights": {"weight": "weight"},
        "bootstrap": {"ci": "bootstrap", "seed": 1},
        "consistency": {"consistency": True},
    }.items():
        yield Decision(f"calibration, {what}", name, None, partial(run, **options))
    curves = rf.curve(frame, "label", "score", by="group")
    murphy = partial(rf.murphy_curve, curves)
    yield Decision(
        "murphy_curve", name, None, murphy, ("decision_curve", partial(rf.decision_curve, curves))
    )
    yield Decision("murphy_curve, vertices", name, None, partial(murphy, grid="vertices"))
