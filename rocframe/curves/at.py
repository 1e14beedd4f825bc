"""The verb `at`: curve tables → the operating points at given thresholds or rates."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rocframe.curves.table import curve_layout, read_curves
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.frames import like, planned, take_rows, through_node
from rocframe.options import as_numbers
from rocframe.rates import CONFUSION, NAMES
from rocframe.schemas import CURVE_COLUMNS, MIX, POINT_NAMES, THRESHOLD, curve_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By


Given: TypeAlias = "float | Sequence[float] | pl.Series | None"

Axis = Literal["threshold", "fpr", "tpr", "alert_rate"]


def at(
    curves: FrameT,
    /,
    *,
    threshold: Given = None,
    fpr: Given = None,
    tpr: Given = None,
    alert_rate: Given = None,
    interpolate: bool = False,
    by: By = None,
) -> FrameT:
    """Find the operating point of each group at given thresholds or rates.

    A row is a point of the curve that some threshold really reaches, unless `interpolate` asks
    for the point in between. Exactly one of the four arguments is given, as a number or as a
    list of numbers.

    Parameters
    ----------
    curves : DataFrame or LazyFrame
        A curve table as returned by `curve`: group columns, `threshold`, `tp, fp, fn, tn`, and any
        columns right of them. Every group must be complete. Rows may be in any order.
    threshold : float or sequence of float, default None
        What predicting `score >= threshold` does: the row with the smallest threshold that is at
        least this one.
    fpr : float or sequence of float, default None
        The lowest threshold whose false positive rate does not exceed this.
    tpr : float or sequence of float, default None
        The highest threshold whose true positive rate reaches this.
    alert_rate : float or sequence of float, default None
        The lowest threshold that calls no larger a share of all rows positive than this.
    interpolate : bool, default False
        Return the point that lies exactly at the rate: linear in `tp` and `fp` between the two rows
        around it, which is what answering with either of two thresholds by lot does.
    by : str or sequence of str, default None
        Group columns. By default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, at` (String, the argument's name), `value` (Float64), then the curve's row
        unchanged; a row per group and value. The row is null where the curve has none. With
        `interpolate` the counts are Float64, `threshold` is null, the rates are worked out from
        the counts (null for a metric whose formula the table does not tell, such as one's own),
        and `threshold_above, threshold_below, mix` (Float64) follow: use the lower threshold in a
        share `mix` of the cases, in [0, 1].

    Raises
    ------
    RocframeError
        If not exactly one of the four is given or a value is outside its range; if the table is
        no curve table or a group is not whole, as after a filter on rows or a join.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874, section 10. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> rf.at(curves, threshold=0.5).drop("at", "value")
    shape: (1, 7)
    ┌───────────┬─────┬─────┬─────┬─────┬─────┬─────┐
    │ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ fpr ┆ tpr │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- │
    │ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64 ┆ f64 │
    ╞═══════════╪═════╪═════╪═════╪═════╪═════╪═════╡
    │ 0.9       ┆ 1   ┆ 0   ┆ 1   ┆ 2   ┆ 0.0 ┆ 0.5 │
    └───────────┴─────┴─────┴─────┴─────┴─────┴─────┘

    Exactly a quarter of the negatives, which no single threshold gives:

    >>> point = curves.roc.at(fpr=0.25, interpolate=True)
    >>> point.select("fpr", "tpr", "threshold_above", "threshold_below", "mix")
    shape: (1, 5)
    ┌──────┬──────┬─────────────────┬─────────────────┬─────┐
    │ fpr  ┆ tpr  ┆ threshold_above ┆ threshold_below ┆ mix │
    │ ---  ┆ ---  ┆ ---             ┆ ---             ┆ --- │
    │ f64  ┆ f64  ┆ f64             ┆ f64             ┆ f64 │
    ╞══════╪══════╪═════════════════╪═════════════════╪═════╡
    │ 0.25 ┆ 0.75 ┆ 0.9             ┆ 0.4             ┆ 0.5 │
    └──────┴──────┴─────────────────┴─────────────────┴─────┘
    """
    axis, values = as_point(
        {"threshold": threshold, "fpr": fpr, "tpr": tpr, "alert_rate": alert_rate}
    )
    if interpolate and axis == "threshold":
        raise OptionValueError.of(
            "interpolate",
            interpolate,
            "between two scores nothing changes, so there is nothing to interpolate",
            "Give fpr=, tpr= or alert_rate= with it.",
        )

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        made = (*POINT_NAMES, *(MIX if interpolate else ()))
        table = curve_layout(schema, by, made)
        for name in made:
            if name in table.row:
                raise BrokenCurveError.of(
                    f"curves: the column {name!r} would stand in the result twice",
                    f"Rename it first, say .rename({{{name!r}: {name + '_metric'!r}}}).",
                )
        row = dict(table.row)
        if interpolate:
            row |= curve_columns(pl.Float64()) | MIX

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            whole = read_curves(frame, table)
            return (interpolated if interpolate else nearest)(whole, axis, values)

        return through_node(
            plan.select(table.inputs),
            find,
            schema={**table.keys, "at": pl.String(), "value": pl.Float64(), **row},
            by=table.by,
            anchor="value",
        )

    return like(curves, planned("curves", curves).pipe_with_schema(resolve))


def as_point(given: dict[str, Given]) -> tuple[Axis, list[float]]:
    """Return which of the four is given, and its values."""
    said = {name: value for name, value in given.items() if value is not None}
    first, *others = said or get_args(Axis)[:1]
    if not said or others:
        raise OptionValueError.of(
            first,
            said.get(first),
            f"{' and '.join(f'{name}=' for name in others)} is given too"
            if others
            else "nobody said where on the curve",
            f"Give one of {', '.join(get_args(Axis))}, such as fpr=[0.01, 0.05].",
        )
    ((name, value),) = said.items()
    values = as_numbers(value)
    if values is None:
        raise OptionValueError.of(
            name, value, "it is neither a number nor a list of numbers", f"Give {name}=0.5, say."
        )
    for one in values:
        if isnan(one) or (name != "threshold" and not 0 <= one <= 1):
            wrong = "NaN is no threshold" if name == "threshold" else f"{one:g} is no share"
            todo = "Leave it out." if isnan(one) else "Rates lie between 0 and 1: 5 % is 0.05."
            raise OptionValueError.of(name, value, wrong, todo)
    return name, values  # type: ignore[return-value]


def nearest(curves: Curves, axis: Axis, values: Sequence[float]) -> pl.DataFrame:
    """Return the row of each group at each value; nulls where there is none."""
    amount = _amounts(curves, axis)
    found = [row_at(curves, axis, amount, value) for value in values]
    rows = np.column_stack(found).ravel() if values else np.zeros(0, np.int64)
    asked = _asked(curves, axis, values)
    picked = curves.table.select(curves.layout.private(name) for name in curves.layout.row)
    places = pl.Series(np.maximum(rows, 0).astype(np.uint32)).set(pl.Series(rows < 0), None)
    return asked.with_columns(
        picked.get_column(curves.layout.private(name)).gather(places).alias(name)
        for name in curves.layout.row
    )


def interpolated(curves: Curves, axis: Axis, values: Sequence[float]) -> pl.DataFrame:
    """Return the point of each group at each value, between its neighbouring rows."""
    amount = _amounts(curves, axis)
    last = curves.starts[1:] - 1
    made: list[dict[str, NDArray[Any]]] = []
    for value in values:
        row = row_at(curves, axis, amount, value)
        # From the row above the point to the row below it.
        above = np.maximum(row - 1, curves.firsts) if axis == "tpr" else np.maximum(row, 0)
        below = np.minimum(np.maximum(row, 0) if axis == "tpr" else row + 1, last)
        rise = amount[below] - amount[above]
        with np.errstate(divide="ignore", invalid="ignore"):
            mix = np.where(rise > 0, (value - amount[above]) / rise, 0.0)
        mix = np.clip(mix, 0, 1)
        point = {
            name: curves.columns[name][above]
            + mix * (curves.columns[name][below] - curves.columns[name][above])
            for name in CONFUSION
        }
        point |= {
            "threshold_above": curves.columns[THRESHOLD][above],
            "threshold_below": curves.columns[THRESHOLD][below],
            "mix": mix,
        }
        made.append({name: np.where(row < 0, np.nan, part) for name, part in point.items()})
    names = (*CONFUSION, *MIX)
    columns = {
        name: np.column_stack([point[name] for point in made]).ravel() if made else np.zeros(0)
        for name in names
    }
    table = _asked(curves, axis, values).with_columns(
        pl.lit(None, curves.layout.row[THRESHOLD]).alias(THRESHOLD),
        *(pl.Series(name, columns[name], nan_to_null=True) for name in CONFUSION),
    )
    rest = [name for name in curves.layout.row if name not in table.columns]
    return table.with_columns(_again(curves, name, table) for name in rest).with_columns(
        pl.Series(name, columns[name], nan_to_null=True) for name in MIX
    )


def _asked(curves: Curves, axis: Axis, values: Sequence[float]) -> pl.DataFrame:
    """Return the key of each group beside each value asked for."""
    groups, asked = len(curves.firsts), len(values)
    keys = curves.keys
    places = pl.Series(np.repeat(np.arange(groups, dtype=np.uint32), asked))
    repeated = take_rows(keys, places)
    return repeated.with_columns(
        pl.Series("at", [axis] * len(places), pl.String),
        pl.Series("value", np.tile(np.asarray(values, np.float64), groups), pl.Float64),
    )


def _amounts(curves: Curves, axis: Axis) -> NDArray[np.float64]:
    """Return what the values are compared with; NaN where it is undefined."""
    threshold, tp, fp, fn, tn = (curves.columns[name] for name in CURVE_COLUMNS)
    if axis == "threshold":
        return threshold
    part, whole = {
        "fpr": (fp, fp + tn),
        "tpr": (tp, tp + fn),
        "alert_rate": (tp + fp, tp + fp + fn + tn),
    }[axis]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: NDArray[np.float64] = part / whole
    return rate


def row_at(
    curves: Curves, axis: Axis, amount: NDArray[np.float64], value: float
) -> NDArray[np.int64]:
    """Return the row of each group at this value, -1 where there is none.

    Thresholds fall and rates rise along a group, so the rows on one side of a value are the
    first ones.
    """
    if axis == "threshold":
        before = amount >= value
    elif axis == "tpr":
        before = amount < value
    else:
        before = amount <= value
    counts = np.zeros(len(curves.firsts), np.int64)
    if len(counts):
        counts = np.add.reduceat(before.astype(np.int64), curves.firsts)
    undefined = np.isnan(amount[curves.firsts])
    if axis == "tpr":  # the first row that reaches it
        none = counts == np.diff(curves.starts)
        return np.where(undefined | none, -1, curves.firsts + counts)
    return np.where(undefined | (counts == 0), -1, curves.firsts + counts - 1)


def _again(curves: Curves, name: str, points: pl.DataFrame) -> pl.Series:
    """Return a column at the new points: worked out again where its name says how.

    A column that its own rows do not confirm (another prevalence, another beta, a metric of the
    caller's) is null: its formula is not in the table.
    """
    dtype = curves.layout.row[name]
    nothing = pl.Series(name, [None], dtype).new_from_index(0, points.height)
    rate = NAMES.get(name)
    if rate is None or rate.name in {"expected_cost", "net_benefit"}:
        return nothing
    private = curves.layout.private
    rows = curves.table.select(pl.col(private(part)).alias(part) for part in CONFUSION)
    given = curves.table.get_column(private(name)).cast(pl.Float64)
    if not rows.select(rate.expr().alias(name)).to_series().equals(given.alias(name)):
        return nothing
    return points.select(rate.expr().alias(name)).to_series().cast(dtype)
