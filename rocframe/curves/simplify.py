"""The function `simplify`: remove rows of curve tables, with an upper bound of the error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.at import point_axis, rows_at
from rocframe.curves.convex_hull import MAX_EXACT_PRODUCT, hull_vertices
from rocframe.curves.locate import precision_recall_integral
from rocframe.curves.table import check_ends, check_new_columns, curve_layout, read_curves
from rocframe.curves.thinning import (
    BETWEEN,
    MIN_SEARCHED_ROWS,
    CurveCounts,
    LinePoints,
    display_axes,
    douglas_peucker,
    insert_points,
    rows_at_levels,
)
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import as_input_frame, check_keys, column, find_keys, lazy_plan, through_node
from rocframe.kernel.arrays import exact_product, run_parallel
from rocframe.kernel.groups import concatenated_ranges, groups_of_rows, run_starts
from rocframe.kinds import kind_of, scale_of
from rocframe.options import parse_number, parse_numbers, public, to_floats
from rocframe.schemas.curves import SIMPLIFICATION
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import DisplayAxes
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kinds import Kind, Scale
    from rocframe.options import KindName

Keep: TypeAlias = "float | Sequence[float] | pl.Series | pl.DataFrame"


@public
def simplify(
    curves: FrameT,
    /,
    *,
    max_error: float = 1 / 500,
    keep: Keep = (),
    scale: Scale | None = None,
    by: By = None,
    kind: KindName | None = None,
) -> FrameT:
    """Remove rows of each curve, so that the curve changes by at most `max_error`.

    The remaining rows are unchanged; counts are interpolated linearly between them. The first and
    the last row of each curve, all vertices of its convex hull, and the operating points in `keep`
    are never removed.

    With `max_error=0`, the lines between the rows, `auc` and `pr_auc` do not change. But rows are
    missing, so `average_precision`, `tie_bounds`, the row that `at` returns, and the best row under
    constraints can change, as with any `max_error`: compute them from the full curve.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    max_error : float, default 1 / 500
        Largest allowed distance between the simplified and the full curve, as a fraction of the
        length of an axis: at least 0 and below 1.
    keep : float, sequence of float, Series or DataFrame, default ()
        Rows that are not removed: thresholds, of which each selects the row that `at` returns, or a
        table of operating points that `at` returned.
    scale : str, default None
        Scale of the axes on which the error is measured: `"linear"`; `"log"`, a logarithmic x axis,
        for `roc`, `gain`, `lift` and `lift_chart`; or `"normal_deviate"`, both axes, for `roc` and
        `det`. None: `"normal_deviate"` for `det`, otherwise `"linear"`.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve, as in `curve`. By default, that of the two rates right of `tn`.

    Returns
    -------
    DataFrame or LazyFrame
        The remaining rows of `curves`, with all its columns, then `error, area_change` (Float64,
        the same in all rows of a group).

        - `error` is an upper bound of the distance between the simplified and the full curve, and
          at most `max_error`: their y values differ by at most `error` at every x, and their x
          values at every y. For precision-recall and lift curves, it holds for y values only. It is
          null if the curve is undefined, of which the first and last row are returned.
        - `area_change` is the area under the simplified curve minus the area under the full curve:
          `pr_auc` for precision-recall, `auc` for all other kinds; null if the area is undefined.

    Raises
    ------
    RocframeError
        If an option is invalid, if the table is not a curve table or already has a column `error`
        or `area_change`, or if a curve lacks rows.

    References
    ----------
    D. H. Douglas, T. K. Peucker (1973), Cartographica 10(2), 112-122.
    doi:10.3138/FM57-6770-U75U-7727

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 1, 0, 0], "score": [6, 5, 4, 3, 2, 1, 1]}
    ... )
    >>> curves = rf.curve(predictions, "label", "score")
    >>> rf.simplify(curves, max_error=0.4).select("threshold", "tp", "fp", "error").rows()[1:3]
    [(6.0, 1, 0, 0.3333333333333333), (2.0, 3, 2, 0.3333333333333333)]
    """
    limit = parse_max_error(max_error)
    thresholds, points = _parse_keep(keep)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, tuple(SIMPLIFICATION))
        if not table.has_given_thresholds:  # otherwise, gaps are checked first
            check_new_columns(table.row, SIMPLIFICATION, "simplify")
        shape = kind_of(list(schema), kind)
        axes_scale = scale_of(shape, scale)
        if axes_scale == "log" and len(shape.scaled["log"]) > 1:
            problem = (
                "max_error= cannot be guaranteed if both axes are logarithmic, as in "
                f"{shape.title} charts with this scale"
            )
            hint = "Omit scale= to use the default axes of this kind."
            raise OptionValueError.compose("scale", scale, problem, hint)
        if points is not None:
            _check_keep_table(points, table.keys)

        def simplify_curves(frame: pl.DataFrame) -> pl.DataFrame:
            complete = read_curves(frame, table)
            check_ends(
                complete,
                "the error of the simplified curve is unknown",
                "Compute the curve without thresholds=, and keep all its rows.",
            )
            check_new_columns(table.row, SIMPLIFICATION, "simplify")
            counts = CurveCounts(
                tp=complete.columns["tp"],
                fp=complete.columns["fp"],
                starts=complete.starts,
                pos=complete.pos,
                neg=complete.neg,
                required=_mark_keep(complete, thresholds, points),
                prevalence=complete.prevalence,
            )
            rows, measures = simplification(counts, shape, axes_scale, limit)
            line = groups_of_rows(counts.starts, rows)
            return (
                complete.table.select(pl.all().gather(rows))
                .rename({table.private(name): name for name in table.row})
                .with_columns(
                    pl.Series(name, values[line], nan_to_null=True)
                    for name, values in measures.items()
                )
            )

        return through_node(
            plan.select(table.all_columns),
            simplify_curves,
            schema={**table.keys, **table.row, **SIMPLIFICATION},
            by=table.by,
            anchor=THRESHOLD,
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


def parse_max_error(max_error: float) -> float:
    """Check the option `max_error`, and return it as a number of at least 0 and below 1."""
    return parse_number("max_error", max_error, low=0, high=1, closed="left", example=0.002)


def _parse_keep(keep: Keep) -> tuple[list[float], pl.DataFrame | None]:
    """Return the thresholds in the option `keep`, or the table of operating points."""
    if isinstance(keep, pl.DataFrame):
        return [], keep
    if isinstance(keep, pl.LazyFrame) or to_floats(keep) is None:
        raise OptionValueError.unexpected_type(
            "keep",
            keep,
            "a threshold, a list of thresholds or a DataFrame of operating points",
            "Use, for example, keep=0.5 or keep=curves.roc.at(fpr=0.1).",
        )
    return parse_numbers("keep", keep, example="0.5"), None


def _check_keep_table(points: pl.DataFrame, keys: dict[str, pl.DataType]) -> None:
    """Raise an error if operating points lack a threshold or a group column of the curves."""
    check_keys("keep", points.schema, keys, keys, noun="curves")
    if THRESHOLD not in points.columns:
        raise MissingColumnError.of_table("keep", THRESHOLD, points.columns)


def _mark_keep(
    curves: Curves, thresholds: Sequence[float], points: pl.DataFrame | None
) -> BoolArray | None:
    """Return the mask of the rows that `keep` selects; None if the option is empty."""
    is_kept = np.zeros(curves.starts[-1], bool)
    is_kept[rows_at(point_axis(curves, "threshold"), thresholds)[0]] = True
    if points is not None:
        keys = [column(name) for name in curves.layout.by]
        threshold = column(curves.layout.private(THRESHOLD))
        floats = curves.layout.scores
        rows = curves.table.select(*keys, threshold.cast(floats))
        kept_rows = points.select(*keys, column(THRESHOLD).cast(floats)).unique()
        is_kept |= find_keys(rows, kept_rows).is_not_null().to_numpy()
    return is_kept if thresholds or points is not None else None


SIMPLIFIED_BATCH_ROWS = 1 << 18  # rows of curves that are simplified together
# Largest distance between successive examined rows that are not adjacent, relative to `max_error`.
ROW_STEP = 1 / 8
# Largest distance between neighboring points on a curved line, relative to `max_error`. The minimum
# is a fraction of the length of an axis.
CURVED_STEP = 1 / 4
MIN_CURVED_STEP = 1e-5
# If a curve has fewer pairs of a positive and a negative, rounding errors of deviations are
# negligible.
MAX_CORNER_PRODUCT = 2**40
ROUNDING_OF_PRODUCTS = 2.0**-49  # more than the relative rounding error of a product of differences
SHORT_CURVE_ROWS = 32  # if lines are curved, all rows of curves with fewer rows are selected


def simplification(
    counts: CurveCounts, kind: Kind, scale: Scale, max_error: float
) -> tuple[IntArray, dict[str, FloatArray]]:
    """Return the rows of simplified curves, and the columns `SIMPLIFICATION` of each curve."""
    rows, error = simplified_rows(counts, kind, scale, max_error)
    change = area_change(counts, rows, kind)
    if not max_error:  # the curves do not change: no rounding errors of areas
        change[~np.isnan(change)] = 0
    return rows, dict(zip(SIMPLIFICATION, (error, change), strict=True))


def simplified_rows(
    counts: CurveCounts, kind: Kind, scale: Scale, max_error: float
) -> tuple[IntArray, FloatArray]:
    """Return the rows of simplified curves, and the error bound of each curve; NaN if undefined."""
    if not max_error:
        return _exact_rows(counts, kind, scale)
    curves = len(counts.starts) - 1
    sizes = np.diff(counts.starts)
    if scale == "normal_deviate" or kind.segments != "straight":  # points are inserted between rows
        inserted = int(4 / max(CURVED_STEP * max_error, MIN_CURVED_STEP))
        sizes = sizes + np.where(sizes < SHORT_CURVE_ROWS, 0, inserted)
    batch = np.cumsum(sizes) // SIMPLIFIED_BATCH_ROWS
    edges = np.append(run_starts(batch), curves)

    def simplify_part(part: tuple[int, int]) -> tuple[IntArray, FloatArray]:
        rows, error = _simplify_batch(counts.slice(*part), kind, scale, max_error)
        return rows + counts.starts[part[0]], error

    results = run_parallel(simplify_part, pairwise(edges.tolist()), arrays_only=True)
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in results)])
    return rows, np.concatenate([np.zeros(0), *(error for _, error in results)])


def _exact_rows(counts: CurveCounts, kind: Kind, scale: Scale) -> tuple[IntArray, FloatArray]:
    """Return the results of `simplified_rows` for the error 0: rows at which a line ends or turns.

    Between two rows, counts are interpolated linearly, whatever the axes are. Rows at a jump remain
    as well, because the ends of scaled axes depend on them.
    """
    tp, fp, starts = counts.tp, counts.fp, counts.starts
    axes = display_axes(kind, scale, counts.on_axes(kind))
    is_kept = _mark_jumps(axes, counts)
    is_kept[starts[:-1]] = is_kept[starts[1:] - 1] = True
    if counts.required is not None:
        is_kept |= counts.required
    # Of several rows with the same counts, one determines the line.
    lengths, lasts = np.diff(starts), starts[1:] - 1
    is_last, is_repeated = (
        np.logical_and.reduce([part == other for part, other in pairs])
        for pairs in (
            [(part, np.repeat(part[lasts], lengths)) for part in (tp, fp)],
            [(part[1:], part[:-1]) for part in (tp, fp)],
        )
    )
    is_point = ~is_last
    is_point[1:] &= ~is_repeated
    is_point[starts[:-1]] = is_point[lasts] = True
    rows = np.flatnonzero(is_point)
    is_kept[rows[1:-1]] |= _turns(tp[rows], fp[rows])
    return np.flatnonzero(is_kept), np.where(_is_defined(axes), 0.0, np.nan)


def _turns(tp: Array, fp: Array) -> BoolArray:
    """Return whether the line turns at each point except the first and the last, exactly."""
    height, width = np.diff(tp), np.diff(fp)
    with np.errstate(over="ignore", invalid="ignore"):
        one, other = exact_product(height[1:], width[:-1]), exact_product(height[:-1], width[1:])
        turns = np.asarray(one != other, bool)
        if tp.dtype.kind != "f":
            return turns
        # Differences and products of floats have relative rounding errors of 2**-53. Unless the two
        # products differ by more, they are compared as fractions.
        close = np.flatnonzero(~(abs(one - other) > ROUNDING_OF_PRODUCTS * abs(one + other)))
    x, y = ([[Fraction(part[i]) for i in close + j] for j in range(3)] for part in (fp, tp))
    turns[close] = [
        (y2 - y1) * (x1 - x0) != (y1 - y0) * (x2 - x1)
        for x0, x1, x2, y0, y1, y2 in zip(*x, *y, strict=True)
    ]
    return turns


def _simplify_batch(
    counts: CurveCounts, kind: Kind, scale: Scale, max_error: float
) -> tuple[IntArray, FloatArray]:
    """Return the results of `simplified_rows` for the curves of a batch."""
    # For very long curves, `_examine_curves` is faster than a search for corners, because it does
    # not read all rows.
    is_long = len(counts.tp) > 2 * SIMPLIFIED_BATCH_ROWS
    if is_long or counts.tp.dtype.kind != "i" or kind.x != "fpr" or scale != "linear":
        return _examine_curves(counts, kind, scale, max_error)
    corners, is_regular = _find_corners(counts)
    # The deviation of a corner from the line between two other rows is at least 1 / (pos * neg). If
    # `max_error` is smaller, all corners remain, and the error is 0.
    product = counts.pos.astype(np.float64) * counts.neg
    is_exact = is_regular & (product * max_error < 1 - 1e-9) & (product < MAX_CORNER_PRODUCT)
    error = np.where(product > 0, 0.0, np.nan)
    required = corners if counts.required is None else corners | counts.required
    if not is_exact.all():
        corners = corners | np.repeat(product >= MAX_CORNER_PRODUCT, np.diff(counts.starts))
        rest, rows = counts.select(~is_exact)
        selected, error[~is_exact] = _examine_curves(rest, kind, scale, max_error, corners[rows])
        required[rows] = False
        required[rows[selected]] = True
    return np.flatnonzero(required), error


def _find_corners(counts: CurveCounts) -> tuple[BoolArray, BoolArray]:
    """Return a mask of the rows that are corners, and a mask of the curves that are regular.

    Only rows inside a horizontal or vertical line are no corners. In a regular curve, neighboring
    rows differ, and no row is inside a straight diagonal line.
    """
    starts = counts.starts
    height, width = np.diff(counts.tp), np.diff(counts.fp)
    rises, widens = height != 0, width != 0
    corners = np.ones(len(counts.tp), bool)
    corners[1:-1] = (rises[1:] != rises[:-1]) | (widens[1:] != widens[:-1])
    corners[1:-1] |= rises[1:] == widens[1:]
    corners[starts[:-1]] = corners[starts[1:] - 1] = True
    diagonal, repeated = rises & widens, ~(rises | widens)
    diagonal[starts[1:-1] - 1] = repeated[starts[1:-1] - 1] = False  # steps to the next curve
    step = np.flatnonzero(diagonal[1:] & diagonal[:-1])
    step = step[height[step] * width[step + 1] == height[step + 1] * width[step]]
    irregular = np.append(step, np.flatnonzero(repeated))
    is_regular = np.ones(len(starts) - 1, bool)
    is_regular[groups_of_rows(starts, irregular)] = False
    return corners, is_regular


def _examine_curves(
    counts: CurveCounts,
    kind: Kind,
    scale: Scale,
    max_error: float,
    corners: BoolArray | None = None,
) -> tuple[IntArray, FloatArray]:
    """Return the results of `simplified_rows`; only `corners` can be farthest from a line."""
    if corners is None:
        candidates = np.ones(len(counts.tp), bool)
        required = hull_vertices(counts.tp, counts.fp, counts.starts)
    else:
        candidates, rows = corners, np.flatnonzero(corners)
        required, starts = np.zeros(len(corners), bool), np.searchsorted(rows, counts.starts)
        required[rows] = hull_vertices(counts.tp[rows], counts.fp[rows], starts)
    counts = counts.on_axes(kind)
    axes, sizes = display_axes(kind, scale, counts), np.diff(counts.starts)
    if counts.required is not None:
        required |= counts.required
    required |= _mark_jumps(axes, counts)
    if axes.curved:
        required |= np.repeat(sizes < SHORT_CURVE_ROWS, sizes)
    counts = replace(counts, required=required)
    # If all rows of a curve are required, the error of the curve is 0.
    is_complete = np.logical_and.reduceat(required | ~candidates, counts.starts[:-1])
    if not is_complete.any():
        return _select_rows(counts, axes, max_error, candidates)
    error = np.where(_is_defined(axes), 0.0, np.nan)
    if not is_complete.all():
        part, rows = counts.select(~is_complete)
        part_axes = display_axes(kind, scale, part)
        selected, error[~is_complete] = _select_rows(part, part_axes, max_error, candidates[rows])
        required[rows[selected]] = True
    return np.flatnonzero(required), error


def _is_defined(axes: DisplayAxes) -> BoolArray:
    """Return whether both axes of each curve are defined."""
    defined: BoolArray = (axes.pos > 0) & (axes.x_total > 0)
    return defined & (axes.neg > 0) if axes.kind.y == "skill" else defined


def _select_rows(
    counts: CurveCounts, axes: DisplayAxes, max_error: float, candidates: BoolArray
) -> tuple[IntArray, FloatArray]:
    """Return the results of `simplified_rows`, from required rows and `candidates`."""
    required, defined = counts.required, _is_defined(axes)
    assert required is not None
    step, sizes = ROW_STEP * max_error, np.diff(counts.starts)
    n_candidates = np.add.reduceat(candidates, counts.starts[:-1], dtype=np.int64)
    is_full = n_candidates <= MIN_SEARCHED_ROWS
    examined = required.copy()
    for i in np.flatnonzero(defined & ~is_full).tolist():
        a, b = counts.starts[i], counts.starts[i + 1]
        rows = _rows_to_examine(axes, i, counts.tp[a:b], counts.fp[a:b], step)
        is_full[i] = len(rows) >= n_candidates[i]
        if not is_full[i]:
            examined[a + rows] = True
    examined |= candidates & np.repeat(defined & is_full, sizes)
    points = ExaminedPoints.from_rows(axes, counts, np.flatnonzero(examined))
    skipped = points.rows_in_long_steps(step)
    if len(skipped):
        examined[skipped] = True
        points = ExaminedPoints.from_rows(axes, counts, np.flatnonzero(examined))
    if axes.curved:
        points = points.insert_between_rows(axes, max(CURVED_STEP * max_error, MIN_CURVED_STEP))
    is_integer = counts.tp.dtype.kind == "i"
    is_exact = is_integer and bool((axes.pos * axes.x_total < MAX_CORNER_PRODUCT).all())
    rows, error = points.choose_rows(axes, required, max_error, is_exact=is_exact)
    error[~defined] = np.nan
    return rows, error


def _mark_jumps(axes: DisplayAxes, counts: CurveCounts) -> BoolArray:
    """Return a mask of the two rows at each jump of a curve.

    A curve jumps from its first row to the second if y is precision or lift, which are undefined in
    the first row. On scaled axes, a curve also jumps where a rate changes from or to 0 or 1.
    """
    marked = np.zeros(len(counts.tp), bool)
    if not axes.monotone:  # the first point at which precision or lift is defined
        marked[np.minimum(counts.starts[:-1] + 1, counts.starts[1:] - 1)] = True
    if axes.scale == "linear":
        return marked
    x_count, other_count = axes.axis_counts(counts.tp, counts.fp)
    conditions = [x_count > 0]
    if axes.scale == "normal_deviate":
        sizes = np.diff(counts.starts)
        conditions += [other_count > 0, other_count >= np.repeat(counts.pos, sizes)]
        conditions += [x_count >= np.repeat(axes.x_total, sizes)]
    for condition in conditions:
        marked[1:] |= condition[1:] != condition[:-1]
        marked[:-1] |= condition[1:] != condition[:-1]
    return marked


def _rows_to_examine(axes: DisplayAxes, curve: int, tp: Array, fp: Array, step: float) -> IntArray:
    """Return rows of one curve between which the curve moves by about `step` on the axes."""
    return rows_at_levels(len(tp), lambda: axes.levels(curve, tp, fp, step))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExaminedPoints:
    """The examined points of curves, and their positions `x` and `y` on the axes.

    Between a point and the next one, the curve deviates from both by at most `dx` and `dy`. If
    these are 0, it is the straight line between them.
    """

    points: LinePoints
    x: FloatArray
    y: FloatArray
    dx: FloatArray
    dy: FloatArray

    @classmethod
    def from_rows(cls, axes: DisplayAxes, counts: CurveCounts, rows: IntArray) -> ExaminedPoints:
        """Return the points of `rows`, which include the first and last row of each curve."""
        starts = np.searchsorted(rows, counts.starts)
        curve = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        tp, fp = counts.tp[rows].astype(np.float64), counts.fp[rows].astype(np.float64)
        points = LinePoints(curve=curve, row=rows, tp=tp, fp=fp, pos=axes.pos, neg=axes.neg)
        x, y = _positions(axes, points)
        y = _fill_first_y(y)
        x_count, other_count = axes.axis_counts(tp, fp)
        dx, dy = np.zeros(len(rows)), np.zeros(len(rows))
        gap = np.flatnonzero(
            (np.diff(rows) > 1) & (np.diff(x_count) > 0) & (np.diff(other_count) > 0)
            & (curve[1:] == curve[:-1])
        )  # fmt: skip
        if axes.monotone:
            dx[gap], dy[gap] = x[gap + 1] - x[gap], abs(y[gap + 1] - y[gap])
        else:
            # The counts of the skipped rows are between the counts of the two examined rows. In
            # this rectangle of counts, y has its extremes at two corners.
            with np.errstate(divide="ignore", invalid="ignore"):
                extremes = [
                    axes.y(x_count[gap + i], other_count[gap + 1 - i], curve[gap]) for i in (0, 1)
                ]
            dy[gap] = abs(extremes[1] - extremes[0])
        return cls(points=points, x=x, y=y, dx=dx, dy=dy)

    def rows_in_long_steps(self, step: float) -> IntArray:
        """Return all rows between neighboring examined rows that are more than `step` apart."""
        row = self.points.row
        far = np.flatnonzero(np.maximum(self.dx, self.dy) > step * (1 + 1e-9))
        return concatenated_ranges(row[far] + 1, row[far + 1] - row[far] - 1)

    def insert_between_rows(self, axes: DisplayAxes, step: float) -> ExaminedPoints:
        """Return the points with more points on curved lines, at most `step` apart."""
        points = self.points
        x_count, other_count = axes.axis_counts(points.tp, points.fp)
        is_curved = np.append((np.diff(points.row) == 1) & (np.diff(x_count) > 0), False)
        is_curved[:-1] &= points.curve[1:] == points.curve[:-1]
        if axes.monotone:
            is_curved[:-1] &= np.diff(other_count) > 0

        def needs_point(start: LinePoints, end: LinePoints) -> BoolArray:
            (x, y), (next_x, next_y) = _positions(axes, start), _positions(axes, end)
            is_long: BoolArray = abs(next_y - y) > step
            return is_long | (abs(next_x - x) > step) if axes.monotone else is_long

        points = insert_points(points, np.flatnonzero(is_curved), needs_point)
        is_row = points.row != BETWEEN
        x, y = np.empty(len(is_row)), np.empty(len(is_row))
        x[is_row], y[is_row] = self.x, self.y
        x[~is_row], y[~is_row] = _positions(axes, points.select(~is_row))
        last_row = np.cumsum(is_row) - 1  # the index in `self.points` of the last row
        is_curved = is_curved[last_row]
        dy = np.where(is_curved, abs(np.diff(y, append=nan)), self.dy[last_row])
        dx = self.dx[last_row]
        if axes.monotone:
            dx = np.where(is_curved, abs(np.diff(x, append=nan)), dx)
        return ExaminedPoints(points=points, x=x, y=y, dx=dx, dy=dy)

    def choose_rows(
        self, axes: DisplayAxes, required: BoolArray, max_error: float, *, is_exact: bool
    ) -> tuple[IntArray, FloatArray]:
        """Return the rows that remain in simplified curves, and the error bound of each curve.

        `is_exact` states that products of two counts have no rounding errors.
        """
        points = self.points
        curve, (x_count, other_count) = points.curve, axes.axis_counts(points.tp, points.fp)
        # The larger of the deviations before and after a point.
        dx, dy = (np.maximum(step, np.append(0, step[:-1])) for step in (self.dx, self.dy))

        def deviation(
            point: IntArray, left: IntArray, right: IntArray, sizes: IntArray
        ) -> tuple[FloatArray, FloatArray]:
            """Return the distances of points from the straight lines between two other points."""
            factor = np.ones(len(left))
            left, right = left.repeat(sizes), right.repeat(sizes)
            width, height = x_count[right] - x_count[left], other_count[right] - other_count[left]
            # If only one count changes, the curve is a straight line, and the deviation is 0.
            flat = (width <= 0) | (height <= 0)
            x_share, other_share = (
                np.divide(count[point] - count[left], size, out=np.zeros(len(point)), where=~flat)
                for count, size in ((x_count, width), (other_count, height))
            )
            y = axes.y(x_count[point], other_count[left] + x_share * height, curve[point])
            result: FloatArray = abs(self.y[point] - y) + dy[point]
            if axes.monotone:
                x = axes.x(x_count[left] + other_share * width, curve[point])
                result = np.maximum(result, abs(self.x[point] - x) + dx[point])
            result[flat] = 0
            return result, factor

        is_complete = not (dx.any() or dy.any())

        def linear_deviation(
            point: IntArray, left: IntArray, right: IntArray, sizes: IntArray
        ) -> tuple[FloatArray, FloatArray]:
            """Return the result of `deviation` for axes on which rates are linear."""
            x, y, line = x_count[left], other_count[left], curve[left]
            width, height = x_count[right] - x, other_count[right] - y
            is_flat = (width <= 0) | (height <= 0)
            width[is_flat] = height[is_flat] = 0
            # The horizontal and the vertical distance of a point from a line are proportional to
            # the cross product of two vectors.
            across, other = x_count[point], other_count[point]
            across -= x.repeat(sizes)
            across *= height.repeat(sizes)
            other -= y.repeat(sizes)
            other *= width.repeat(sizes)
            across -= other
            np.abs(across, out=across)
            by_x, by_y = (
                np.divide(1, size * total[line], out=np.zeros(len(left)), where=~is_flat)
                for size, total in ((height, axes.x_total), (width, axes.pos))
            )
            if is_complete and is_exact:
                # Exact distances that differ are not equal after the multiplication by a factor.
                return across, np.maximum(by_x, by_y)
            if is_complete:
                across *= np.maximum(by_x, by_y).repeat(sizes)
            else:
                by_y_distance = across * by_y.repeat(sizes) + dy[point]
                across *= by_x.repeat(sizes)
                across += dx[point]
                np.maximum(across, by_y_distance, out=across)
            return across, np.ones(len(left))

        if axes.curved:
            is_row = points.row != BETWEEN
            is_required = np.zeros(len(is_row), bool)
            is_required[is_row] = required[points.row[is_row]]
        else:
            is_row, is_required = None, required[points.row]
        with np.errstate(divide="ignore", invalid="ignore"):
            selected, error = douglas_peucker(
                points.starts,
                linear_deviation if axes.monotone and axes.scale == "linear" else deviation,
                max_error,
                required=is_required,
                allowed=is_row,
            )
        # Rows between two neighboring examined points were not examined. Their error is at most the
        # larger of dx and dy.
        gap = np.flatnonzero(selected[1:] & selected[:-1] & (np.diff(points.row) > 1))
        np.maximum.at(error, curve[gap], np.maximum(self.dx, self.dy)[gap])
        return points.row[selected], error


def _positions(axes: DisplayAxes, points: LinePoints) -> tuple[FloatArray, FloatArray]:
    """Return the positions of points on the x axis and on the y axis."""
    x_count, other_count = axes.axis_counts(points.tp, points.fp)
    with np.errstate(divide="ignore", invalid="ignore"):
        return axes.x(x_count, points.curve), axes.y(x_count, other_count, points.curve)


def _fill_first_y(y: FloatArray) -> FloatArray:
    """Return y with undefined values replaced by the next value, as in the first row of a curve."""
    undefined = np.flatnonzero(np.isnan(y[:-1]))
    y[undefined] = y[undefined + 1]
    return y


AREA_BATCH_ROWS = 1 << 17


def area_change(counts: CurveCounts, rows: IntArray, kind: Kind) -> FloatArray:
    """Return the area under each simplified curve minus that under the full curve, or NaN."""
    measure = AREA_MEASURES.get(kind.name, ROC_AREA)
    counts = counts.on_axes(kind) if measure.on_axes else counts
    total = measure.total(counts.pos.astype(np.float64), counts.neg.astype(np.float64))
    firsts = counts.starts[:-1]
    change = np.zeros(len(firsts))
    if not len(firsts):
        return change
    # Intervals between remaining rows are processed in batches with similar numbers of full rows.
    batch = rows[:-1] // AREA_BATCH_ROWS
    edges = np.append(run_starts(batch), len(rows) - 1)
    parts = [slice(a, b + 1) for a, b in pairwise(edges.tolist())]
    changes = run_parallel(lambda part: measure.change(counts, rows[part]), parts, arrays_only=True)
    change_of_interval = np.concatenate([np.zeros(0), *changes])
    first_rows = np.searchsorted(rows, firsts)
    change_of_interval[first_rows[1:] - 1] = 0  # from the last row of a curve to the next curve
    changed = np.flatnonzero(change_of_interval)
    np.add.at(change, groups_of_rows(first_rows, changed), change_of_interval[changed])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, change / total, np.nan)


def _interval_counts(count: Array, rows: IntArray) -> tuple[Array, Array, Array, Array]:
    """Return the counts after and before each step, and at the end and start of each interval.

    Steps are between rows, and intervals between the remaining `rows`.
    """
    first, last = rows[0], rows[-1]
    ends = count[rows]
    return count[first + 1 : last + 1], count[first:last], ends[1:], ends[:-1]


def _roc_area_change(counts: CurveCounts, rows: IntArray) -> FloatArray:
    """Return twice the change of the ROC area in each interval, times both class sizes."""
    (tp, tp0, tp2, tp1), (fp, fp0, fp2, fp1) = (
        _interval_counts(part, rows) for part in (counts.tp, counts.fp)
    )
    height, width, sizes = tp2 - tp1, fp2 - fp1, np.diff(rows)
    change = np.zeros(len(sizes))
    intervals = np.ones(len(sizes), bool)
    if tp.dtype.kind == "i":  # the result is exactly 0 for single steps and flat intervals
        intervals = (sizes > 1) & (height != 0) & (width != 0)
        if not intervals.any():
            return change
    if not intervals.all():
        steps = np.repeat(intervals, sizes)
        tp, tp0, fp, fp0 = (part[steps] for part in (tp, tp0, fp, fp0))
        height, width, tp1, sizes = (part[intervals] for part in (height, width, tp1, sizes))
    if tp.dtype.kind == "i" and int(abs(height).max()) * int(abs(width).max()) > MAX_EXACT_PRODUCT:
        tp, tp0, fp, fp0, height, width, tp1 = (
            part.astype(np.float64) for part in (tp, tp0, fp, fp0, height, width, tp1)
        )
    # tp is reduced by its value at the left end of the interval. These differences are small, so
    # their sums are exact.
    heights = tp + tp0 - np.repeat(2 * tp1, sizes)
    curve = np.add.reduceat((fp - fp0) * heights, np.cumsum(sizes) - sizes)
    change[intervals] = height * width - curve
    return change


def _precision_area_change(counts: CurveCounts, rows: IntArray) -> FloatArray:
    """Return the change of the integral of precision over tp in each interval between two rows."""
    change = np.zeros(len(rows) - 1)
    has_rows = np.diff(rows) > 1
    if not has_rows.any():
        return change
    (tp, tp0, tp2, tp1), (fp, fp0, fp2, fp1) = (
        _interval_counts(part, rows) for part in (counts.tp, counts.fp)
    )
    inside, steps = np.repeat(has_rows, np.diff(rows)), np.zeros(len(tp))
    steps[inside] = _precision_steps(*(part[inside] for part in (tp, fp, tp0, fp0)))
    ends = _precision_steps(*(part[has_rows] for part in (tp2, fp2, tp1, fp1)))
    change[has_rows] = ends - np.add.reduceat(steps, rows[:-1] - rows[0])[has_rows]
    return change


def _precision_steps(*counts: Array) -> FloatArray:
    """Return the integral of precision over tp for each step; 0 for a step to the next curve."""
    tp, fp, tp0, fp0 = (part.astype(np.float64) for part in counts)
    back = (tp < tp0) | (fp < fp0)
    return precision_recall_integral(np.where(back, tp0, tp), np.where(back, fp0, fp), tp0, fp0)


class AreaMeasure(NamedTuple):
    """An area: its change in each interval, divided by `total`, a function of the class sizes.

    `on_axes` is True if the counts are those at the prevalence of the axes.
    """

    change: Callable[[CurveCounts, IntArray], FloatArray]
    total: Callable[[FloatArray, FloatArray], FloatArray]
    on_axes: bool = False


ROC_AREA = AreaMeasure(_roc_area_change, lambda pos, neg: 2 * pos * neg)
# The area of kinds of curve for which it is not the area under the ROC curve.
AREA_MEASURES = {
    "precision_recall": AreaMeasure(_precision_area_change, lambda pos, _: pos, on_axes=True)
}
