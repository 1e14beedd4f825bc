"""The verb `simplify`: curve tables → fewer rows, and a proof of how little that changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.at import rows_at
from rocframe.curves.hull import hull_vertices
from rocframe.curves.table import curve_layout, read_curves
from rocframe.curves.thinning import CurveCounts, display_axes, douglas_peucker, rows_at_levels
from rocframe.errors import BrokenCurveError, ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import column, like, planned, through_node
from rocframe.kernel.threads import run_parallel
from rocframe.kinds import SCALED_AXES, hyperbola, kind_of, scale_of
from rocframe.options import as_numbers, share
from rocframe.schemas import SIMPLIFICATION, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import DisplayAxes
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import Kind, KindName, Scale


Keep: TypeAlias = "float | Sequence[float] | pl.Series | pl.DataFrame"


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
    """Leave out rows of each curve that its line hardly needs, and say what that costs.

    The rows that stay are rows of the table, unchanged: each curve's first and last, all vertices
    of its convex hull, the operating points to `keep`, and what it takes to stay within
    `max_error`. Between two of them the curve is joined as its kind says.

    Parameters
    ----------
    curves : DataFrame or LazyFrame
        A curve table as returned by `curve`: group columns, `threshold`, `tp, fp, fn, tn`, and any
        columns right of them. Every group must be complete. Rows may be in any order.
    max_error : float, default 1 / 500
        How far the simplified curve may be from the full one, as a share of the axes, between 0 and
        1.
    keep : str, sequence of str or selector, default ()
        Operating points that stay: a threshold or several, which mean the rows that `at` finds, or
        a table of operating points as `at` makes it.
    scale : str, default None
        How the axes are displayed: `"linear"`; `"log"`, the x axis alone, for `roc`, `gain`, `lift`
        and `lift_chart`; `"normal_deviate"`, both axes, for `roc` and `det`. None is normal
        deviates for `det` and linear for all others.
    by : str or sequence of str, default None
        Group columns. By default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve. By default, the kind whose axes are the columns right of `tn`.

    Returns
    -------
    DataFrame or LazyFrame
        The columns of `curves`, then `error, area_change` (Float64, the same in all rows of a
        group). `error` is a proven bound, at most `max_error`: at every x the y of the two
        curves differ by no more, and at every y the x; where one of them is vertical, this holds
        for both ends of what it runs through there. Precision and lift go up and down, and for
        them it is said of every x alone. `area_change` is the simplified area less the full one:
        of `pr_auc` for precision-recall, of `auc` for every other kind. Both are null where the
        curve, or the area, is undefined; of such a curve the ends stay.

    Raises
    ------
    RocframeError
        If an option is outside its set or range; if the table is no curve table, has a column
        `error` or `area_change` already, or a group is not whole, as after a filter on rows or a
        join.

    Notes
    -----
    Axes have length 1 for rates; for `lift` the length is the largest lift of the curve, and for
    `lift_chart` all positives. A log axis starts at the least x above 0 that the curve has; 0 is
    drawn there, and the rows on both sides of that jump stay. Normal-deviate axes run from the
    least distance of a rate of the curve from 0 and 1, but for 0 and 1 themselves, to as far from
    1; 0 and 1 are drawn at their ends, and the rows on both sides of these jumps stay.

    Areas of simplified curves are not those of the full ones: for ROC they differ by less than
    `error` on linear axes.

    References
    ----------
    D. H. Douglas, T. K. Peucker (1973), "Algorithms for the reduction of the number of points
    required to represent a digitized line or its caricature", Cartographica 10(2), 112-122.
    doi:10.3138/FM57-6770-U75U-7727

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 1, 0, 0], "score": [6, 5, 4, 3, 2, 1, 1]}
    ... )
    >>> curves = rf.curve(predictions, "label", "score")
    >>> rf.simplify(curves, max_error=0.4).drop("fn", "tn", "fpr", "tpr")
    shape: (4, 5)
    ┌───────────┬─────┬─────┬──────────┬─────────────┐
    │ threshold ┆ tp  ┆ fp  ┆ error    ┆ area_change │
    │ ---       ┆ --- ┆ --- ┆ ---      ┆ ---         │
    │ f64       ┆ i64 ┆ i64 ┆ f64      ┆ f64         │
    ╞═══════════╪═════╪═════╪══════════╪═════════════╡
    │ inf       ┆ 0   ┆ 0   ┆ 0.333333 ┆ 0.083333    │
    │ 6.0       ┆ 1   ┆ 0   ┆ 0.333333 ┆ 0.083333    │
    │ 2.0       ┆ 3   ┆ 2   ┆ 0.333333 ┆ 0.083333    │
    │ 1.0       ┆ 3   ┆ 4   ┆ 0.333333 ┆ 0.083333    │
    └───────────┴─────┴─────┴──────────┴─────────────┘
    """
    limit = parse_max_error(max_error)
    thresholds, points = _parse_keep(keep)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, tuple(SIMPLIFICATION))
        for name in SIMPLIFICATION:
            if name in table.row:
                raise BrokenCurveError.of(
                    f"curves: the column {name!r} would stand in the result twice",
                    f"Simplify the full curves; or rename it, say "
                    f".rename({{{name!r}: {name + '_before'!r}}}).",
                )
        shape = kind_of(list(schema), kind)
        shown = scale_of(shape, scale)
        if shown == "log" and len(SCALED_AXES["log"][shape.name]) > 1:
            wrong = f"no bound is known for two logarithmic axes, as {shape.title} charts have"
            todo = "Leave it out: the bound is then that of the kind's own axes."
            raise OptionValueError.of("scale", scale, wrong, todo)
        if points is not None:
            _check_keep_table(points, table.keys)

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            whole = read_curves(frame, table)
            walks = CurveCounts(
                tp=whole.columns["tp"],
                fp=whole.columns["fp"],
                starts=whole.starts,
                pos=whole.total("tp", "fn"),
                neg=whole.total("fp", "tn"),
                wanted=_mark_keep(whole, thresholds, points),
            )
            rows, error = simplified_rows(walks, shape, shown, limit)
            told = dict(zip(SIMPLIFICATION, (error, area_change(walks, rows, shape)), strict=True))
            line = np.searchsorted(whole.starts, rows, "right") - 1
            places = pl.Series(rows.astype(np.uint32))
            private = {table.private(name): name for name in table.row}
            return (
                whole.table.select(pl.all().gather(places).name.keep())
                .rename(private)
                .with_columns(
                    pl.Series(name, values[line], nan_to_null=True) for name, values in told.items()
                )
            )

        return through_node(
            plan.select(table.inputs),
            find,
            schema={**table.keys, **table.row, **SIMPLIFICATION},
            by=table.by,
            anchor=THRESHOLD,
        )

    return like(curves, planned("curves", curves).pipe_with_schema(resolve))


def parse_max_error(max_error: float) -> float:
    """Read how far off a simplified curve may be."""
    wrong = "it is no share of the axes between 0 and 1"
    return share("max_error", max_error, wrong, "Give, say, max_error=1 / 500.")


def _parse_keep(keep: Keep) -> tuple[list[float], pl.DataFrame | None]:
    """Read what to keep: thresholds, or a table of operating points."""
    if isinstance(keep, pl.DataFrame):
        return [], keep
    values = None if isinstance(keep, pl.LazyFrame) else as_numbers(keep)
    if values is None or any(map(isnan, values)):
        raise OptionValueError.of(
            "keep",
            keep if values is not None else type(keep).__name__,
            "it has neither thresholds nor operating points",
            "Give a threshold, a list of them, or the collected table that .roc.at(…) makes.",
        )
    return values, None


def _check_keep_table(points: pl.DataFrame, keys: dict[str, pl.DataType]) -> None:
    """Check that operating points have the group columns of the curves, and thresholds."""
    for name, dtype in {**keys, THRESHOLD: None}.items():
        if name not in points.columns:
            raise MissingColumnError.of("keep", name, points.columns)
        if dtype is not None and points.schema[name] != dtype:
            todo = f"In the curves it is {dtype}: make both from the same table."
            raise ColumnTypeError.of("keep", name, points.schema[name], todo)


def _mark_keep(
    curves: Curves, thresholds: Sequence[float], points: pl.DataFrame | None
) -> NDArray[np.bool_] | None:
    """Mark the rows of the operating points; None where nobody named any."""
    wanted = np.zeros(curves.starts[-1], bool)
    wanted[rows_at(curves, "threshold", thresholds)[0]] = True
    if points is not None:
        keys = list(map(column, curves.layout.by))
        falling = column(curves.layout.private(THRESHOLD)).cast(pl.Float64).alias(THRESHOLD)
        rows = curves.table.select(*keys, falling).with_row_index("(row)")
        named = points.select(*keys, column(THRESHOLD).cast(pl.Float64)).drop_nulls(THRESHOLD)
        found = rows.join(named, on=[*curves.layout.by, THRESHOLD], how="semi", nulls_equal=True)
        wanted[found.get_column("(row)").to_numpy()] = True
    return wanted if thresholds or points is not None else None


SIMPLIFIED_BATCH_ROWS = 1 << 18  # rows of curves that are thinned together

ROW_STEP = 1 / 8  # of the error, that rows are left unseen for

CURVED_STEP = 1 / 4  # of the error, that a bent line may do between two points

MIN_CURVED_STEP = 1e-5  # of an axis, closer than which bent lines have no points

NO_ROW = -1  # no row of the table

SHORT_CURVE_ROWS = 32  # rows of a curve whose bent lines are all kept


def simplified_rows(
    walks: CurveCounts, kind: Kind, scale: Scale, max_error: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows to keep, and how far off each curve is then; NaN where it has no axes."""
    curves = len(walks.starts) - 1
    sizes = np.diff(walks.starts)
    if scale == "normal_deviate" or kind.joined != "line":  # with points between its rows
        sizes = sizes + np.where(
            sizes < SHORT_CURVE_ROWS, 0, int(4 / max(CURVED_STEP * max_error, MIN_CURVED_STEP))
        )
    batch = np.cumsum(sizes) // SIMPLIFIED_BATCH_ROWS
    edges = np.append(np.flatnonzero(np.diff(batch, prepend=-1)), curves)
    parts = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def find(part: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        rows, error = _simplify_batch(walks.some(*part), kind, scale, max_error)
        return rows + walks.starts[part[0]], error

    found = run_parallel(find, parts)
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in found)])
    return rows, np.concatenate([np.zeros(0), *(error for _, error in found)])


