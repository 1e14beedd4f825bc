"""Columns → which of our tables they are.

A table has its columns in an order of their own right of its groups: they say what it shows, in
memory as in a file. `chart` and `about` ask here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocframe.curves.held import held_of
from rocframe.curves.kinds import kind_of
from rocframe.curves.mean import mean_of
from rocframe.errors import BrokenCurveError
from rocframe.vocabulary import AUC, BAND, PARTIAL_AUC, PLAN, POINT, THRESHOLD, WALK

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE_ROW, ONE_HALF = "a tie is one row", "a tie counts one half"
SHARED = "a tie counts 1/k, of k ways that it leaves open"

# Columns that tell a table from all others, in the order in which they stand right of the groups.
# Tables are looked for in this order: a table of operating points has the columns of a curve too.
TABLES: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("operating_points", (*POINT, *WALK), ONE_ROW),
    ("intervals", ("metric", *POINT, "estimate", THRESHOLD), ONE_ROW),
    ("curve", WALK, ONE_ROW),
    ("auc", AUC, ONE_HALF),
    ("partial_auc", PARTIAL_AUC, ONE_HALF),
    ("auc_test", ("auc", "p_value", "p_adjusted", "null", "statistic"), ONE_HALF),
    ("multiclass_auc", ("average", "auc", "n_classes", "n_classes_used"), ONE_HALF),
    ("volume", ("volume", "rule", "n_first", "n_second", "n_third"), SHARED),
    ("fold_auc", ("mean_auc", "sd", "auc_of_mean", "pooled_auc"), ONE_HALF),
    (
        "pooling_gap",
        ("gap", "pooled_auc", "mean_auc", "gap_between", "gap_within", "within_auc"),
        ONE_HALF,
    ),
    ("plan", tuple(PLAN), None),
    ("comparison", ("model_a", "model_b", "difference", "p_value", "p_adjusted"), ONE_HALF),
    ("auc_covariance", ("model_a", "model_b", "covariance", "correlation"), ONE_HALF),
    ("contrast", ("p_value", "p_adjusted", "statistic", "df", "n_models"), ONE_HALF),
    ("band", tuple(BAND), ONE_ROW),
    ("area", ("auc",), ONE_HALF),
    ("area", ("auc_of_mean",), ONE_HALF),
    ("area", ("area_of_mean",), ONE_ROW),
    ("area", ("average_precision", "pr_auc"), ONE_ROW),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a table shows: its name, group columns, kind of curve, and what a tie is in it."""

    name: str
    by: tuple[str, ...]
    ties: str | None
    kind: str | None


def table_of(columns: Sequence[str]) -> Table:
    """Recognise a table by its columns; it is a plain `table` where it is none of ours."""
    mean = mean_of(columns)
    if mean is not None:
        return Table(name="average", by=mean.by, ties=ONE_ROW, kind=mean.kind.name)
    held = held_of(columns)
    if held is not None:
        return Table(name="average", by=held.by, ties=ONE_ROW, kind=None)
    name, start, ties = _recognised(columns)
    kind = None
    if "tn" in columns[start:]:
        try:
            kind = kind_of(columns[start:]).name
        except BrokenCurveError:
            kind = None  # a curve whose rates somebody took away
    return Table(name=name, by=tuple(columns[:start]), ties=ties, kind=kind)


def _recognised(columns: Sequence[str]) -> tuple[str, int, str | None]:
    """Return what a table is, how many group columns it has, and its tie rule."""
    for name, known, ties in TABLES:
        if known[0] not in columns:
            continue
        start = columns.index(known[0])
        right = iter(columns[start:])
        if not all(column in right for column in known):  # in this order
            continue
        if name == "operating_points" and columns[start + len(POINT)] != THRESHOLD:
            continue  # a curve with these group columns, and others
        if name == "area" and tuple(columns[start:]) != known:
            continue  # a column `auc` says little while others follow
        return name, start, ties
    return "table", 0, None
