"""Predictions of several models → one table: the plan that all comparisons share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.comparisons.pairing import bind_pairs
from rocframe.frames import like, planned, through_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocframe.comparisons.pairing import BoundPairs, Pairing
    from rocframe.frames import FrameT
    from rocframe.predictions import Roles


def compared_by(
    predictions: FrameT,
    roles: Roles,
    pairing: Pairing,
    make: Callable[[pl.DataFrame, BoundPairs], pl.DataFrame],
    *,
    schema: Callable[[pl.DataType], dict[str, pl.DataType]],
    anchor: str,
    apart: bool,
) -> FrameT:
    """Plan the table that `make` makes, and return it in the kind of frame given.

    `schema` says its columns for models of some type, `apart` whether groups have nothing to do
    with each other. `anchor` names a column that is never null.
    """

    def resolve(plan: pl.LazyFrame, columns: pl.Schema) -> pl.LazyFrame:
        pairs = bind_pairs(plan, columns, roles, pairing, tuple(schema(pl.String())))
        by = pairs.bound.by
        names = dict(zip(map(str, range(len(by))), by, strict=True))
        return through_node(
            plan.select(pairs.inputs),
            lambda frame: make(frame, pairs).rename(names),
            schema={**pairs.bound.keys, **schema(pairs.model)},
            by=by if apart else (),
            anchor=anchor,
        )

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))
