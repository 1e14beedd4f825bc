"""Names of classes ↔ the type of the labels they are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.quoting import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.predictions import Column


def as_classes(
    argument: str, values: Sequence[Any], dtype: pl.DataType | None, label: str
) -> pl.Series:
    """Return the classes in the type of the labels, or in their own where they have no column."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    for value in plain:
        if plain.count(value) > 1:
            raise RepeatedNameError.of(argument, value, plain)
    try:
        found = pl.Series("class", plain, strict=True)
        typed = found if dtype is None else found.cast(dtype)
        back = typed.cast(found.dtype)
        fits = dtype is None or (comparable(found.dtype, dtype) and back.eq(found).all())
        fits = fits and not typed.null_count()
    except (pl.exceptions.PolarsError, OverflowError, TypeError):
        fits = False
    if fits and _family(typed.dtype) in {"text", "number", "Boolean"}:
        return typed
    if dtype is None:
        wrong, todo = "classes are text, numbers or Booleans, all alike", "Name them alike."
        raise OptionValueError.of(argument, plain, wrong, todo)
    of = f": {listed(dtype.categories)}" if isinstance(dtype, pl.Enum) else ""
    raise OptionValueError.of(
        argument,
        plain,
        f"labels of {label!r} have type {dtype}{of}, and cannot be all of these classes",
        "Name each class by its label, say scores={0: 'p0', 1: 'p1'} where labels are 0 and 1.",
    )


def labels_by_class(label: Mapping[Any, Column], values: Sequence[Any]) -> list[Column]:
    """Return the label column of each class, in the order of the classes."""
    missing = [value for value in values if value not in label]
    more = [value for value in label if value not in values]
    if missing or more:
        raise OptionValueError.of(
            "label",
            list(label),
            f"labels and scores are of other classes: {listed(missing or more)} has "
            f"{'no label' if missing else 'no score'}",
            "Give a label column and a score for each class.",
        )
    return [label[value] for value in values]


def comparable(one: pl.DataType, other: pl.DataType) -> bool:
    """Say whether values of the two types can be equal."""
    return _family(one) == _family(other)


def _family(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "number"
    text = dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical)
    return "text" if text else str(dtype)
