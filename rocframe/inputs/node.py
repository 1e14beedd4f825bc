"""The query plan of functions that compute a table from predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import lazy_plan, through_node
from rocframe.inputs.cases import read_cases
from rocframe.inputs.roles import bind_roles
from rocframe.schemas.columns import MODEL, cast_scores, with_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import BoundRoles, Roles


def plan_table(
    predictions: pl.DataFrame | pl.LazyFrame,
    roles: Roles,
    compute: Callable[[Cases], pl.DataFrame],
    *,
    columns: Mapping[str, pl.DataType],
    more: Sequence[str] = (),
    anchor: str,
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    over: int = 0,
    keep_over: int = 0,
    compare_over: bool = False,
) -> pl.LazyFrame:
    """Return the query plan that computes a table from predictions.

    `compute` returns the table of one model from its cases: the group columns, then `columns`.
    Columns of scores are then cast to the float dtype of the scores. The tables of all models are
    concatenated and sorted by group. `more` are the names of columns that the caller adds to the
    table later; group columns must not have these names. `anchor` is the
    name of a column that is never null. `compute` combines groups that differ only in the last
    `over` group columns. The first `keep_over` of these columns are in the result, the others are
    not. With `compare_over`, groups that differ only in the last `over` columns must have scores of
    the same resolution.

    `finish` is applied to the table of all models, and may combine values of several groups.
    Therefore, with `finish`, polars must not apply filters on group columns before the computation.
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        bound = bind_roles(plan, schema, roles, (*columns, *more), over=over)
        return plan_bound_table(
            plan.select(bound.inputs),
            bound,
            compute,
            columns=columns,
            anchor=anchor,
            finish=finish,
            over=over,
            keep_over=keep_over,
            compare_over=compare_over,
        )

    return lazy_plan("predictions", predictions).pipe_with_schema(resolve)


def plan_bound_table(
    rows: pl.LazyFrame,
    bound: BoundRoles,
    compute: Callable[[Cases], pl.DataFrame],
    *,
    columns: Mapping[str, pl.DataType],
    anchor: str,
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    over: int = 0,
    keep_over: int = 0,
    compare_over: bool = False,
) -> pl.LazyFrame:
    """Return the query plan of `plan_table` for rows that have the columns of `bound.inputs`."""
    by, last = bound.by[: len(bound.by) - over], bound.by[len(bound.by) - over :]
    over_in_result, over_left_out = last[:keep_over], last[keep_over:]
    keys = {name: dtype for name, dtype in bound.result_keys.items() if name not in over_left_out}
    schema = keys | with_scores(dict(columns), bound.scores)

    def complete_table(frame: pl.DataFrame) -> pl.DataFrame:
        compared = over if compare_over else 0
        table = _compute_table(frame, bound, compute, len(over_left_out), compared)
        return cast_scores(table if finish is None else finish(table), schema)

    return through_node(
        rows,
        complete_table,
        schema=schema,
        by=by if finish is None else (),
        anchor=anchor,
        compared=over_in_result,
    )


def _compute_table(
    frame: pl.DataFrame,
    bound: BoundRoles,
    compute: Callable[[Cases], pl.DataFrame],
    n_left_out: int,
    compared: int,
) -> pl.DataFrame:
    """Return the table of all models, sorted by group and model.

    The last `n_left_out` group columns are not in the table. Groups that differ only in the last
    `compared` group columns must have scores of the same resolution.
    """
    names = {str(i): name for i, name in enumerate(bound.by[: len(bound.by) - n_left_out])}
    if bound.models is None:
        (cases,) = read_cases(frame, bound, compared=compared)
        table = compute(cases)
        return table.rename(names) if names else table
    models = read_cases(frame, bound, compared=compared)
    by_model = dict(zip(bound.models, map(compute, models), strict=True))
    tables = [
        table.insert_column(len(names), pl.lit(model).alias(MODEL))
        for model, table in sorted(by_model.items())
    ]
    result = pl.concat(tables)
    if names:
        # The tables are concatenated in the order of models, which a stable sort preserves.
        result = result.sort([*names], maintain_order=True)
    return result.rename(names)
