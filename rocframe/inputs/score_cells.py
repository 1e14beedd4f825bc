"""Round scores down to cells of a given width, and check the widths of the cells of a table."""

from __future__ import annotations

from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.errors import ScoreError
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


SCORE_WIDTH = "score_width"
MAX_MULTIPLE = 2.0**53  # Float64 has no digits below the step in larger multiples of the step
MAX_RELATIVE_SCORE = 2.0**970  # the product in `leading_power` overflows for larger numbers
MAX_RESOLUTION = 2.0**900  # of a resolution that is not relative
MIN_RELATIVE_SCORE = 2.0**-1000  # the step of a relative resolution can be 0 for smaller numbers


def power_of_two_below(number: float) -> float:
    """Return the largest power of two that is not above a positive number."""
    return ldexp(0.5, frexp(number)[1])


def leading_power(positive: Any) -> Any:
    """Return the largest power of two that is not above each positive number of an expression.

    S. M. Rump, T. Ogita and S. Oishi (2008), algorithm 3.5, doi:10.1137/050645671. All engines
    return the same numbers, because the algorithm consists of products and differences of Float64.
    """
    product = positive * (2.0**52 + 1)
    return (product - product * (1 - 2.0**-53)).abs()


def round_down(score: Any, resolution: Any, *, relative: Any, when: Callable[..., Any]) -> Any:
    """Return the lower edge of the cell that contains each score.

    The edge is the largest multiple of the step that is not above the score. The step is
    `resolution`, or, if `relative` is true, `resolution` times the largest power of two that is not
    above the absolute score. A score is its own edge if the step is 0, or if the score has no
    digits below the step.

    `score` is an expression of polars or narwhals, and `when` the function of this name of the same
    library. `resolution` and `relative` are values, or polars expressions.
    """
    step = _cell_step(score, resolution, relative, when)
    edge = (score / step).floor() * step
    # The quotient of a negative score near 0 and a large step is 0.
    edge = when(edge > score).then(-step).otherwise(edge)
    return when(_has_cell(score, step)).then(edge).otherwise(score)


def cell_width(edge: pl.Expr, resolution: Any, *, relative: Any) -> pl.Expr:
    """Return the width of the cell with each lower edge: 0 for exact scores, null for null."""
    step = _cell_step(edge, resolution, relative, pl.when)
    width: pl.Expr = pl.when(_has_cell(edge, step)).then(step).otherwise(0.0)
    if relative is not False:
        # The cell above -2^k contains numbers with a smaller leading power than its edge.
        width = pl.when(relative & _is_negative_power(edge)).then(width / 2).otherwise(width)
    return pl.when(edge.is_not_null()).then(width)


def _cell_step(score: Any, resolution: Any, relative: Any, when: Callable[..., Any]) -> Any:
    """Return the distance between neighboring edges at each score; a number if it is constant."""
    if relative is False:
        return resolution
    # Scores above -MAX_RELATIVE_SCORE can be rounded down to this number, so that it needs a step.
    has_step = (score >= -MAX_RELATIVE_SCORE) & (score < MAX_RELATIVE_SCORE)
    step = when(has_step).then(leading_power(score.abs()) * resolution).otherwise(0.0)
    return step if relative is True else pl.when(relative).then(step).otherwise(resolution)


def _has_cell(score: Any, step: Any) -> Any:
    """Return whether a score has digits below the step, which are removed by rounding down."""
    below = score.abs() < step * MAX_MULTIPLE
    return below if isinstance(step, float) else below & (step > 0)


def _is_negative_power(edge: pl.Expr) -> Any:
    return (edge < 0) & (leading_power(edge.abs()) == edge.abs())


