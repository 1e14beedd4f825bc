"""Benchmarks of multiclass tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import rocframe as rf
from bench.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_CLASSES = 1_000
GROUP_ROWS = 20  # rows of a small group


def benchmarks(rows: int) -> Iterator[tuple[pl.DataFrame, list[Case]]]:
    """Yield each table with the cases to run on it."""
    n_classes, n_rows = min(MAX_CLASSES, rows // 100), rows // 100
    wide = table(n_rows, n_classes)
    names = wide.columns[1:-1]
    name = f"{n_rows:,} rows, {n_classes:,} classes"
    yield (
        wide,
        [
            Case("one_vs_rest, streamed", name, None, _streamed(wide, names)),
            Case(
                "multiclass_auc, macro",
                name,
                None,
                lambda: rf.multiclass_auc(wide, "truth", names, average="macro"),
            ),
            Case("top_label", name, None, lambda: rf.top_label(wide, "truth", names)),
        ],
    )
    groups = rows // 1_000
    small = table(groups * GROUP_ROWS, 3).with_columns(group=pl.int_range(pl.len()) // GROUP_ROWS)
    three = small.columns[1:-1]
    small_softmax = softmax(small, three)
    name = f"{groups:,} groups of {GROUP_ROWS} rows, 3 classes"
    yield (
        small,
        [
            Case(
                "multiclass_auc",
                name,
                None,
                lambda: rf.multiclass_auc(small, "truth", three, by="group"),
            ),
            Case(
                "multiclass_metrics",
                name,
                None,
                lambda: rf.multiclass_metrics(small_softmax, "truth", three, by="group"),
            ),
        ],
    )
    ordered = table(rows // 10, 3)
    ordered_softmax = softmax(ordered, three)
    name = f"{rows // 10:,} rows"
    yield (
        ordered,
        [
            Case(
                "volume, by order",
                name,
                None,
                lambda: rf.volume(ordered, "truth", "c0", classes=["c1", "c2", "c0"]),
            ),
            Case(
                "multiclass_metrics",
                name,
                None,
                lambda: rf.multiclass_metrics(ordered_softmax, "truth", three),
            ),
        ],
    )


def table(rows: int, classes: int) -> pl.DataFrame:
    """Return random scores of classes that overlap, and a constant group column."""
    rng = np.random.default_rng(rows + classes)
    truth = rng.integers(0, classes, rows)
    columns = {}
    for i in range(classes):
        score = rng.standard_normal(rows, dtype=np.float32)
        score[truth == i] += 1.5
        columns[f"c{i}"] = score
    names = pl.Series([*columns])
    return pl.DataFrame(
        {"truth": names.gather(pl.Series(truth)), **columns, "group": np.zeros(rows, np.int64)}
    )


def softmax(scores: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return the table with probabilities that sum to 1 in each row, instead of scores."""
    exponentials = scores.with_columns(pl.col(names).exp())
    return exponentials.with_columns(pl.col(names) / pl.sum_horizontal(names))


def _streamed(wide: pl.DataFrame, names: list[str]) -> Callable[[], object]:
    """Return a function that streams the long table: the mean score of the positives by class."""
    long = rf.one_vs_rest(wide.lazy(), "truth", names, keep=[])
    mean = pl.col("score").filter("label").mean()
    return lambda: long.group_by("class").agg(mean).collect(engine="streaming")
