"""Recognition of tables by their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.curves.kinds import KINDS, kind_of
from rocframe.errors import BrokenCurveError
from rocframe.schemas import AUC, BAND, PARTIAL_AUC, PLAN, POINT, THRESHOLD, WALK, as_instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.curves.kinds import Kind


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


SIDE = "side"

SPREAD = ("sd", "se", "lower", "upper")

ABOUT = {
    "ci_level": pl.Float64,
    "n_curves": pl.Int64,
    "threshold_mean": pl.Float64,
    "threshold_sd": pl.Float64,
    "note": pl.String,
}

POOLED = {"pooled_auc": pl.Float64, "mean_auc": pl.Float64, "n_curves": pl.Int64, "note": pl.String}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """What a table of averaged curves shows: along which axes its curves were averaged."""

    by: tuple[str, ...]
    kind: Kind
    averaged: tuple[str, ...]
    sides: bool

    @property
    def fixed(self) -> Literal["x", "y"] | None:
        """The axis that was held fixed; None where both were averaged at thresholds."""
        if len(self.averaged) == 2:
            return None
        return "x" if self.averaged == (self.kind.y,) else "y"


def mean_schema(kind: Kind, averaged: Sequence[str], *, sides: bool) -> dict[str, pl.DataType]:
    """Dtypes of a table of averaged curves, right of its keys."""
    named = {
        **({SIDE: pl.String} if sides else {}),
        **dict.fromkeys((kind.x, kind.y), pl.Float64),
        **{f"{axis}_{part}": pl.Float64 for axis in averaged for part in SPREAD},
        **ABOUT,
    }
    return {name: as_instance(dtype) for name, dtype in named.items()}


def pooled_schema() -> dict[str, pl.DataType]:
    """Dtypes of what a pooled curve has right of its rates."""
    return {name: as_instance(dtype) for name, dtype in POOLED.items()}


def mean_of(columns: Sequence[str]) -> Mean | None:
    """Recognise a table of averaged curves; None where it is none."""
    names = list(columns)
    for kind in KINDS.values():
        for averaged in ((kind.y,), (kind.x,), (kind.x, kind.y)):
            for sides in (False, True):
                known = list(mean_schema(kind, averaged, sides=sides))
                start = names.index(known[0]) if known[0] in names else len(names)
                if names[start : start + len(known)] == known:
                    by = tuple(names[:start])
                    if not sides and by[-1:] == (SIDE,):
                        continue
                    return Mean(by=by, kind=kind, averaged=averaged, sides=sides)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMean:
    """What such a table shows: which metric was held fixed, and which were averaged."""

    by: tuple[str, ...]
    fixed: str
    averaged: tuple[str, ...]


def held_schema(fixed: str, averaged: Sequence[str]) -> dict[str, pl.DataType]:
    """Dtypes of such a table, right of its keys."""
    named = {fixed: pl.Float64}
    for name in averaged:
        named |= dict.fromkeys(spread_of(name), pl.Float64)
    return {name: as_instance(dtype) for name, dtype in (named | ABOUT).items()}


def spread_of(name: str) -> tuple[str, ...]:
    """Return the columns of an averaged metric: its mean, and the spread about it."""
    return name, *(f"{name}_{part}" for part in SPREAD)


def held_of(columns: Sequence[str]) -> HeldMean | None:
    """Recognise such a table; None where it is none, or an averaged curve of a kind."""
    names, about = list(columns), list(ABOUT)
    if mean_of(names) is not None:
        return None
    width = len(SPREAD) + 1
    for end in range(len(names) - len(about), width, -1):
        if names[end : end + len(about)] != about:
            continue
        start = end
        while start > width and tuple(names[start - width : start]) == spread_of(
            names[start - width]
        ):
            start -= width
        if start < end:
            averaged = tuple(names[start:end:width])
            return HeldMean(by=tuple(names[: start - 1]), fixed=names[start - 1], averaged=averaged)
    return None


def check_axes(columns: Sequence[str]) -> None:
    """Check that a table is none of metrics, which lie on no two axes."""
    held = held_of(columns)
    if held is not None:
        raise BrokenCurveError.of(
            f"curves: these are means at a fixed {held.fixed}, which have no area under them",
            "Make the averaged curve without metrics=, along the axes of its kind.",
        )
