"""The verb `at`: curve tables → the operating points at given thresholds or rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import polars as pl

from rocframe.curves.table import layout, opened
from rocframe.errors import OptionValueError
from rocframe.frames import like, through_node
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
    """DOC"""
    axis, values = _asked(
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
        table = layout(schema, by, (*POINT, *(MIX if interpolate else ())))
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

    return like(curves, curves.lazy().pipe_with_schema(resolve))


def _asked(given: dict[str, Given]) -> tuple[Axis, list[float]]:
    """Return which of the four is given, and its values."""
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) != 1:
        raise OptionValueError.of(
            "at",
            sorted(said),
            f"{len(said)} of {', '.join(get_args(Axis))} are given",
            "Give exactly one of them, such as at(fpr=[0.01, 0.05]).",
        )
    ((name, value),) = said.items()
    try:
        values = [float(value)] if isinstance(value, int | float) else [float(v) for v in value]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise OptionValueError.of(
            name, value, "it is neither a number nor a list of numbers", f"Give {name}=0.5, say."
        ) from None
    low, high = (float("-inf"), float("inf")) if name == "threshold" else (0.0, 1.0)
    for one in values:
        if not low <= one <= high:
            raise OptionValueError.of(
                name, value, f"{one} is not between {low} and {high}", "Leave it out."
            )
    return name, values  # type: ignore[return-value]
