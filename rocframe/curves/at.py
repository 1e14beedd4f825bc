"""The verb `at`: curve tables → the operating points at given thresholds or rates."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import polars as pl

from rocframe.curves.table import layout, opened
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.frames import like, planned, through_node
from rocframe.options import as_numbers
from rocframe.vocabulary import MIX, POINT, as_instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.frames import FrameT
    from rocframe.predictions import By

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
    curves
        A curve table, as `curve` makes it: its group columns, `threshold`, `tp, fp, fn, tn` and
        whatever stands right of them. Groups are whole; rows may be in any order.
    threshold
        What predicting `score >= threshold` does: the row with the smallest threshold that is at
        least this one.
    fpr
        The lowest threshold whose false positive rate does not exceed this.
    tpr
        The highest threshold whose true positive rate reaches this.
    alert_rate
        The lowest threshold that calls no larger a share of all rows positive than this.
    interpolate
        Return the point that lies exactly at the rate: linear in `tp` and `fp` between the two
        rows around it, which is what answering with either of two thresholds by lot does.
    by
        Group columns, where they are not just the columns left of `threshold`.

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
        made = (*POINT, *(MIX if interpolate else ()))
        table = layout(schema, by, made)
        for name in made:
            if name in table.row:
                raise BrokenCurveError.of(
                    f"curves: the column {name!r} would stand in the result twice",
                    f"Rename it first, say .rename({{{name!r}: {name + '_metric'!r}}}).",
                )
        row = dict(table.row)
        if interpolate:
            row |= dict.fromkeys(("tp", "fp", "fn", "tn"), pl.Float64()) | {
                name: as_instance(dtype) for name, dtype in MIX.items()
            }

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            from rocframe.curves.points import interpolated, nearest

            whole = opened(frame, table)
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
