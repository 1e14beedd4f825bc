"""Averages of calibration curves: the mean event rate of several curves at given scores."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.averages.curve_groups import (
    MAX_CELLS,
    curve_weights,
    format_keys,
    group_keys,
)
from rocframe.averages.means import CurveValues, mean_limits
from rocframe.curves.table import SEPARATE_CURVES, name_key
from rocframe.errors import (
    BrokenCurveError,
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
)
from rocframe.frames import (
    build_table,
    column,
    number_keys,
    private_names,
    select_keys,
    through_node,
)
from rocframe.inference.notes import exclusion_notes, join_notes
from rocframe.kernel.exact import scale_by_groups
from rocframe.kernel.groups import group_starts
from rocframe.kernel.interpolate import interpolate_in_groups
from rocframe.kernel.resample import stream_keys
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kernel.threads import split_groups
from rocframe.options import (
    check_group_column,
    check_group_columns,
    check_supported,
    grid_values,
    group_dtypes,
    parse_grid,
    parse_names,
)
from rocframe.schemas.averages import mean_columns, metric_average_columns
from rocframe.schemas.calibration import CALIBRATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.options import AverageOptions
    from rocframe.inputs.roles import By
    from rocframe.kernel.groups import RowGroups


SCORE, RATE = "score_mean", "event_rate"
READ_COLUMNS = ("bin", SCORE, RATE, "n")
AVERAGE = metric_average_columns(SCORE, [RATE])


def is_calibration_table(columns: Sequence[str]) -> bool:
    """Return whether a table with these columns is a table of `calibration`."""
    return CALIBRATION.recognize(columns) is not None


def plan_calibration_average(
    frame: pl.LazyFrame,
    schema: pl.Schema,
    by: By,
    options: AverageOptions,
) -> pl.LazyFrame:
    """Return the query plan that averages calibration curves at given scores."""
    subject = "an average of calibration curves"
    if options.method != "vertical":
        hint = 'Use method="vertical".'
        check_supported("method", options.method, subject, noun="value", hint=hint)
    if options.interval == "binomial":
        hint = 'Use interval="corrected" or interval="t".'
        check_supported("interval", options.interval, subject, noun="value", hint=hint)
    grid = parse_grid(options.grid, keyword="union", bounds=(0, 1))
    keys = tuple(schema)[: list(schema).index("bin")] if by is None else parse_names(by)
    check_group_columns(keys, schema, READ_COLUMNS)
    for name in READ_COLUMNS:
        if name not in schema:
            raise MissingColumnError.of_table("curves", name, schema)
        if not schema[name].is_numeric():
            hint = "This column must be numeric. Compute the table with .roc.calibration(…)."
            raise ColumnTypeError.of_table("curves", name, schema[name], hint)
    for name in options.over:
        check_group_column("over", name, keys, schema)
    rest = tuple(name for name in keys if name not in options.over)
    dtypes = group_dtypes(keys, schema)
    check_group_columns(rest, dtypes, (*AVERAGE, "side"))
    # The group columns may have any names.
    private = private_names(READ_COLUMNS, keys)
    columns = [column(name).alias(private[name]) for name in READ_COLUMNS]

    def average_rows(rows: pl.DataFrame) -> pl.DataFrame:
        points = rows.select(pl.col(private[name]).cast(pl.Float64).alias(name) for name in private)
        return _average_table(select_keys(rows, keys), points, options, grid)

    return through_node(
        frame.select(*(column(name) for name in keys), *columns),
        average_rows,
        schema={**{name: dtypes[name] for name in rest}, **AVERAGE},
        by=rest,
        anchor="n_curves",
    )


def _average_table(
    keys: pl.DataFrame,
    points: pl.DataFrame,
    options: AverageOptions,
    grid: int | str | list[float],
) -> pl.DataFrame:
    """Return the table of means, with one row per group and score.

    `keys` and `points` have one row per point of a curve: its group columns and its numbers.
    """
    curve_keys, owner = number_keys(keys, keys.columns)
    _check_bins(curve_keys, owner, points)
    curves = CalibrationCurves.from_points(owner, points, curve_keys.height)
    groups = group_keys(curve_keys, options.over)
    curve, starts = groups.order, groups.starts
    totals = _row_totals(owner, points, curve_keys.height, options.weights)
    weight = curve_weights(
        curve_keys, options.over, options.weights, options.weights_argument, **totals
    )
    weight = scale_by_groups(weight[curve], starts)
    names = format_keys(curve_keys, options.over)
    notes = exclusion_notes(names[curve], (curves.sizes > 0)[curve], starts)
    streams = stream_keys(groups.keys)
    tables = [build_table(groups.keys.clear(), {}, AVERAGE)]
    for block, scores in _blocks(curves, groups, grid):
        members = curve[starts[block.start] : starts[block.stop]]
        values = CurveValues(
            values=curves.rates_at(members, scores),
            weight=weight[starts[block.start] : starts[block.stop]],
            starts=starts[block] - starts[block.start],
        )
        columns = _average_columns(
            values,
            scores,
            options,
            sizes=np.diff(starts[block.start : block.stop + 1]),
            streams=streams[block],
            notes=notes[block],
        )
        rows = np.repeat(np.arange(block.start, block.stop), len(scores))
        tables.append(build_table(groups.keys, columns, AVERAGE, rows=rows))
    return pl.concat(tables)


def _check_bins(curve_keys: pl.DataFrame, owner: NDArray[np.int64], points: pl.DataFrame) -> None:
    """Raise an error if a curve has two points of the same bin; `owner` is the curve of a point."""
    repeated = points.select("bin", pl.Series("owner", owner)).is_duplicated()
    if repeated.any():
        name = name_key(curve_keys, int(owner[repeated.arg_max()]), otherwise="the curve")
        raise BrokenCurveError.compose(
            f"curves: {name} has two rows with the same bin", SEPARATE_CURVES
        )


class CalibrationCurves(NamedTuple):
    """The points of calibration curves, by rising score, without undefined event rates.

    Curve i has the points `starts[i]` to `starts[i + 1] - 1`.
    """

    score: NDArray[np.float64]
    rate: NDArray[np.float64]
    starts: NDArray[np.int64]

    @classmethod
    def from_points(
        cls, owner: NDArray[np.int64], points: pl.DataFrame, size: int
    ) -> CalibrationCurves:
        """Return `size` curves; `owner` is the number of the curve of each point."""
        score, rate = (points.get_column(name).to_numpy() for name in (SCORE, RATE))
        order = np.lexsort((score, owner))
        order = order[~np.isnan(score[order] + rate[order])]
        return cls(score[order], rate[order], group_starts(owner[order], size))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each curve."""
        return np.diff(self.starts)

    def scores_of(self, curve: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distinct scores of some curves in rising order."""
        return np.unique(self.score[concatenated_ranges(self.starts[curve], self.sizes[curve])])

    def rates_at(self, curve: NDArray[np.int64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the event rates of some curves (rows) at given scores (columns).

        An event rate is NaN outside the range of the scores of the curve.
        """
        result = np.full((len(curve), len(at)), np.nan)
        has_points = self.sizes[curve] > 0
        first = self.starts[curve[has_points], None]
        last = self.starts[curve[has_points] + 1, None] - 1
        values = interpolate_in_groups(self.score, self.rate, first, last, at)
        is_inside = (at >= self.score[first]) & (at <= self.score[last])
        result[has_points] = np.where(is_inside, values, np.nan)
        return result


def _blocks(
    curves: CalibrationCurves, groups: RowGroups, grid: int | str | list[float]
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of groups, and the scores at which the curves of these groups are averaged."""
    if isinstance(grid, str):
        for i, (start, end) in enumerate(pairwise(groups.starts)):
            scores = curves.scores_of(groups.order[start:end])
            # A group without scores has one row, which contains its note.
            yield slice(i, i + 1), scores if len(scores) else np.array([np.nan])
        return
    common = np.array(grid_values(grid))
    for block in split_groups(groups.starts * len(common), MAX_CELLS):
        yield block, common


def _average_columns(
    values: CurveValues,
    scores: NDArray[np.float64],
    options: AverageOptions,
    *,
    sizes: NDArray[np.int64],
    streams: list[tuple[int, ...]],
    notes: list[str | None],
) -> dict[str, Any]:
    """Return the columns of the result for a block of groups.

    `sizes` are the numbers of curves of the groups, `streams` identify their random numbers, and
    `notes` are the notes on their excluded curves.
    """
    limits = mean_limits(
        values,
        options,
        curves=sizes,
        rows=np.zeros(len(values.values)),
        streams=streams,
        bounds=(0.0, 1.0),
    )
    parts = (values.mean, values.sd, limits.se, limits.lower, limits.upper)
    repeated = np.tile(scores, len(sizes))
    return {
        SCORE: repeated,
        **{name: part.ravel() for name, part in zip(mean_columns(RATE), parts, strict=True)},
        "ci_level": None if options.interval is None else options.level,
        "n_curves": values.count.ravel(),
        "threshold_mean": repeated,
        "threshold_sd": np.where(np.isnan(repeated), np.nan, 0.0),
        "note": [
            join_notes("zero_variance", note) if is_constant else note
            for note, constant in zip(notes, limits.constant.tolist(), strict=True)
            for is_constant in constant
        ],
    }


def _row_totals(
    owner: NDArray[np.int64], points: pl.DataFrame, size: int, weights: object
) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of rows and of positives of each curve, if `weights` needs them."""
    if weights not in ("rows", "positives"):
        return {}
    n = points.get_column("n")
    if n.null_count():
        problem = "smooth calibration curves do not have numbers of rows"
        hint = 'Use weights="equal", or a mapping from the values of over= to numbers.'
        raise OptionValueError.compose("weights", weights, problem, hint)
    n_pos = (n * points.get_column(RATE)).fill_null(0)
    return {
        name: np.bincount(owner, values.to_numpy(), size).astype(np.float64)
        for name, values in (("rows", n), ("positives", n_pos))
    }
