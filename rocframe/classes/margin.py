"""Scores of all classes → what sets a class apart from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.options import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

Relative = Literal["difference", "ratio"]


def as_rank(margin: bool | int, classes: int | None) -> int:
    """Read `margin`: which of the best other scores is subtracted; 0 for none."""
    rank = int(margin) if isinstance(margin, bool) else whole("margin", margin, say=3)
    if rank and classes == 1:
        wrong = "there is one class, and no score of another to take away"
        raise OptionValueError.of("margin", margin, wrong, "Leave it out.")
    if classes is not None and rank >= classes:
        raise OptionValueError.of(
            "margin",
            margin,
            f"with {classes} classes each has {classes - 1} others",
            "Give True for the best of the others, or a smaller number.",
        )
    return rank


def best_scores(scores: Sequence[pl.Expr], rank: int) -> tuple[pl.Expr, pl.Expr]:
    """Return the scores of a row at this rank and the next; null if any score is missing."""
    # Of many columns polars makes arrays a dozen times as fast as lists.
    order = pl.concat_arr(*scores).arr.sort(descending=True)
    some = ~pl.any_horizontal(score.is_null() for score in scores)
    at, after = (order.arr.get(place) for place in (rank - 1, rank))
    return pl.when(some).then(at), pl.when(some).then(after)


def best_scores_over(score: pl.Expr, ids: Sequence[pl.Expr], rank: int) -> tuple[pl.Expr, pl.Expr]:
    """Return the same where an instance has a row for each class."""
    order = score.sort(descending=True)
    some = ~score.is_null().any()
    at, after = (order.get(place, null_on_oob=True) for place in (rank - 1, rank))
    return pl.when(some.over(*ids)).then(at.over(*ids)), pl.when(some.over(*ids)).then(
        after.over(*ids)
    )


def above(score: pl.Expr, at: pl.Expr, after: pl.Expr) -> pl.Expr:
    """Return how far a score lies above the others: above that at the rank among them.

    Without a score that is one of the best, what was next to them is.
    """
    return difference(score, pl.when(score >= at).then(after).otherwise(at))


def difference(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Subtract scores; equal ones differ by 0, infinite ones too."""
    return pl.when(one == other).then(pl.lit(0).cast(pl.Float32)).otherwise(one - other)


def relative_to(one: pl.Expr, other: pl.Expr, relative: Relative | None) -> pl.Expr:
    """Set the score of one class against that of another."""
    if relative is None:
        return one
    if relative == "difference":
        return difference(one, other)
    ratio = one / other
    return pl.when(~ratio.is_nan()).then(ratio)
