"""Tables of averaged curves → the area under each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.curves.mean import SIDE
from rocframe.frames import column
from rocframe.vocabulary import check_groups, keys_schema

if TYPE_CHECKING:
    from rocframe.curves.mean import Mean

ROC_AREAS = ("roc", "det")


def area_of_mean(plan: pl.LazyFrame, schema: pl.Schema, mean: Mean) -> pl.LazyFrame:
    """Measure the area under each averaged curve, straight lines between its rows.

    It is null where the rows do not reach from one end of the axis to the other, have no mean, or
    are means of more curves here than there.
    """
    name = "auc_of_mean" if mean.kind.name in ROC_AREAS else "area_of_mean"
    check_groups(mean.by, schema, (name,))
    keys_schema(mean.by, schema)
    x, y = pl.col(mean.kind.x), pl.col(mean.kind.y)
    up = 1 - y if mean.kind.y == "fnr" else y
    along, high = (y, 1 - x) if mean.fixed == "y" else (x, up)
    width, sides = along.diff(), (high + high.shift()) / 2
    whole = (
        (along.first() == 0)
        & (along.last() == 1)
        & along.is_not_null().all()
        & high.is_not_null().all()
        & (pl.col("n_curves").n_unique() == 1)
    )
    area = pl.when(whole).then((width * sides).sum()).otherwise(None).alias(name)
    order = [pl.col("threshold_mean")] if mean.fixed is None else [along]
    order += [pl.col(SIDE)] if mean.sides else []
    keys = [column(key) for key in mean.by]
    rows = plan.sort(
        *keys, *order, descending=[*[False] * len(keys), mean.fixed is None, *[False] * mean.sides]
    )
    if not keys:
        return rows.select(area)
    return rows.group_by(keys, maintain_order=True).agg(area)
