"""The query plan of functions that compute a table from predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import lazy_plan, through_node
from rocframe.inputs.cases import read_cases
from rocframe.inputs.roles import bind_roles
from rocframe.schemas import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import BoundRoles, Roles


def plan_table(
    predictions: pl.DataFrame | pl.LazyFrame,
    roles: Roles,
    make: Callable[[Cases], pl.DataFrame],
    *,
    columns: Mapping[str, pl.DataType],
    more: Sequence[str] = (),
    anchor: str,
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    over: int = 0,
) -> pl.LazyFrame:
    """Return the plan of a table that `make` computes from the cases of each model.

    `make` returns the key columns of the cases, then `columns`, sorted by key. `more` are the names
    of columns that are added to the result later. `anchor` is the name of a column that is never
    null. `finish` transforms the complete table. Its groups may then depend on each other, so
    filters on group columns are not pushed down. The last `over` group columns are not in the
    result, because `make` combines their groups.
    """

    def run(frame: pl.DataFrame, bound: BoundRoles) -> pl.DataFrame:
        table = _compute_table(frame, bound, make, over)
        return table if finish is None else finish(table)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        bound = bind_roles(plan, schema, roles, (*columns, *more), over=over)
        by = bound.by[: len(bound.by) - over]
        over_keys = bound.by[len(by) :]
        keys = {name: dtype for name, dtype in bound.result_keys.items() if name not in over_keys}
        return through_node(
            plan.select(bound.inputs),
            lambda frame: run(frame, bound),
            schema={**keys, **columns},
            by=by if finish is None else (),
            anchor=anchor,
        )

    return lazy_plan("predictions", predictions).pipe_with_schema(resolve)


def _compute_table(
    frame: pl.DataFrame, bound: BoundRoles, make: Callable[[Cases], pl.DataFrame], over: int
) -> pl.DataFrame:
    """Return one table of all models, sorted by group and model."""
    names = {str(i): name for i, name in enumerate(bound.by[: len(bound.by) - over])}
    if bound.models is None:
        (cases,) = read_cases(frame, bound)
        return make(cases).rename(names)
    by_model = dict(zip(bound.models, map(make, read_cases(frame, bound)), strict=True))
    tables = [
        table.insert_column(len(names), pl.lit(model).alias(MODEL))
        for model, table in sorted(by_model.items())
    ]
    result = pl.concat(tables)
    if names:
        # A stable sort by group keeps the order of the models within each group.
        result = result.sort([*names], maintain_order=True)
    return result.rename(names)
