"""The function `simplify`: remove rows of curve tables, with an upper bound of the error."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.at import point_axis, rows_at
from rocframe.curves.display import CurveCounts
from rocframe.curves.simplified_rows import area_change, simplified_rows
from rocframe.curves.table import check_ends, check_new_columns, curve_layout, read_curves
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import as_input_frame, check_keys, column, find_keys, lazy_plan, through_node
from rocframe.kernel.groups import groups_of_rows
from rocframe.kinds import SCALED_AXES, kind_of, scale_of
from rocframe.options import parse_fraction, parse_numbers, public, to_floats
from rocframe.schemas.columns import THRESHOLD
from rocframe.schemas.curves import SIMPLIFICATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import KindName, Scale


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

    The remaining rows are unchanged. The first and the last row of each curve, all vertices of its
    convex hull, and the operating points in `keep` are never removed. Between two remaining rows,
    the counts are interpolated linearly.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    max_error : float, default 1 / 500
        Largest allowed distance between the simplified and the full curve, as a fraction of the
        length of an axis, between 0 and 1.
    keep : float, sequence of float, Series or DataFrame, default ()
        Rows that are not removed. Pass one or more thresholds, or a table of operating points that
        `at` returned. A threshold selects the row that `at` returns for this threshold.
    scale : str, default None
        Scale of the axes on which the error is measured. `"linear"`: linear axes, for all kinds of
        curves. `"log"`: a logarithmic x axis, for `roc`, `gain`, `lift` and `lift_chart`.
        `"normal_deviate"`: both axes are normal deviates, for `roc` and `det`. None means
        `"normal_deviate"` for `det` and `"linear"` for all other kinds.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve, such as `"roc"`; see `curve`. By default, the two rates right of `tn`
        determine the kind.

    Returns
    -------
    DataFrame or LazyFrame
        The remaining rows of `curves`, with all its columns, then `error, area_change` (Float64,
        the same in all rows of a group).

        - `error` is an upper bound of the distance between the simplified and the full curve, and
          at most `max_error`. At every x, the y values of the two curves differ by at most `error`.
          At every y, the x values of the two curves differ by at most `error`. If a curve is
          vertical at some x, the curve has several y values at this x. The lowest y values of the
          two curves then differ by at most `error`, and the highest y values also differ by at most
          `error`. For precision-recall and lift curves, `error` is a bound of the difference of y
          values only, because precision and lift are not monotone.
        - `area_change` is the area under the simplified curve minus the area under the full curve:
          `pr_auc` for precision-recall, `auc` for all other kinds.

        `error` is null if the curve is undefined, and `area_change` is null if the area is
        undefined. If a curve is undefined, its first and its last row are returned.

    Raises
    ------
    RocframeError
        If an option is invalid, if the table is not a curve table, or if it already has a column
        `error` or `area_change`. This error is also raised if a curve lacks rows.

    Notes
    -----
    The axes of rates have length 1. For `lift`, the length of the y axis is the largest lift of the
    curve. For `lift_chart`, it is the number of positives. For `skill`, the y axis extends to 1. It
    starts at the lower one of two skills: the skill if all rows are predicted positive, and the
    skill if all rows are predicted negative. A log axis starts at the smallest x > 0 of the curve;
    x = 0 is drawn at this start. Normal-deviate axes show rates from d to 1 - d. To find d, the
    rates 0 and 1 are left out; d is the smallest distance of any other rate of the curve from 0 or
    from 1. Rates of 0 and 1 are drawn at the ends of the axis. On normal-deviate axes, if only one
    of two neighboring rows has a rate of 0 or 1, both rows are kept.

    The area under a simplified curve differs from the area under the full curve. For ROC curves on
    linear axes, the difference is less than `error`.

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
        if not table.has_given_thresholds:  # otherwise, gaps are checked first
            check_new_columns(table, SIMPLIFICATION, "simplify")
        shape = kind_of(list(schema), kind)
        axes_scale = scale_of(shape, scale)
        if axes_scale == "log" and len(SCALED_AXES["log"][shape.name]) > 1:
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
            check_new_columns(table, SIMPLIFICATION, "simplify")
            counts = CurveCounts(
                tp=complete.columns["tp"],
                fp=complete.columns["fp"],
                starts=complete.starts,
                pos=complete.pos,
                neg=complete.neg,
                required=_mark_keep(complete, thresholds, points),
                prevalence=complete.prevalence,
            )
            rows, error = simplified_rows(counts, shape, axes_scale, limit)
            line = groups_of_rows(counts.starts, rows)
            measures = {"error": error, "area_change": area_change(counts, rows, shape)}
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
    """Check the option `max_error`, and return it as a number between 0 and 1."""
    return parse_fraction("max_error", max_error, example=0.002)


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
) -> NDArray[np.bool_] | None:
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
