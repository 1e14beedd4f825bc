"""Checks and conversions of options, which raise one form of error."""

from __future__ import annotations

from enum import Enum
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Final, Literal

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


class NotGiven(Enum):
    """Type of `NOT_GIVEN`."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "<not given>"


# Default of optional arguments for which None has a meaning of its own.
NOT_GIVEN: Final = NotGiven.NOT_GIVEN
MAX_INTEGER = 2**53  # up to here Float64 represents every integer


def check_choice(argument: str, value: object, choices: Iterable[str | None]) -> None:
    """Check that an option is one of a closed set of values."""
    allowed = list(choices)
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise UnknownOptionError.compose(argument, value, allowed)


def check_flag(argument: str, value: object) -> None:
    """Check that an option is True or False."""
    if not isinstance(value, bool):
        hint = f"Use {argument}=True, or leave it out."
        raise OptionValueError.compose(argument, value, "expected True or False", hint)


def to_float(value: object) -> float | None:
    """Return a scalar number of Python or numpy as a float; None for other values."""
    if isinstance(value, str | bytes | pl.Series | pl.Expr) or getattr(value, "ndim", None):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def to_floats(value: object) -> list[float] | None:
    """Return a number or an iterable of numbers as a list; None for other values."""
    single = to_float(value)
    if single is not None:
        return [single]
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return None
    numbers = [to_float(item) for item in value]
    return None if None in numbers else numbers  # type: ignore[return-value]


def parse_number(
    argument: str,
    value: object,
    *,
    low: float = -inf,
    high: float = inf,
    closed: Literal["none", "left", "both"] = "none",
    example: object = None,
    hint: str = "",
) -> float:
    """Return a finite number between `low` and `high`; `closed` says which limits are allowed.

    The error shows `example` as a value to give, unless there is a `hint`.
    """
    number = to_float(value)
    above = number is not None and (number >= low if closed != "none" else number > low)
    below = number is not None and (number <= high if closed == "both" else number < high)
    if number is None or not (above and below and isfinite(number)):
        limits = []
        if low > -inf:
            limits.append(f"{'above' if closed == 'none' else 'of at least'} {low:g}")
        if high < inf:
            limits.append(f"{'of at most' if closed == 'both' else 'below'} {high:g}")
        finite = "" if -inf < low and high < inf else "finite "
        problem = " ".join([f"expected a {finite}number", " and ".join(limits)]).rstrip()
        raise OptionValueError.compose(
            argument, value, problem, hint or f"Use, for example, {argument}={example}."
        )
    return number


def parse_fraction(argument: str, value: object, *, example: object) -> float:
    """Return a number between 0 and 1, exclusive."""
    return parse_number(argument, value, low=0, high=1, example=example)


def parse_integer(
    argument: str,
    value: object,
    *,
    low: int = 1,
    high: int = MAX_INTEGER,
    example: int = 1000,
    hint: str = "",
) -> int:
    """Return an integer from `low` to `high`."""
    number = to_float(value)
    if number is None or isinstance(value, bool) or not low <= number <= high or number % 1:
        limits = f"of at least {low}" if high == MAX_INTEGER else f"from {low} to {high}"
        problem = f"expected an integer {limits}"
        raise OptionValueError.compose(
            argument, value, problem, hint or f"Use, for example, {argument}={example}."
        )
    return int(number)


def parse_numbers(
    argument: str,
    value: object,
    *,
    bounds: tuple[float, float] | None = None,
    single: bool = True,
    example: str,
) -> list[float]:
    """Return a list of numbers without NaN, or one number as a list unless `single` is false.

    With `bounds`, all numbers must be in this closed range.
    """
    numbers = to_floats(value) if single or to_float(value) is None else None
    if numbers is None:
        problem = f"expected {'a number or ' if single else ''}a list of numbers"
        raise OptionValueError.compose(
            argument, value, problem, f"Use, for example, {argument}={example}."
        )
    for number in numbers:
        if isnan(number):
            raise OptionValueError.compose(
                argument, value, "one of the values is NaN", "Remove it."
            )
        if bounds is not None and not bounds[0] <= number <= bounds[1]:
            problem = f"{number:g} is outside the range from {bounds[0]:g} to {bounds[1]:g}"
            raise OptionValueError.compose(
                argument, value, problem, "Use values within this range."
            )
    return numbers


MAX_GRID_POINTS = 10**7


def parse_grid(
    grid: object, *, keyword: str, bounds: tuple[float, float] | None = (0, 1)
) -> int | str | list[float]:
    """Return a number of grid points, the grid values in rising order, or the keyword."""
    if isinstance(grid, str):
        check_choice("grid", grid, (keyword,))
        return grid
    points = to_float(grid)
    if points is not None and not isinstance(grid, bool | float) and points % 1 == 0:
        return parse_integer("grid", grid, low=2, high=MAX_GRID_POINTS, example=101)
    if points is not None or not to_floats(grid):
        problem = f'expected a number of points, a list of values or "{keyword}"'
        hint = "Use, for example, grid=101 or grid=[0.01, 0.1]."
        raise OptionValueError.compose("grid", grid, problem, hint)
    values = parse_numbers("grid", grid, bounds=bounds, example="[0.01, 0.1]")
    return sorted({value + 0.0 for value in values})


def parse_names(by: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the group columns that `by` names: none, one, or several."""
    if by is None:
        return ()
    values: list[object] = [by] if isinstance(by, str) or not hasattr(by, "__iter__") else [*by]
    names = []
    for name in values:
        if not isinstance(name, str):
            raise OptionValueError.compose(
                "by",
                name,
                "expected the names of group columns",
                'Use, for example, by=["model", "fold"]; compute other keys with .with_columns().',
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
            raise MissingColumnError.compose(argument, name, names)
        if by.count(name) > 1:
            raise RepeatedNameError.compose(argument, name, by)
        if name in table:
            raise ReservedColumnError.compose(name, table, argument)


def group_dtypes(by: Sequence[str], schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return the dtypes of the group columns, which must have an order."""
    for name in by:
        if schema[name] == pl.Object:
            hint = "Groups are sorted by their keys, and these have no order: cast them first."
            raise ColumnTypeError.compose("by", name, schema[name], hint)
    return {name: schema[name] for name in by}
