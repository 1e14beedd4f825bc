"""Callers' own expressions → checked to say one number of each row, whatever the other rows are."""

from __future__ import annotations

from math import inf, isclose
from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.vocabulary import WALK

if TYPE_CHECKING:
    from collections.abc import Sequence

# In no order, of all sizes, with a row that comes twice and one that is not there: whatever looks
# at several rows sees others than it would see alone.
ROWS: tuple[tuple[float | None, ...], ...] = (
    (0.3, 3.0, 7.0, 2.0, 11.0),
    (0.7, 1.0, 0.0, 4.0, 18.0),
    (None, None, None, None, None),
    (-2.0, 5e6, 3e6, 4e5, 6e7),
    (inf, 0.0, 0.0, 5.0, 18.0),
    (0.3, 3.0, 7.0, 2.0, 11.0),
    (0.1, 5.0, 13.0, 0.0, 5.0),
)


def check_rowwise(name: str, expr: pl.Expr, argument: str = "metrics") -> None:
    """Check that an expression makes one number of each row, from that row alone."""
    frame = pl.DataFrame(ROWS, schema=dict.fromkeys(WALK, pl.Float64), orient="row")
    try:
        together = _made(frame, expr)
        alone = [_made(frame[i], expr) for i in range(len(ROWS))]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = (str(error).splitlines() or ["polars says no more"])[0]
        raise _wrong(argument, name, f"it cannot be worked out row by row: {why}") from error
    for made in (together, *alone):
        if not (made.dtype.is_numeric() or made.dtype == pl.Boolean):
            wrong, todo = f"it makes {made.dtype}", "Give a number, or a Boolean."
            raise OptionValueError.of(argument, name, wrong, todo)
    if not _equal(_numbers(together), [_numbers(one)[0] for one in alone]):
        raise _wrong(argument, name, "what it makes of a row depends on other rows")


def _made(frame: pl.DataFrame, expr: pl.Expr) -> pl.Series:
    return frame.with_columns(expr.alias("made")).get_column("made")


def _numbers(made: pl.Series) -> list[float | None]:
    return made.cast(pl.Float64).fill_nan(None).to_list()


def _equal(left: Sequence[float | None], right: Sequence[float | None]) -> bool:
    return all(
        a is b or (a is not None and b is not None and isclose(a, b))
        for a, b in zip(left, right, strict=True)
    )


def _wrong(argument: str, name: str, wrong: str) -> OptionValueError:
    todo = (
        "The counts of all groups and resamples stand in one column: "
        'say pl.col("tp") / (pl.col("tp") + pl.col("fp")), without sums, filters or windows.'
    )
    return OptionValueError.of(argument, name, wrong, todo)
