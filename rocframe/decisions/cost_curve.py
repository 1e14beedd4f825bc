"""The function `cost_curve`: the lowest expected cost of each curve for all costs of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.locate import round_values
from rocframe.curves.table import COMPLETE_CURVES, check_ends, plan_curves
from rocframe.frames import build_table, number_keys, take_rows
from rocframe.inference import class_notes
from rocframe.kernel.arrays import exact_product, exact_quotient, grouped_bisect, scale_by_totals
from rocframe.kernel.groups import concatenated_ranges, group_starts, groups_of_rows, is_run_start
from rocframe.options import check_supported, grid_values, parse_grid, public
from rocframe.schemas.curves import COST_CURVE, COST_CURVE_ACROSS
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.schemas.table_type import Schema


@public
def cost_curve(
    curves: FrameT,
    /,
    *,
    grid: int | Sequence[float] | str = 101,
    across: str | None = None,
    by: By = None,
) -> FrameT:
    """Return the cost curve of each group: the lowest expected cost for each ratio of costs.

    Each row of a curve table is a classifier, which predicts `score >= threshold` as positive. Its
    expected cost is a linear function of `probability_cost`. The result is the lower envelope of
    these lines: the expected cost with the best threshold. It does not depend on the prevalence of
    the data. With equal costs, it is the error rate, and `probability_cost` the prevalence.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    grid : int, sequence of float or "vertices", default 101
        Number of evenly spaced probability costs from 0 to 1, or a list of them. `"vertices"`, not
        with `across`: 0, 1, and the values at which the best threshold changes.
    across : str, default None
        Group column, such as `"model"`: the envelope of all its curves, with the best of them.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and value of the grid, in rising order: `*by, probability_cost,
        expected_cost, threshold, fpr, fnr, trivial_cost, min_dcf, note`. All numbers are Float64.

        - `probability_cost` is π·c_fn / (π·c_fn + (1 - π)·c_fp), where π is the prevalence, and
          c_fn and c_fp are the costs of a false negative and of a false positive.
        - `expected_cost` is the lowest cost, divided by π·c_fn + (1 - π)·c_fp, that of wrong
          predictions only. `threshold`, `fpr` and `fnr` are those of its row (the highest threshold
          of several).
        - `trivial_cost` is the lower one of predicting only positives, or only negatives. `min_dcf`
          is `expected_cost / trivial_cost`; null at the probability costs 0 and 1.

        With `across`, `second_cost` (the lowest cost of all curves except the best one) and
        `cost_difference` are left of `note`, and the best curve is right of it: the first in sort
        order of several, or null if a trivial classifier is as good. Curves that lack a class are
        left out if another curve of the group has both.

        Values are null if a curve lacks a class. `note` (String) is null or `no_rows`,
        `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, or if an option is invalid.

    See Also
    --------
    hull : The vertices of the convex hull, and the costs for which each of them is optimal.
    decision_intervals : Confidence intervals, and differences between models.
    relative_superiority : The ranges of costs in which each of several models is the best one.

    References
    ----------
    C. Drummond, R. C. Holte (2006), Machine Learning 65(1), 95-130. doi:10.1007/s10994-006-8199-5

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": scores})
    >>> costs = rf.curve(predictions, "label", "score").roc.cost_curve(grid=[0.25, 0.5])
    >>> costs.select("probability_cost", "expected_cost", "threshold", "trivial_cost")
    shape: (2, 4)
    ┌──────────────────┬───────────────┬───────────┬──────────────┐
    │ probability_cost ┆ expected_cost ┆ threshold ┆ trivial_cost │
    │ ---              ┆ ---           ┆ ---       ┆ ---          │
    │ f64              ┆ f64           ┆ f64       ┆ f64          │
    ╞══════════════════╪═══════════════╪═══════════╪══════════════╡
    │ 0.25             ┆ 0.166667      ┆ 0.9       ┆ 0.25         │
    │ 0.5              ┆ 0.333333      ┆ 0.9       ┆ 0.5          │
    └──────────────────┴───────────────┴───────────┴──────────────┘
    """
    values = parse_grid(grid, keyword="vertices")
    check_supported(
        "grid",
        grid,
        "across=",
        supported=across is None or values != "vertices",
        noun="value",
        hint="Use, for example, grid=101. relative_superiority returns the ranges of costs in "
        "which each curve is the best one.",
    )

    def compute(curves: Curves, columns: Schema) -> pl.DataFrame:
        envelopes = lower_envelopes(curves, values)
        if across is not None:
            return common_envelope_table(curves, envelopes, across, columns)
        result = {**envelopes.columns, "note": envelopes.note.tolist()}
        return build_table(curves.keys, result, columns, rows=envelopes.curve)

    return plan_curves(
        curves,
        by,
        COST_CURVE if across is None else COST_CURVE_ACROSS,
        compute,
        anchor="probability_cost",
        compared=None if across is None else ("across", across),
        position="last",
    )


class EnvelopeLines(NamedTuple):
    """The lines of the lower envelope of each curve, sorted by curve and rising probability cost.

    A line is the cost of the row at position `row`; `first` is the first line of each curve.
    `curve` and `crossing` are the curve and the probability cost of each crossing of two
    neighboring lines.
    """

    row: NDArray[np.int64]
    first: NDArray[np.int64]
    curve: NDArray[np.int64]
    crossing: NDArray[np.float64]

    @classmethod
    def find(
        cls,
        tp: NDArray[Any],
        fp: NDArray[Any],
        starts: NDArray[np.int64],
        pos: NDArray[Any],
        neg: NDArray[Any],
    ) -> EnvelopeLines:
        """Return the envelope lines; curve i has the rows `starts[i]` to `starts[i + 1] - 1`."""
        vertex = np.flatnonzero(hull_vertices(tp, fp, starts))
        curve = groups_of_rows(starts, vertex)
        first = group_starts(curve, len(pos))[:-1]
        is_edge = curve[1:] == curve[:-1]
        curve = curve[1:][is_edge]
        step_tp, step_fp = (np.diff(count[vertex])[is_edge] for count in (tp, fp))
        pos, neg = pos[curve], neg[curve]
        step_tp, pos = scale_by_totals(pos, step_tp, pos)
        step_fp, neg = scale_by_totals(neg, step_fp, neg)
        height, width = exact_product(step_tp, neg), exact_product(step_fp, pos)
        crossing = exact_quotient(width, width + height)
        if width.dtype.kind == "f":  # sums of weights
            crossing = round_values(crossing, (0, 1))
        defined = ~np.isnan(crossing)  # NaN if the curve lacks a class
        return cls(row=vertex, first=first, curve=curve[defined], crossing=crossing[defined])

    def rows_on(self, axis: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the row of lowest cost for each curve (rows) and each value of `axis` (columns).

        At a crossing of two lines of the envelope, the row with the higher threshold is returned.
        """
        n_below = np.zeros((len(self.first), len(axis) + 1), np.int64)
        np.add.at(n_below, (self.curve, np.searchsorted(axis, self.crossing, "right")), 1)
        line = self.first[:, None] + np.cumsum(n_below, axis=1)[:, :-1]
        rows: NDArray[np.int64] = self.row[line]
        return rows

    def lines_at(self, curve: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the line of lowest cost of `curve[i]` at `value[i]`, for all i."""
        n_below = self._position(curve, value, "left") - np.searchsorted(self.curve, curve)
        lines: NDArray[np.int64] = self.first[curve] + n_below
        return lines

    def crossings_between(
        self, curve: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return each i and crossing of `curve[i]` between `low[i]` and `high[i]`."""
        start, end = self._position(curve, low, "right"), self._position(curve, high, "left")
        number, index = expand_ranges(start, np.maximum(start, end))
        return number, self.crossing[index]

    def _position(
        self, curve: NDArray[np.int64], value: NDArray[np.float64], side: Literal["left", "right"]
    ) -> NDArray[np.int64]:
        """Return the first crossing of `curve[i]` at or above (right: above) `value[i]`."""
        is_before = np.less if side == "left" else np.less_equal
        first, end = (np.searchsorted(self.curve, curve, edge) for edge in ("left", "right"))
        return grouped_bisect(lambda i: is_before(self.crossing[i], value), first, end - 1)


def expand_ranges(
    starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each i, and each of the integers from `starts[i]` to `ends[i] - 1`."""
    sizes = ends - starts
    return np.repeat(np.arange(len(starts)), sizes), concatenated_ranges(starts, sizes)


class Envelopes(NamedTuple):
    """Points of the lower envelopes, sorted by curve: the curve, columns and note of each point."""

    curve: NDArray[np.int64]
    columns: dict[str, NDArray[np.float64]]
    note: NDArray[np.object_]


def lower_envelopes(curves: Curves, grid: int | str | list[float]) -> Envelopes:
    """Return the lower envelope of each curve at the values of the grid."""
    check_ends(curves, "its lowest expected cost is unknown", COMPLETE_CURVES)
    pos, neg = curves.pos, curves.neg
    tp, fp = curves.columns["tp"], curves.columns["fp"]
    lines = EnvelopeLines.find(tp, fp, curves.starts, pos, neg)
    if isinstance(grid, str):
        # The points of each curve are 0, 1 and the crossings.
        curve = np.concatenate([np.arange(len(pos)), lines.curve, np.arange(len(pos))])
        value = np.concatenate([np.zeros(len(pos)), lines.crossing, np.ones(len(pos))])
        order = np.lexsort((value, curve))
        order = order[is_run_start(curve[order], value[order])]
        curve, value = curve[order], value[order]
        row = lines.row[lines.lines_at(curve, value)]
    else:
        axis = np.array(grid_values(grid))
        curve, value = np.repeat(np.arange(len(pos)), len(axis)), np.tile(axis, len(pos))
        weighted = tp.dtype.kind == "f"
        row = lines.rows_on(round_values(axis, (0, 1)) if weighted else axis).ravel()
    row = first_equal_rows(curves)[row]
    return Envelopes(curve, _cost_values(curves, row, curve, value), class_notes(pos, neg)[curve])


def normalized_cost(
    fpr: NDArray[np.float64], fnr: NDArray[np.float64], value: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the expected cost at probability costs, divided by the cost if all rows are errors."""
    return fpr * (1 - value) + fnr * value


def first_equal_rows(curves: Curves) -> NDArray[np.int64]:
    """Return, for each row, the position of the first row of the same curve with equal counts."""
    is_new = is_run_start(curves.columns["tp"], curves.columns["fp"])
    is_new[curves.firsts] = True
    rows: NDArray[np.int64] = np.maximum.accumulate(np.where(is_new, np.arange(len(is_new)), 0))
    return rows


def _cost_values(
    curves: Curves, row: NDArray[np.int64], curve: NDArray[np.int64], value: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of the result at rows of curves; NaN if the curve lacks a class."""
    pos, neg = curves.pos[curve], curves.neg[curve]
    with np.errstate(divide="ignore", invalid="ignore"):
        fpr = curves.columns["fp"][row] / neg
        fnr = np.maximum(pos - curves.columns["tp"][row], 0) / pos
        expected, trivial = normalized_cost(fpr, fnr, value), np.minimum(value, 1 - value)
        columns = {
            "expected_cost": expected,
            "threshold": curves.columns[THRESHOLD][row],
            "fpr": fpr,
            "fnr": fnr,
            "trivial_cost": trivial,
            "min_dcf": np.where(trivial > 0, expected / trivial, np.nan),
        }
    undefined = (pos == 0) | (neg == 0)
    return {
        "probability_cost": value,
        **{name: np.where(undefined, np.nan, values) for name, values in columns.items()},
    }


def common_envelope_table(
    curves: Curves, envelopes: Envelopes, across: str, schema: Schema
) -> pl.DataFrame:
    """Return the lower envelope of all curves that differ only in the column `across`."""
    n_curves = len(curves.firsts)
    keys, group = number_keys(curves.keys, curves.keys_without(across))
    if not n_curves:
        empty = build_table(keys, {}, schema, rows=[])
        return empty.with_columns(curves.keys.get_column(across))
    n_points = len(envelopes.curve) // n_curves
    exact = envelopes.columns["expected_cost"].reshape(n_curves, n_points)
    # Costs that differ by a rounding error are equal.
    cost = np.where(np.isnan(exact), np.inf, round_values(exact, (0, 1)))
    order = np.argsort(group, kind="stable")
    starts = group_starts(group[order], keys.height)[:-1]

    def find_lowest() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the first curve of each group with the lowest cost, and this cost."""
        lowest = np.minimum.reduceat(cost[order], starts, axis=0)
        curve = np.where(cost == lowest[group], np.arange(n_curves)[:, None], n_curves)
        return np.minimum.reduceat(curve[order], starts, axis=0), lowest

    best, lowest = find_lowest()
    np.put_along_axis(cost, best, np.inf, axis=0)
    second, second_lowest = find_lowest()
    best_cost, second_cost = (np.take_along_axis(exact, curve, axis=0) for curve in (best, second))
    second_cost = np.where(second_lowest == lowest, best_cost, second_cost)
    second_cost = np.where(np.isinf(second_lowest), np.nan, second_cost).ravel()
    point = (best * n_points + np.arange(n_points)).ravel()
    columns: dict[str, Any] = {name: values[point] for name, values in envelopes.columns.items()}
    expected, trivial = (
        round_values(columns[name], (0, 1)) for name in ("expected_cost", "trivial_cost")
    )
    predicts_none = columns["probability_cost"] <= 1 - columns["probability_cost"]
    end = np.where(predicts_none, curves.starts[best.ravel()], curves.starts[best.ravel() + 1] - 1)
    ends = {"fpr": ~predicts_none, "fnr": predicts_none, THRESHOLD: curves.columns[THRESHOLD][end]}
    for name, values in ends.items():
        columns[name] = np.where(expected == trivial, values, columns[name])
    columns |= {
        "second_cost": second_cost,
        "cost_difference": second_cost - best_cost.ravel(),
        "note": envelopes.note[point].tolist(),
    }
    table = build_table(keys, columns, schema, rows=np.repeat(np.arange(keys.height), n_points))
    # A curve is the best one only if its cost is below that of the trivial classifiers.
    curve = pl.Series(best.ravel()).set(pl.Series(expected >= trivial), None)
    return table.with_columns(take_rows(curves.keys, curve).get_column(across))
