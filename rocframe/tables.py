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
from rocframe.vocabulary import (
    AUC,
    AUC_TEST,
    BAND,
    FOLD_AUC,
    MULTICLASS_AUC,
    PARTIAL_AUC,
    PLAN,
    POINT,
    POOLING_GAP,
    ROWS,
    THRESHOLD,
    VOLUME,
    WALK,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE_ROW, ONE_HALF = "a tie is one row", "a tie counts one half"
SHARED = "a tie counts 1/k, of k ways that it leaves open"

# What the columns right of the groups are, in the order in which to look for them: a table of
# operating points has the columns of a curve too.
TABLES: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("operating_points", (*POINT, *WALK), ONE_ROW),
    ("intervals", ("metric", *POINT, THRESHOLD, *ROWS, "estimate"), ONE_ROW),
    ("curve", WALK, ONE_ROW),
    ("auc", (*ROWS, *AUC), ONE_HALF),
    ("partial_auc", (*ROWS, *PARTIAL_AUC), ONE_HALF),
    ("auc_test", (*ROWS, *AUC_TEST), ONE_HALF),
    ("multiclass_auc", tuple(MULTICLASS_AUC), ONE_HALF),
    ("volume", tuple(VOLUME), SHARED),
    ("fold_auc", (*ROWS, *FOLD_AUC), ONE_HALF),
    ("pooling_gap", (*ROWS, *POOLING_GAP), ONE_HALF),
    ("plan", tuple(PLAN), None),
    ("comparison", ("model_a", "model_b", "n_paired"), ONE_HALF),
    ("auc_covariance", ("model_a", "model_b", "n_pos", "n_neg"), ONE_HALF),
    ("contrast", ("n_models", "n_paired", "statistic", "df"), ONE_HALF),
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
        for start in range(len(columns) - len(known) + 1):
            if tuple(columns[start : start + len(known)]) != known:
                continue
            if name == "area" and start + len(known) < len(columns):
                continue  # a column `auc` says little while others follow
            return name, start, ties
    return "table", 0, None
