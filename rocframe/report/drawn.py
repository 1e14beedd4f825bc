"""Many curves → those that a chart can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import column
from rocframe.report.words import counted, keys_of
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

# More colors than that are not told apart, and more lines hide each other.
MOST_COLORS = 12
MOST_CURVES = 60


def drawn_groups(areas: pl.DataFrame) -> pl.DataFrame:
    """Choose the groups whose curves are drawn: all, or those with the most rows.

    What has a color of its own, such as a model, is drawn with all its curves, such as its folds,
    as far as there is room.
    """
    keys = keys_of(areas)
    if not keys:
        return areas
    groups = areas.select(
        pl.int_range(pl.len()).alias("place"),
        column(colored(keys)).rank("dense").fill_null(0).alias("color"),
        (pl.col("n_pos") + pl.col("n_neg")).alias("rows"),
        pl.col("auc").is_not_null().alias("known"),
    ).filter("known")
    if groups.height <= MOST_CURVES and groups.get_column("color").n_unique() <= MOST_COLORS:
        return areas
    largest = (
        groups.group_by("color")
        .agg(pl.col("rows").sum().alias("whole"))
        .sort("whole", "color", descending=[True, False])
        .head(MOST_COLORS)
    )
    chosen = (
        groups.join(largest, on="color")
        .sort("whole", "color", "rows", "place", descending=[True, False, True, False])
        .head(MOST_CURVES)
    )
    return areas[chosen.get_column("place").sort()]


def of_groups(curves: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the curves of some groups."""
    keys = keys_of(groups)
    if not keys:
        return curves
    on = [column(key) for key in keys]
    return curves.join(groups.select(on), on=on, how="semi", nulls_equal=True)


def told(areas: pl.DataFrame, drawn: int, file: str | None) -> str:
    """Say how many curves are drawn, where that is not all of them."""
    if drawn == areas.height:
        return ""
    said = f"{counted(drawn, 'curve')} of {areas.height:,} are drawn: those with the most rows."
    return f"{said} {file} has them all." if file else said


def colored(keys: Sequence[str]) -> str:
    """Return the group column that a chart gives colors to."""
    return MODEL if MODEL in keys else keys[0]
