"""What callers give as options → plain values, or one clear error."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import polars as pl

from rocframe.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
    ReservedColumnError,
    UnknownOptionError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def parse_names(by: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the group columns that `by` names: none, one, or several."""
    if by is None:
        return ()
    given: list[object] = [by] if isinstance(by, str) or not hasattr(by, "__iter__") else [*by]
    names = []
    for name in given:
        if not isinstance(name, str):
            raise OptionValueError.of(
                "by",
                name,
                "group columns are given by name",
                'Give names such as by=["model", "fold"]; other keys come from .with_columns().',
            )
        names.append(name)
    return tuple(names)


def check_group_columns(
    by: Sequence[str], available: Iterable[str], table: Sequence[str], argument: str = "by"
) -> None:
    """Check that group columns exist, are named once, and clash with no column of the result."""
    names = list(available)
    for name in by:
        if name not in names:
            raise MissingColumnError.of(argument, name, names)
        if by.count(name) > 1:
            raise RepeatedNameError.of(argument, name, by)
        if name in table:
            raise ReservedColumnError.of(name, table, argument)


def group_dtypes(by: Sequence[str], schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return the dtypes of the group columns, which must have an order."""
    for name in by:
        if schema[name] == pl.Object:
            todo = "Groups are sorted by their keys, and these have no order: cast them first."
            raise ColumnTypeError.of("by", name, schema[name], todo)
    return {name: schema[name] for name in by}


class NotGiven(Enum):
    """Type of `NOT_GIVEN`."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "<not given>"


# Default of optional arguments for which None has a meaning of its own.
NOT_GIVEN: Final = NotGiven.NOT_GIVEN

LARGEST = 2**53  # up to here every whole number is a float


def check_choice(argument: str, value: object, choices: Iterable[str | None]) -> None:
    """Check that an option is one of its closed set."""
    allowed = list(choices)
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise UnknownOptionError.of(argument, value, allowed)


def as_number(value: object) -> float | None:
    """Return a plain number, of numpy or not; None for what is none, such as text."""
    if isinstance(value, str | bytes | pl.Series | pl.Expr) or getattr(value, "ndim", None):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def as_numbers(value: object) -> list[float] | None:
    """Return one number or several as a list; None where one of them is none."""
    single = as_number(value)
    if single is not None:
        return [single]
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return None
    every = [as_number(one) for one in value]
    return None if None in every else every  # type: ignore[return-value]


def share(argument: str, value: object, wrong: str, todo: str) -> float:
    """Return a number between 0 and 1, both left out."""
    number = as_number(value)
    if number is None or not 0 < number < 1:
        raise OptionValueError.of(argument, value, wrong, todo)
    return number


def whole(
    argument: str, value: object, *, least: int = 1, most: int = LARGEST, say: int = 1000
) -> int:
    """Return a whole number within limits."""
    number = as_number(value)
    if number is None or isinstance(value, bool) or not least <= number <= most or number % 1:
        wrong = f"it is no whole number from {least}" + ("" if most == LARGEST else f" to {most}")
        raise OptionValueError.of(argument, value, wrong, f"Give, say, {argument}={say}.")
    return int(number)
