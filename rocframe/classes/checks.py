"""Checks of values in the plan itself: expressions that hand on what they are given, or raise.

They look at rows as they pass, so that a plan streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.cases import as_floats
from rocframe.errors import LabelError, OptionValueError, PairingError
from rocframe.quoting import counted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def known_labels(
    label: pl.Expr,
    dtype: pl.DataType,
    classes: pl.Series,
    error: Callable[[list[object]], LabelError],
) -> pl.Expr:
    """Raise where a label is none of the classes; null is no label."""
    known = set(classes.to_list())

    def check(values: pl.Series) -> None:
        strange = [value for value in values.drop_nulls().unique().to_list() if value not in known]
        if strange:
            raise error(sorted(strange))

    plain = label.fill_nan(None) if dtype.is_float() else label
    return _passing(plain, check, dtype)


def labels_with_rows(label: pl.Expr, dtype: pl.DataType, name: str, of: pl.Expr) -> pl.Expr:
    """Raise where a label is a class that no row is a score of; null is no label."""
    plain = label.fill_nan(None) if dtype.is_float() else label

    def run(rows: pl.Series) -> pl.Series:
        labels, classes = rows.struct.unnest()
        known = set(classes.unique().to_list())
        strange = [value for value in labels.drop_nulls().unique().to_list() if value not in known]
        if strange:
            classes = classes.drop_nulls().unique().sort()
            raise LabelError.without_row(name, sorted(strange), classes.to_list())
        return labels

    both = pl.struct(plain.alias("label"), of.alias("of"))
    return both.map_batches(run, return_dtype=dtype)


def few_classes(of: pl.Expr, check: Callable[[int], None]) -> pl.Expr:
    """Return true for each row, once the number of classes has been looked at."""

    def run(values: pl.Series) -> pl.Series:
        check(values.drop_nulls().n_unique())
        return pl.Series([True]).new_from_index(0, len(values))

    return of.map_batches(run, return_dtype=pl.Boolean)


def exact_floats(score: pl.Expr, dtype: pl.DataType, name: str, kind: pl.DataType) -> pl.Expr:
    """Return scores as floats; raise where one would change."""
    if dtype.is_float() or dtype == pl.Boolean:
        return score.cast(kind)

    def run(values: pl.Series) -> pl.Series:
        return as_floats(values, name).cast(kind)

    return score.map_batches(run, return_dtype=kind, is_elementwise=True)


def binary_labels(label: pl.Expr, dtype: pl.DataType, name: str) -> pl.Expr:
    """Return the labels of one class as Booleans; raise where numbers are neither 0 nor 1."""
    if dtype == pl.Boolean:
        return label

    def check(values: pl.Series) -> None:
        strange = values.filter((values != 0) & (values != 1))
        if len(strange):
            raise LabelError.not_binary(name, strange[0])

    plain = label.fill_nan(None) if dtype.is_float() else label
    return _passing(plain, check, dtype) == 1


def whole_lists(
    lists: pl.Expr, dtype: pl.DataType, name: str, ids: Sequence[pl.Expr], size: int
) -> pl.Expr:
    """Raise where a row has no list, or one that is not as long as there are classes."""

    def run(rows: pl.Series) -> pl.Series:
        held = rows.struct.unnest().to_series(-1)
        wrong = (held.list.len() != size).fill_null(True)
        if wrong.any():
            row = rows.filter(wrong)[0]
            _, value = row.popitem()
            place = ", ".join(f"{key}={one!r}" for key, one in row.items())
            raise OptionValueError.of(
                "scores",
                name,
                # Other rows pass elsewhere at the same time: how many are wrong, nobody knows.
                f"there are {size} classes, and a row with another number of scores",
                f"That row{place and f', where {place},'} has {shown(value)}.\n"
                "Mend such rows, or leave them out with .filter().",
            )
        return held

    packed = pl.struct(*ids, lists)
    return packed.map_batches(run, return_dtype=dtype, is_elementwise=True)


def once(names: Sequence[pl.Expr], value: object) -> pl.Expr:
    """Return true for each row; raise where an instance has several rows of one class."""

    def check(several: pl.Series) -> None:
        if several.any():
            raise PairingError.of(
                "id",
                value,
                f"{counted(int(several.sum()))} have the same id and class as another",
                'Name all columns that tell instances apart, say id=["model", "id"].',
            )

    return ~_passing(pl.struct(*names).is_duplicated(), check, pl.Boolean(), each=False)


def _passing(
    expr: pl.Expr, check: Callable[[pl.Series], None], dtype: pl.DataType, *, each: bool = True
) -> pl.Expr:
    def run(values: pl.Series) -> pl.Series:
        check(values)
        return values

    return expr.map_batches(run, return_dtype=dtype, is_elementwise=each)
