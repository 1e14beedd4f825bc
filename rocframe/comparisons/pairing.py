"""Predictions of several models → which column says what belongs together.

Models stand side by side, in a column each, or one below the other, in rows that an id pairs up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rocframe.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    PairingError,
)
from rocframe.frames import column, private_names
from rocframe.options import check_choice
from rocframe.predictions import bind, resolved
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.predictions import Bound, Column, Roles

Unmatched = Literal["raise", "drop"]


WAYS = (
    "Models stand one below the other, and between= names the column that says which; or side by "
    'side, and score=["a", "b"] names their columns.'
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairing:
    """What the caller said about which rows belong together."""

    between: str
    id: Column | Sequence[Column] | None
    unmatched: Unmatched
    paired: bool
    least: int

    @classmethod
    def of(
        cls,
        roles: Roles,
        *,
        between: object,
        id: Column | Sequence[Column] | None,  # noqa: A002 - the word users have for it
        unmatched: Unmatched,
        paired: bool = True,
        least: int = 2,
    ) -> Pairing:
        """Check the options that pair rows."""
        check_choice("unmatched", unmatched, get_args(Unmatched))
        if not isinstance(between, str):
            wrong = "the column of models is given by name"
            todo = 'Say between="model"; other columns come from .with_columns().'
            raise OptionValueError.of("between", between, wrong, todo)
        if id is not None and roles.count is not None and roles.count is not ...:
            wrong = "id= needs to know each row, and these are many in one"
            todo = "Compare scores side by side, or say count=None with a row for each prediction."
            raise OptionValueError.of("count", roles.count, wrong, todo)
        if id is not None and not isinstance(id, str | pl.Expr) and hasattr(id, "__iter__"):
            id = list(id)  # noqa: A001
        return cls(between=between, id=id, unmatched=unmatched, paired=paired, least=least)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundPairs:
    """The same, once the columns are known."""

    bound: Bound
    pairing: Pairing
    model: pl.DataType
    between: str | None
    ids: tuple[str, ...]
    inputs: tuple[pl.Expr, ...]


def bind_pairs(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    pairing: Pairing,
    table: Sequence[str],
) -> BoundPairs:
    """Find the columns, and see whether models stand side by side or one below the other."""
    bound = bind(plan, schema, roles, table, keyed=False)
    between = pairing.between
    if bound.models is not None:
        if between != MODEL:
            wrong = "scores are given side by side, which makes the models themselves"
            raise OptionValueError.of("between", between, wrong, "Leave between= out.")
        if pairing.id is not None:
            wrong = "scores are given side by side, so rows are paired already"
            raise OptionValueError.of("id", pairing.id, wrong, "Leave id= out.")
        if len(bound.models) < pairing.least:
            raise OptionValueError.of(
                "score",
                bound.models[0],
                "one model cannot be compared",
                'Give several, say score=["a", "b"].',
            )
        return BoundPairs(
            bound=bound,
            pairing=pairing,
            model=pl.String(),
            between=None,
            ids=(),
            inputs=bound.inputs,
        )
    if between not in schema:
        error = MissingColumnError.of("between", between, schema)
        raise MissingColumnError(f"{error}\n{WAYS}")
    if between in bound.by:
        raise OptionValueError.of(
            "between",
            between,
            "it is a group column too, and models are compared within groups",
            f"Leave {between!r} out of by.",
        )
    ids = as_columns(pairing.id)
    if pairing.paired and not ids:
        raise PairingError.of(
            "id",
            pairing.id,
            "which rows of the models belong together is not said, and this method pairs them",
            'Name the column that says it, say id="id"; give the models side by side as '
            'score=["a", "b"]; or, if they scored different rows, compare them by '
            'method="delong_unpaired".',
        )
    private = private_names(["between", *(f"id {i}" for i in range(len(ids)))], bound.by)
    found = [("between", between, column(between), schema[between])]
    found += [("id", *resolved(plan, schema, "id", one)) for one in ids]
    for argument, name, _, dtype in found:
        if dtype == pl.Object:
            todo = "Rows are sorted by it: cast it first."
            raise ColumnTypeError.of(argument, name, dtype, todo)
    every = zip((expr for _, _, expr, _ in found), private.values(), strict=True)
    return BoundPairs(
        bound=bound,
        pairing=pairing,
        model=schema[between],
        between=private["between"],
        ids=tuple(private.values())[1:],
        inputs=(*bound.inputs, *(expr.alias(name) for expr, name in every)),
    )


def as_columns(given: Column | Sequence[Column] | None) -> list[Column]:
    """Read `id`: nothing, one column, or several."""
    if given is None:
        return []
    several = isinstance(given, Iterable) and not isinstance(given, str | pl.Expr)
    return [*given] if several else [given]  # type: ignore[misc, list-item]
