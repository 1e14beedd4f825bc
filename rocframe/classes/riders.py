"""The columns that ride along into long predictions: those kept, and those that name instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import polars.selectors as cs

from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.predictions import columns_made

if TYPE_CHECKING:
    from collections.abc import Iterable

ID = "id"
Keep: TypeAlias = str | Sequence[str] | pl.Expr | None


def read_riders(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    *,
    keep: Keep,
    id: str | Sequence[str] | None,  # noqa: A002 - it is called so in the table
    used: Iterable[str],
    table: Sequence[str],
) -> tuple[list[str], list[str] | None]:
    """Return the names of the columns kept, and of those that name instances, if given.

    `used` are the columns that labels and scores are made of, `table` those that will be made.
    """
    ids = None if id is None else _names(plan, schema, "id", id)
    taken = {*used, *(ids or ())}
    if keep is None:
        kept = [name for name in schema if name not in taken]
    else:
        kept = [name for name in _names(plan, schema, "keep", keep) if name not in (ids or ())]
    if ids is None and ID in kept:
        raise OptionValueError.of(
            "id",
            None,
            "the table gets a column 'id' that tells instances apart, and has one already",
            'Say id="id" if that column tells them apart, or keep=[…] without it if not.',
        )
    for argument, names in (("id", ids or []), ("keep", kept)):
        for name in names:
            if name in table:
                raise RepeatedNameError.rides(argument, name, table)
    return kept, ids


def _names(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, given: str | Sequence[str] | pl.Expr
) -> list[str]:
    if isinstance(given, pl.Expr):
        if not cs.is_selector(given):
            wrong = "columns ride along as they are"
            raise OptionValueError.of(argument, given, wrong, "Give names, or a selector.")
        return columns_made(plan, schema, argument, given).names()
    single = isinstance(given, str) or not hasattr(given, "__iter__")
    names: list[Any] = [given] if single else list(given)
    for name in names:
        if not isinstance(name, str):
            wrong = "columns are given by name"
            raise OptionValueError.of(argument, name, wrong, f'Say {argument}=["model", "fold"].')
        if name not in schema:
            raise MissingColumnError.of(argument, name, schema)
        if names.count(name) > 1:
            raise RepeatedNameError.of(argument, name, names)
    return names
