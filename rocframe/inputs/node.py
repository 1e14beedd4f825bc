"""The plan that every verb on predictions shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import lazy_plan, through_node
from rocframe.inputs.cases import read_cases
from rocframe.inputs.roles import bind
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
    """Plan the table that `make` makes of the cases of each model.

    `make` returns the key columns of the cases, then `columns`, sorted by key. `more` names
    columns that native steps will add. `anchor` names a column that is never null. `finish`
    changes the whole table, the groups of which then depend on each other: filters on group
    columns stay behind it. The last `over` of the group columns are none of the table: `make` puts
    their groups together.
    """

    def run(frame: pl.DataFrame, bound: BoundRoles) -> pl.DataFrame:
        table = _all_models(frame, bound, make, over)
        return table if finish is None else finish(table)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        bound = bind(plan, schema, roles, (*columns, *more), over=over)
        kept = bound.by[: len(bound.by) - over]
        gone = bound.by[len(kept) :]
        keys = {name: dtype for name, dtype in bound.keys_made.items() if name not in gone}
        return through_node(
            plan.select(bound.inputs),
            lambda frame: run(frame, bound),
            schema={**keys, **columns},
            by=kept if finish is None else (),
            anchor=anchor,
        )

    return lazy_plan("predictions", predictions).pipe_with_schema(resolve)


def _all_models(
    frame: pl.DataFrame, bound: BoundRoles, make: Callable[[Cases], pl.DataFrame], over: int
) -> pl.DataFrame:
    names = {str(i): name for i, name in enumerate(bound.by[: len(bound.by) - over])}
    if bound.models is None:
        (cases,) = read_cases(frame, bound)
        return make(cases).rename(names)
    made = dict(zip(bound.models, map(make, read_cases(frame, bound)), strict=True))
    tables = [
        table.insert_column(len(names), pl.lit(model).alias(MODEL))
        for model, table in sorted(made.items())
    ]
    whole = pl.concat(tables)
    if names:
        # The tables are sorted by key, and the models by name: a stable sort keeps both.
        whole = whole.sort([*names], maintain_order=True)
    return whole.rename(names)
