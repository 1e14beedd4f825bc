"""The verb `area`: curve tables → the area under each curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.curves.kinds import kind_of
from rocframe.curves.table import layout, opened
from rocframe.frames import like, through_node

if TYPE_CHECKING:
    from rocframe.curves.kinds import KindName
    from rocframe.frames import FrameT
    from rocframe.predictions import By

PRECISION_RECALL = ("average_precision", "pr_auc")
COUNTED = "(rows)"  # no group is called so: it stands right of the keys, and is dropped again


def area(curves: FrameT, /, *, by: By = None, kind: KindName | None = None) -> FrameT:
    """DOC"""

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        layout(schema, by, ())  # the axes are looked for in a curve table only
        shape = kind_of(list(schema), kind)
        names = PRECISION_RECALL if shape.name == "precision_recall" else ("auc",)
        table = layout(schema, by, names)
        counted = table.private(COUNTED)

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            from rocframe.areas.under import auc_of, precision_recall_of

            whole = opened(frame, table)
            areas = (auc_of(whole),) if len(names) == 1 else precision_recall_of(whole)
            keys = whole.keys if table.by else pl.DataFrame(height=len(whole.firsts))
            return keys.with_columns(
                *(
                    pl.Series(name, values, nan_to_null=True)
                    for name, values in zip(names, areas, strict=True)
                ),
                pl.Series(counted, [True] * len(whole.firsts), pl.Boolean),
            )

        made = through_node(
            plan.select(table.inputs),
            find,
            schema={**table.keys, **dict.fromkeys(names, pl.Float64()), counted: pl.Boolean()},
            by=table.by,
            anchor=counted,
        )
        return made.drop(counted)

    return like(curves, curves.lazy().pipe_with_schema(resolve))
