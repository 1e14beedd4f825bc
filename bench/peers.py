"""Functions of other packages that compute the same areas and curves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import polarbearings as pb
import polars as pl
import polars_ds as pds
from sklearn.metrics import roc_auc_score, roc_curve

import rocframe as rf
from bench.data import predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_PARTITIONS = 10_000  # because a loop over more partitions takes minutes


def _loop(frame: pl.DataFrame, groups: int, function: Callable[..., object]) -> list[object]:
    parts = frame.partition_by("group") if groups > 1 else [frame]
    return [
        function(part["label"].to_numpy(), part["score"].to_numpy())
        for part in parts
        if part["label"].n_unique() == 2  # scikit-learn warns if a partition has one class only
    ]


def sklearn_auc(frame: pl.DataFrame, groups: int) -> object:
    return _loop(frame, groups, roc_auc_score)


def sklearn_curve(frame: pl.DataFrame, groups: int) -> object:
    return _loop(frame, groups, lambda y, s: roc_curve(y, s, drop_intermediate=False))


def _by(frame: pl.DataFrame, groups: int, expr: pl.Expr) -> object:
    return frame.group_by("group").agg(expr) if groups > 1 else frame.select(expr)


def polarbearings_auc(frame: pl.DataFrame, groups: int) -> object:
    return _by(frame, groups, pb.roc_auc("label", "score"))


def polarbearings_curve(frame: pl.DataFrame, groups: int) -> object:
    by = {"by": "group"} if groups > 1 else {}
    return pb.confusion_curve(frame, "label", "score", **by).collect()


def polars_ds_auc(frame: pl.DataFrame, groups: int) -> object:
    return _by(frame, groups, pds.query_roc_auc(pl.col("label").cast(pl.UInt32), "score"))


AUC = {
    "scikit-learn roc_auc_score, looped": sklearn_auc,
    "polars-ds query_roc_auc": polars_ds_auc,
    "polarbearings roc_auc": polarbearings_auc,
}
CURVE = {
    "scikit-learn roc_curve, looped": sklearn_curve,
    "polarbearings confusion_curve": polarbearings_curve,
}


class Contest(NamedTuple):
    """Our runs on one table, by the kind of groups, and those of the other packages."""

    name: str
    runs: dict[str, Callable[[], object]]
    peers: dict[str, Callable[[], object]]


def contests(rows: int) -> Iterator[Contest]:
    """Yield areas and curves of one group, without and with a key column, and of 1,000 groups."""
    for groups, tables in ((1, {"by=None": None, "1 key": "group"}), (1_000, {"1,000": "group"})):
        frame = predictions(rows, groups=groups).drop("weight")
        for name, options, functions in (("auc", {"ci": None}, AUC), ("curve", {}, CURVE)):
            function = getattr(rf, name)
            yield Contest(
                name,
                {
                    table: partial(function, frame, "label", "score", by=by, **options)
                    for table, by in tables.items()
                },
                {peer: partial(run, frame, groups) for peer, run in functions.items()},
            )