def _simplify_batch(
    walks: CurveCounts, kind: Kind, scale: Scale, max_error: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    display = display_axes(kind, scale, walks)
    drawn = (display.pos > 0) & (display.whole > 0)
    must = hull_vertices(walks.tp, walks.fp, walks.starts)
    if walks.wanted is not None:
        must |= walks.wanted
    must |= _mark_jumps(display, walks)
    if display.bends:
        must |= np.repeat(np.diff(walks.starts) < SHORT_CURVE_ROWS, np.diff(walks.starts))
    seen = np.concatenate(
        [
            np.flatnonzero(must),
            *(
                walks.starts[i] + _rows_to_examine(display, walks, i, ROW_STEP * max_error)
                for i in np.flatnonzero(drawn).tolist()
            ),
        ]
    )
    points = PathPoints.of(display, walks, np.unique(seen))
    hidden = points.hidden(ROW_STEP * max_error)
    if len(hidden):
        points = PathPoints.of(display, walks, np.union1d(points.row, hidden))
    if display.bends:
        points = points.bent(display, max(CURVED_STEP * max_error, MIN_CURVED_STEP))
    kept, error = points.kept(display, must, max_error)
    error[~drawn] = np.nan
    return points.row[kept], error


def _mark_jumps(display: DisplayAxes, walks: CurveCounts) -> NDArray[np.bool_]:
    """Mark the rows between which a line has no place, or one that it jumps to."""
    marked = np.zeros(len(walks.tp), bool)
    if not display.rises:  # the first point that has a precision or a lift
        marked[np.minimum(walks.starts[:-1] + 1, walks.starts[1:] - 1)] = True
    if display.scale == "linear":
        return marked
    along, other = display.followed(walks.tp, walks.fp)
    ends = [along > 0]
    if display.scale == "normal_deviate":
        lengths = np.diff(walks.starts)
        ends += [other > 0, other >= np.repeat(walks.pos, lengths)]
        ends += [along >= np.repeat(display.whole, lengths)]
    for end in ends:
        marked[1:] |= end[1:] != end[:-1]
        marked[:-1] |= end[1:] != end[:-1]
    return marked


def _rows_to_examine(
    display: DisplayAxes, walks: CurveCounts, curve: int, step: float
) -> NDArray[np.int64]:
    a, b = walks.starts[curve], walks.starts[curve + 1]
    tp, fp = walks.tp[a:b], walks.fp[a:b]
    return rows_at_levels(int(b - a), lambda: display.levels(curve, tp, fp, step))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathPoints:
    """Points of curves that are looked at, curve after curve: rows, and points between two rows.

    `along` and `other` are the two counts that the curves are followed by; `x` and `y` the place
    on the axes. From a point to the next one the curve moves by at most `dx` and `dy`, as far as
    that matters: nothing where the two are neighbouring rows that a straight line joins.
    """

    line: NDArray[np.int64]
    row: NDArray[np.int64]
    starts: NDArray[np.int64]
    along: NDArray[np.float64]
    other: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    dx: NDArray[np.float64]
    dy: NDArray[np.float64]

    @classmethod
    def of(cls, display: DisplayAxes, walks: CurveCounts, rows: NDArray[np.int64]) -> PathPoints:
        """Look at some rows; all ends of curves are among them."""
        starts = np.searchsorted(rows, walks.starts)
        line = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        tp, fp = walks.tp[rows].astype(np.float64), walks.fp[rows].astype(np.float64)
        along, other = display.followed(tp, fp)
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = display.across(along, line), _fill_first_y(display.up(along, other, line))
            dx, dy = np.zeros(len(rows)), np.zeros(len(rows))
            gap = np.flatnonzero(
                (np.diff(rows) > 1) & (np.diff(along) > 0) & (np.diff(other) > 0)
                & (line[1:] == line[:-1])
            )  # fmt: skip
            dx[gap] = x[gap + 1] - x[gap]
            corners = [display.up(along[gap + i], other[gap + 1 - i], line[gap]) for i in (0, 1)]
        dy[gap] = abs(corners[1] - corners[0])
        if display.rises:
            dy[gap] = abs(y[gap + 1] - y[gap])
        else:
            dx[gap] = 0
        return cls(
            line=line, row=rows, starts=starts, along=along, other=other, x=x, y=y, dx=dx, dy=dy
        )

    def hidden(self, step: float) -> NDArray[np.int64]:
        """Return the rows between points that lie farther apart than a step."""
        far = np.flatnonzero(np.maximum(self.dx, self.dy) > step * (1 + 1e-9))
        lengths = self.row[far + 1] - self.row[far] - 1
        ends = np.cumsum(lengths)
        rows: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(
            self.row[far] + 1 - (ends - lengths), lengths
        )
        return rows

    def bent(self, display: DisplayAxes, step: float) -> PathPoints:
        """Add points between neighbouring rows that a bent line joins, as close as a step."""
        points = self
        left = np.flatnonzero((np.diff(self.row) == 1) & (self.line[1:] == self.line[:-1]))
        moved = np.diff(self.along)[left] > 0
        if display.rises:
            moved &= np.diff(self.other)[left] > 0
        left = left[moved]
        while True:
            dx = abs(points.x[left + 1] - points.x[left]) * display.rises
            dy = abs(points.y[left + 1] - points.y[left])
            points.dx[left], points.dy[left] = dx, dy
            left = left[np.maximum(dx, dy) > step]
            # Halves of what was too small for floats do not get smaller.
            middle: dict[str, NDArray[Any]] = {
                name: (counts[left] + counts[left + 1]) / 2
                for name, counts in (("along", points.along), ("other", points.other))
            }
            fresh = (middle["along"] > points.along[left]) | (middle["other"] > points.other[left])
            left, middle = left[fresh], {name: part[fresh] for name, part in middle.items()}
            if not len(left):
                return points
            line = points.line[left]
            with np.errstate(divide="ignore", invalid="ignore"):
                middle["x"] = display.across(middle["along"], line)
                middle["y"] = display.up(middle["along"], middle["other"], line)
            # The first point of all has no precision: what lies before the second has its own.
            flat = points.along[left] + points.other[left] <= 0
            middle["y"][flat] = points.y[left][flat]
            middle |= {"line": line, "row": np.full(len(left), NO_ROW)}
            middle |= dict.fromkeys(("dx", "dy"), np.zeros(len(left)))
            added = {
                name: np.insert(getattr(points, name), left + 1, part)
                for name, part in middle.items()
            }
            starts = np.searchsorted(added["line"], np.arange(len(points.starts)))
            points = PathPoints(starts=starts, **added)
            left = left + np.arange(len(left))
            left = np.sort(np.append(left, left + 1))

    def kept(
        self, display: DisplayAxes, wanted: NDArray[np.bool_], max_error: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Mark the rows that keep each curve within the error, and return how far off each is."""
        along, other, line = self.along, self.other, self.line
        # The steps on both sides of a point, of which none leads to another curve.
        sides = [np.maximum(step, np.append(0, step[:-1])) for step in (self.dx, self.dy)]

        def off(
            at: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]
        ) -> NDArray[np.float64]:
            wide, high = along[b] - along[a], other[b] - other[a]
            # Along one of the counts alone, both lines are the same.
            level = (wide <= 0) | (high <= 0)
            across, up = (
                np.divide(count[at] - count[a], whole, out=np.zeros(len(at)), where=~level)
                for count, whole in ((along, wide), (other, high))
            )
            heights = display.up(along[at], other[a] + across * high, line[at])
            far: NDArray[np.float64] = abs(self.y[at] - heights) + sides[1][at]
            if display.rises:
                places = display.across(along[a] + up * wide, line[at])
                far = np.maximum(far, abs(self.x[at] - places) + sides[0][at])
            far[level] = 0
            return far

        able = self.row != NO_ROW
        must = np.zeros(len(able), bool)
        must[able] = wanted[self.row[able]]
        with np.errstate(divide="ignore", invalid="ignore"):
            kept, error = douglas_peucker(self.starts, off, max_error, wanted=must, able=able)
        # Rows that nobody looked at, between two that are kept.
        unseen = np.flatnonzero(kept[1:] & kept[:-1] & (np.diff(self.row) > 1))
        np.maximum.at(error, line[unseen], np.maximum(self.dx, self.dy)[unseen])
        return kept, error


def _fill_first_y(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the first point of a curve that has no y yet that of its second."""
    unknown = np.flatnonzero(np.isnan(y[:-1]))
    y[unknown] = y[unknown + 1]
    return y


MAX_EXACT_PRODUCT = 2**61

AREA_BATCH_ROWS = 1 << 17


def area_change(walks: CurveCounts, rows: NDArray[np.int64], kind: Kind) -> NDArray[np.float64]:
    """Return the area of each curve through some rows, less that through all; NaN without one.

    The area is `pr_auc` for precision-recall, and `auc` for every other kind. The ends of all
    curves are among the rows.
    """
    pos, neg = walks.pos.astype(np.float64), walks.neg.astype(np.float64)
    firsts = walks.starts[:-1]
    change = np.zeros(len(firsts))
    if not len(firsts):
        return change
    line = np.searchsorted(walks.starts, rows, "right") - 1
    measure = _precision_area_change if kind.name == "precision_recall" else _roc_area_change
    # Pieces of about one batch of rows together.
    batch = rows[:-1] // AREA_BATCH_ROWS
    edges = np.append(np.flatnonzero(np.diff(batch, prepend=-1)), len(rows) - 1)
    parts = [slice(a, b + 1) for a, b in pairwise(edges.tolist())]
    less = np.concatenate(
        [np.zeros(0), *run_parallel(lambda part: measure(walks, rows[part]), parts)]
    )
    within = line[1:] == line[:-1]
    np.add.at(change, line[1:][within], less[within])
    short = walks.fp[walks.starts[1:] - 1] < (1 - 1e-9) * neg
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.name == "precision_recall":
            return np.where((pos > 0) & ~short, change / pos, np.nan)
        return np.where((pos > 0) & (neg > 0) & ~short, change / (2 * pos * neg), np.nan)


def _interval_counts(
    counts: NDArray[Any], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the counts after and before each row, and at both ends of each piece."""
    first, last = rows[0], rows[-1]
    ends = counts[rows]
    return counts[first + 1 : last + 1], counts[first:last], ends[1:], ends[:-1]


def _roc_area_change(walks: CurveCounts, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return twice the area between the straight line from row to row and the curve."""
    (tp, tp0, tp2, tp1), (fp, fp0, fp2, fp1) = (
        _interval_counts(part, rows) for part in (walks.tp, walks.fp)
    )
    high, wide = tp2 - tp1, fp2 - fp1
    if tp.dtype.kind == "i" and int(abs(high).max()) * int(abs(wide).max()) > MAX_EXACT_PRODUCT:
        tp, tp0, fp, fp0, high, wide, tp1 = (
            part.astype(np.float64) for part in (tp, tp0, fp, fp0, high, wide, tp1)
        )
    # From the left end of each piece: small numbers lose nothing.
    heights = tp + tp0 - np.repeat(2 * tp1, np.diff(rows))
    curve = np.add.reduceat((fp - fp0) * heights, rows[:-1] - rows[0])
    change: NDArray[np.float64] = (high * wide - curve).astype(np.float64)
    return change


def _precision_area_change(walks: CurveCounts, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the integral of precision from row to row, less that through all rows between."""
    (tp, tp0, tp2, tp1), (fp, fp0, fp2, fp1) = (
        _interval_counts(part.astype(np.float64), rows) for part in (walks.tp, walks.fp)
    )
    steps = np.add.reduceat(_precision_steps(tp, fp, tp0, fp0), rows[:-1] - rows[0])
    change: NDArray[np.float64] = _precision_steps(tp2, fp2, tp1, fp1) - steps
    return np.where(np.diff(rows) > 1, change, 0.0)


def _precision_steps(*counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of each step, nothing for those from one curve to the next."""
    tp, fp, tp0, fp0 = counts
    back = (tp < tp0) | (fp < fp0)
    return hyperbola(np.where(back, tp0, tp), np.where(back, fp0, fp), tp0, fp0)
