"""Benchmarks of decisions: thresholds, hulls, costs and net benefit, with goals in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

import rocframe as rf
from bench.data import predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GROUP_ROWS = 10  # rows of a small group
FOLDS = 10
HULL_CURVES, HULL_POINTS = 50, 1_000_000
HULL_GOAL = 3.0  # goal in seconds for all curves
HULL_MEMORY = 16e9  # memory in bytes for all curves; with less, 20 of them are used


class Decision(NamedTuple):
    """A benchmark: its name, its table, its goal in seconds, and the function to run.

    `peer` is the name of another function that computes the same, or that reads the same table, and
    a call of it. It runs in the same process, and its time is compared with that of `run`.
    """

    name: str
    table: str
    goal: float | None
    run: Callable[[], pl.DataFrame]
    peer: tuple[str, Callable[[], object]] | None = None


def benchmarks(scale: float = 1.0, *, peers: bool = True) -> Iterator[Decision]:
    """Yield the benchmarks, with the numbers of groups and points multiplied by `scale`."""
    yield from _small_groups(scale)
    yield from _folds(scale)
    if peers:
        yield from _peers(scale)
    yield from _hulls(scale)


def _small_groups(scale: float) -> Iterator[Decision]:
    groups = _scaled(100_000, scale)
    frame = predictions(groups * GROUP_ROWS, groups=groups)
    curves = rf.curve(frame, "label", "score", by="group")
    name = f"{groups:,} groups of {GROUP_ROWS} rows"
    costs = {"fp": 1, "fn": 5}
    yield Decision("operating_point", name, 2, lambda: rf.operating_point(curves))
    yield Decision(
        "operating_point, expected_cost",
        name,
        2,
        lambda: rf.operating_point(curves, "expected_cost", costs=costs),
    )
    yield Decision("cost_curve", name, None, lambda: rf.cost_curve(curves))
    yield Decision("decision_curve", name, None, lambda: rf.decision_curve(curves))
    yield Decision(
        "h_measure", name, None, lambda: rf.h_measure(frame, "label", "score", by="group")
    )


def _folds(scale: float) -> Iterator[Decision]:
    models = _scaled(5_000, scale)
    number = pl.int_range(pl.len()) % (models * FOLDS)
    frame = predictions(models * FOLDS * 20).with_columns(
        model=number // FOLDS, fold=number % FOLDS
    )
    curves = rf.curve(frame, "label", "score", by=["model", "fold"])
    yield Decision(
        "transfer",
        f"{models:,} models, {FOLDS} folds of 20 rows",
        None,
        lambda: rf.transfer(curves, over="fold"),
        ("operating_point", lambda: rf.operating_point(curves)),
    )


def _peers(scale: float) -> Iterator[Decision]:
    from sklearn.metrics import roc_curve

    groups = _scaled(1_000, scale)
    frame = predictions(groups * 1_000, groups=groups)

    def loop() -> list[float]:
        best = []
        for part in frame.partition_by("group"):
            fpr, tpr, threshold = roc_curve(part["label"].to_numpy(), part["score"].to_numpy())
            best.append(float(threshold[np.argmax(tpr - fpr)]))
        return best

    yield Decision(
        "curve, then operating_point",
        f"{groups:,} groups of 1,000 rows",
        None,
        lambda: rf.operating_point(rf.curve(frame, "label", "score", by="group")),
        ("scikit-learn roc_curve, looped", loop),
    )


def _hulls(scale: float) -> Iterator[Decision]:
    number = HULL_CURVES if _available_memory() >= HULL_MEMORY else 20
    points = _scaled(HULL_POINTS, scale)
    curves = rf.curve(predictions(number * points, groups=number), "label", "score", by="group")
    goal = HULL_GOAL * number / HULL_CURVES
    name = f"{number} curves of {points:,} points"
    yield Decision("hull", name, goal, lambda: rf.hull(curves))
    yield Decision("hull, across all", name, goal, lambda: rf.hull(curves, across="group"))


def _available_memory() -> float:
    """Return the available memory in bytes; 0 if /proc is not available."""
    path = Path("/proc/meminfo")
    if not path.exists():
        return 0.0
    lines = dict(line.split(":") for line in path.read_text(encoding="utf-8").splitlines())
    return 1024.0 * int(lines["MemAvailable"].split()[0])


def _scaled(full: int, scale: float) -> int:
    return max(10, round(full * scale))
