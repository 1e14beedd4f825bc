"""Benchmarks of curves, areas and averages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import rocframe as rf
from bench import classes
from bench.case import Case
from bench.data import fold_curves, predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl


# For each number of groups, the goals of `auc` with `ci=None` and of `curve` with all points, as
# multiples of the time of np.sort. `FAST_GOALS` are for processors on which np.sort is fast.
SLOW_GOALS: dict[int, tuple[float | None, float | None]] = {
    1: (0.6, 0.8),
    1_000: (0.8, 1),
    100_000: (None, None),
    1_000_000: (None, None),
}
FAST_GOALS = SLOW_GOALS | {1: (2.5, 3.5), 1_000: (4, 6.5)}
INTERVAL_RATIO = 1.3  # goal of `auc` with an interval, as a multiple of `auc` with `ci=None`

MEAN_GOAL = 0.5  # goal of `average`, as a multiple of the time of np.sort


def columns(rows: int) -> Iterator[tuple[int, str, int | None]]:
    """Yield the number of groups, and dtype and decimals of the scores, of each table."""
    for groups in SLOW_GOALS:
        if groups <= rows // 10:
            yield groups, "f8", None
            if groups <= 100_000:
                yield groups, "f4", None
                yield groups, "f8", 3


def benchmarks(
    rows: int, *, fast: bool = False, peers: bool
) -> Iterator[tuple[pl.DataFrame, list[Case]]]:
    """Yield each table with the cases to run on it."""
    for groups, dtype, decimals in columns(rows):
        frame = predictions(rows, groups=groups, dtype=dtype, decimals=decimals)
        by = "group" if groups > 1 else None
        name = f"{groups:,} groups, {dtype}" + (", 3 decimals" if decimals else "")
        plain = dtype == "f8" and decimals is None
        auc_goal, curve_goal = (FAST_GOALS if fast else SLOW_GOALS)[groups]
        cases = [
            Case("auc, ci=None", name, auc_goal, _auc(frame, by, ci=None)),
            Case("auc", name, INTERVAL_RATIO, _auc(frame, by), base="auc, ci=None"),
            Case("curve", name, curve_goal, _curve(frame, by)),
        ]
        if plain:
            simplified = _curve(frame, by, max_error=1 / 500)
            cases += [
                Case("auc, expression", name, None, _expression(frame, by)),
                Case(
                    "auc, ci=None, weights", name, None, _auc(frame, by, ci=None, weight="weight")
                ),
                Case("curve, weights", name, None, _curve(frame, by, weight="weight")),
                Case("curve, 100 thresholds", name, None, _fixed(frame, by)),
                Case("curve, max_error=1/500", name, 2.0, simplified, base="curve"),
            ]
        if plain and peers:
            cases += list(_peers(frame, groups, name))
        yield frame, cases
    yield from classes.benchmarks(rows)
    curves = fold_curves(rows)
    name = f"100 folds, {max(1, rows // 10**7)} models"
    yield curves, [Case("average", name, MEAN_GOAL, _mean(curves))]


def _mean(curves: pl.DataFrame) -> Callable[[], object]:
    return lambda: rf.average(curves, over="fold", kind="roc")


def _auc(frame: pl.DataFrame, by: str | None, **options: Any) -> Callable[[], object]:
    return lambda: rf.auc(frame, "label", "score", by=by, **options)


def _curve(frame: pl.DataFrame, by: str | None, **options: Any) -> Callable[[], object]:
    return lambda: rf.curve(frame, "label", "score", by=by, **options)


def _fixed(frame: pl.DataFrame, by: str | None) -> Callable[[], object]:
    grid = list(np.linspace(0, 1, 100))
    metrics = ["precision", "f1", "accuracy"]
    return lambda: rf.curve(frame, "label", "score", by=by, thresholds=grid, metrics=metrics)


def _expression(frame: pl.DataFrame, by: str | None) -> Callable[[], object]:
    import polars as pl

    area = pl.col("score").roc.auc("label")  # type: ignore[attr-defined]
    return lambda: frame.group_by(by).agg(area) if by else frame.select(area)


def _peers(frame: pl.DataFrame, groups: int, name: str) -> Iterator[Case]:
    from bench import peers

    for what, function in (peers.AUC | peers.CURVE).items():
        if "looped" not in what or groups <= peers.MAX_PARTITIONS:
            yield Case(what, name, None, lambda function=function: function(frame, groups))
