"""Many curves → those that a chart can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.charts.names import legible, spelled
from rocframe.frames import column
from rocframe.report.words import counted, keys_of
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

# More colors than that are not told apart, and more lines hide each other.
MOST_COLORS = 12
MOST_CURVES = 60
MOST_PANELS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Which curves, or means of curves, a page draws: of so many, in which panels and colors."""

    averaged: str | None
    color: str | None
    panel: str | None
    whole: int
    groups: tuple[tuple[str | None, pl.DataFrame], ...]

    @classmethod
    def of(cls, areas: pl.DataFrame, averaged: str | None) -> Drawn:
        """Choose them: a panel for each value of the second key, as far as there is room."""
        units = areas if averaged is None else _merged(areas, averaged)
        keys = keys_of(units)
        color = colored(keys) if keys else None
        panel = next((name for name in keys if name != color), None)
        return cls(
            averaged=averaged,
            color=color,
            panel=panel,
            whole=units.height,
            groups=((None, drawn_groups(units)),) if panel is None else _panels(units, panel),
        )

    @property
    def height(self) -> int:
        """How many are drawn."""
        return sum(part.height for _, part in self.groups)

    @property
    def colors(self) -> list[str]:
        """The values that have a color, in all panels the same one."""
        if self.color is None or not self.groups:
            return []
        values = [part.get_column(self.color) for _, part in self.groups]
        return spelled(pl.concat(values).unique().sort())


def _merged(areas: pl.DataFrame, averaged: str) -> pl.DataFrame:
    """Return a row for each mean, as if it were a curve."""
    keys = [column(key) for key in keys_of(areas) if key != averaged]
    rows = [pl.col(name).sum() for name in ("n_pos", "n_neg")]
    merged = [pl.col("auc").max(), *rows]
    return areas.group_by(keys, maintain_order=True).agg(merged) if keys else areas.select(merged)


def _panels(units: pl.DataFrame, panel: str) -> tuple[tuple[str, pl.DataFrame], ...]:
    """Choose the values with the most rows, and of each the groups that there is room for."""
    rows = units.select(
        column(panel).alias("panel"),
        (pl.col("n_pos") + pl.col("n_neg")).alias("rows"),
        pl.col("auc").is_not_null().alias("known"),
    )
    largest = (
        rows.filter("known")
        .group_by("panel")
        .agg(pl.col("rows").sum())
        .sort("rows", "panel", descending=[True, False])
        .head(MOST_PANELS)
        .get_column("panel")
        .sort()
    )
    parts = (
        drawn_groups(units.filter(column(panel).eq_missing(pl.lit(value))))
        for value in (largest.slice(place, 1) for place in range(len(largest)))
    )
    names = (f"{legible(panel)} = {value}" for value in spelled(largest))
    return tuple(zip(names, parts, strict=True))


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


def told(drawn: Drawn, file: str | None) -> str:
    """Say how many curves are drawn, where that is not all of them."""
    if drawn.height == drawn.whole:
        return ""
    what = counted(drawn.height, "curve" if drawn.averaged is None else "mean")
    said = f"{what} of {drawn.whole:,} are drawn: those with the most rows."
    return f"{said} {file} has them all." if file else said


def colored(keys: Sequence[str]) -> str:
    """Return the group column that a chart gives colors to."""
    return MODEL if MODEL in keys else keys[0]