def group_resolution(
    edges: Sequence[pl.Expr], width: pl.Expr, by: Sequence[pl.Expr]
) -> tuple[pl.Expr, pl.Expr]:
    """Return the resolution of the cells of each group, and whether it is relative to the scores.

    The resolution is relative if all cells of the group have the same width relative to the leading
    power of their score, but not the same width. A score of 0 has no leading power, and is exact in
    tables with a relative resolution. Widths above MAX_RESOLUTION are relative. Otherwise the
    resolution is the largest width of a cell of the group. Cells of the returned resolution contain
    the cells of the table.

    The inferred kind can differ from the options of `compress`: for example, all cells of a
    relative resolution have the same width if their scores have the same leading power. Then both
    kinds have the cells of the table, and no result depends on the kind.
    """
    power = leading_power(edges[0].abs())
    power = pl.when(_is_negative_power(edges[0])).then(power / 2).otherwise(power)
    positive = pl.when(width > 0).then(width)
    ratio = positive / power
    exact_zero = ((width == 0) & (edges[0].abs() < MIN_RELATIVE_SCORE)).any()
    ends = [positive.min(), positive.max(), ratio.min(), ratio.max(), exact_zero]
    if by:
        ends = [end.over(by) for end in ends]
    narrowest, widest, lowest, highest, exact_zero = ends
    differ = (narrowest < widest) | (exact_zero & (widest > 0)) | (widest > MAX_RESOLUTION)
    # The ratio is infinite if cells that begin at 0 have a width.
    same_ratio = (lowest == highest) & highest.is_finite()
    relative = (differ & same_ratio).fill_null(False) & (len(edges) == 1)
    resolution = pl.when(relative).then(highest).otherwise(widest).fill_null(0.0)
    return resolution, relative


def check_cells(
    keys: pl.DataFrame,
    scores: Sequence[pl.Series],
    width: pl.Series | None,
    by: Sequence[str],
    *,
    compared: bool = False,
    model: pl.Series | None = None,
) -> None:
    """Raise an error for wrong widths, or if a group has cells of different resolutions.

    `keys` are the group columns of the rows, and `by` their names in messages. `width` are the
    widths of the cells, or None if the table does not have this column. A score without a width is
    exact. With `compared`, the message is that of groups whose parts are compared with each other.
    `model` is the model of each row, or None; the message has the widths of each model.
    """
    if width is None:
        return
    is_wrong = (width < 0) | width.is_infinite()
    if width.is_nan().any():
        for score in scores:
            is_scored = score.is_not_nan() if score.dtype.is_float() else score.is_not_null()
            is_wrong |= width.is_nan() & is_scored
        width = width.fill_nan(None)
    if is_wrong.any():
        raise ScoreError.wrong_widths(SCORE_WIDTH, int(is_wrong.sum()))
    if not (width.max() or 0):  # all scores are exact
        return
    edges = [pl.nth(keys.width + 1 + i) for i in range(len(scores))]
    stored, groups = pl.nth(keys.width), [pl.nth(i) for i in range(keys.width)]
    columns = [*keys, *(values.cast(pl.Float64) for values in (width, *scores))]
    table = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns)])
    has_score = pl.any_horizontal(edge.is_not_null() for edge in edges)
    table = table.with_columns(pl.when(has_score).then(stored.fill_null(0)))
    resolution, relative = group_resolution(edges, stored, groups)
    names = ("resolution", "relative")
    table = table.with_columns(resolution.alias(names[0]), relative.alias(names[1]))
    options = {"resolution": pl.col(names[0]), "relative": pl.col(names[1])}
    rounded = pl.any_horizontal(round_down(edge, **options, when=pl.when) != edge for edge in edges)
    widest = pl.max_horizontal(cell_width(edge, **options) for edge in edges)
    if model is not None:
        table = table.with_columns(model.cast(pl.String).alias("model"))
    wrong = table.filter(rounded | (widest != stored))
    if wrong.height:
        group = format_key(by, wrong.row(0))
        if by:
            on = table.columns[: len(by)]
            table = table.join(wrong.head(1), on=on, how="semi", nulls_equal=True)
        distinct_widths = table.select(stored.drop_nulls().unique().sort()).to_series().to_list()
        models = None
        if model is not None:
            widths = stored.drop_nulls().unique().sort()
            by_model = table.group_by("model").agg(widths).sort("model")
            models = dict(zip(*(column.to_list() for column in by_model), strict=True))
        raise ScoreError.different_cells(
            SCORE_WIDTH, distinct_widths, group, compared=compared, models=models
        )
