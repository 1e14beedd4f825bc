"""Tables of averaged curves: which columns they have, and how one is recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.curves.kinds import KINDS
from rocframe.vocabulary import as_instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.curves.kinds import Kind

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
