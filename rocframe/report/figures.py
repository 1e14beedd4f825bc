"""Tables → the charts of a page, each with what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.charts.chart import chart
from rocframe.charts.drawings import DRAWINGS
from rocframe.charts.names import legible, spelled
from rocframe.frames import column
from rocframe.report.drawn import MOST_CURVES, colored, drawn_groups, of_groups
from rocframe.report.paint import alike, painted
from rocframe.report.spec import said_of, spec_of
from rocframe.report.words import keys_of
from rocframe.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from rocframe.curves.kinds import KindName

MOST_PANELS = 12
CAPTIONS = {
    "roc": "Up and left is better. The dashed diagonal is what chance gives.",
    "precision_recall": "Up and right is better. The dashed line is what chance gives: the share "
    "of positives.",
    "det": "Down and left is better. Both axes are stretched to normal deviates.",
    "gain": "The share of positives found by the highest-scored share of all rows.",
    "lift": "How many times as many positives as chance finds among the highest-scored rows.",
    "lift_chart": "How many positives the highest-scored share of all rows holds.",
}
SPREAD = "Thin lines are the curves; the bold one is their mean, in the band of its limits."
MEANS = "Each line is the mean of several curves, in the band of its limits."


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart as a specification, what it is called where there are many, and words for it."""

    spec: Mapping[str, Any]
    name: str | None
    caption: str

    @property
    def alternative(self) -> str:
        """What those are told who do not see it."""
        said = said_of(self.spec)
        return f"{self.name}. {said}" if self.name else said


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The curves of a page that are drawn: which groups, in which panels, in which colors."""

    areas: pl.DataFrame
    averaged: str | None
    color: str | None
    panel: str | None
    groups: tuple[tuple[str | None, pl.DataFrame], ...]

    @classmethod
    def of(cls, areas: pl.DataFrame, averaged: str | None) -> Drawn:
        """Choose them: a panel for each value of the second key, as far as there is room."""
        keys = [name for name in keys_of(areas) if name != averaged]
        color = colored(keys) if keys else None
        rest = [name for name in keys if name != color]
        panel = rest[0] if rest else None
        if panel is None:
            return cls(
                areas=areas, averaged=averaged, color=color, panel=None,
                groups=((None, drawn_groups(areas)),),
            )  # fmt: skip
        largest = (
            areas.filter(pl.col("auc").is_not_null())
            .group_by(column(panel).alias("panel"))
            .agg((pl.col("n_pos") + pl.col("n_neg")).sum().alias("rows"))
            .sort("rows", "panel", descending=[True, False])
            .head(MOST_PANELS)
            .get_column("panel")
            .sort()
        )
        names = [f"{legible(panel)} = {value}" for value in spelled(largest)]
        parts = (_having(areas, panel, value) for value in largest.to_frame().iter_slices(1))
        return cls(
            areas=areas, averaged=averaged, color=color, panel=panel,
            groups=tuple(zip(names, map(drawn_groups, parts), strict=True)),
        )  # fmt: skip

    @property
    def height(self) -> int:
        """How many curves are drawn."""
        return sum(part.height for _, part in self.groups)

    @property
    def colors(self) -> list[str]:
        """The values that have a color, in all panels the same one."""
        if self.color is None:
            return []
        drawn = pl.concat([part for _, part in self.groups])
        return spelled(drawn.get_column(self.color).unique().sort())


def _having(areas: pl.DataFrame, panel: str, value: pl.DataFrame) -> pl.DataFrame:
    other = value.rename({"panel": panel})
    return areas.join(
        other, on=[column(panel)], how="semi", nulls_equal=True, maintain_order="left"
    )


def curve_figures(
    curves: pl.DataFrame, mean: pl.DataFrame | None, kind: KindName, drawn: Drawn
) -> list[Figure]:
    """Draw the curves of a kind: a figure for each panel, or for each mean and what it is of."""
    figures = []
    for name, areas in drawn.groups:
        if not areas.height:
            continue
        if mean is None:
            figures.append(
                _figure(_lines(of_groups(curves, areas), kind, drawn), name, kind, drawn)
            )
        else:
            figures += _averaged(curves, mean, kind, drawn, name=name, areas=areas)
    if not figures:  # a page without a single curve has its axes all the same
        figures.append(_figure(chart(curves.clear(), kind=kind, color=None), None, kind, drawn))
    return figures


def _lines(curves: pl.DataFrame, kind: KindName, drawn: Drawn) -> alt.LayerChart:
    return cast("alt.LayerChart", chart(curves, kind=kind, color=drawn.color))


def _averaged(
    curves: pl.DataFrame,
    mean: pl.DataFrame,
    kind: KindName,
    drawn: Drawn,
    *,
    name: str | None,
    areas: pl.DataFrame,
) -> Iterator[Figure]:
    """Draw all means in one figure, and each in one more, before the curves that it is of."""
    keys = [key for key in keys_of(areas) if key != drawn.averaged]
    means = areas.select(column(key) for key in keys).unique(maintain_order=True)
    on = [column(key) for key in keys]

    def of(table: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
        return table.join(part, on=on, how="semi", nulls_equal=True, maintain_order="left")

    if means.height > 1:
        whole = chart(of(mean, means), color=drawn.color)
        yield _figure(whole, name, kind, drawn, note=MEANS)
    values = [f"{legible(key)} = " for key in keys]
    words = [spelled(means.get_column(key)) for key in keys]
    room = max(0, MOST_CURVES // len(drawn.groups))
    for place, part in enumerate(means.head(min(MOST_PANELS, room)).iter_slices(1)):
        one = ", ".join(value + text[place] for value, text in zip(values, words, strict=True))
        thin = of(curves, part) if keys else curves
        bold = of(mean, part) if keys else mean
        lines = chart(thin, kind=kind, color=drawn.color, detail=[str(drawn.averaged)])
        both = cast("alt.LayerChart", lines) + cast(
            "alt.LayerChart", chart(bold, color=drawn.color)
        )
        yield _figure(
            both.properties(description=lines.description, title=lines.title),
            one or None,
            kind,
            drawn,
            note=SPREAD,
        )


def _figure(
    picture: alt.TopLevelMixin, name: str | None, kind: KindName, drawn: Drawn, note: str = ""
) -> Figure:
    spec = alike(painted(spec_of(picture, ours=True)), drawn.colors)
    caption = f"{CAPTIONS[kind]} {note}".strip()
    return Figure(spec=spec, name=name, caption=caption)


def table_figure(table: pl.DataFrame, caption: str) -> Figure | None:
    """Draw a table that is no curve, where there is a drawing for it."""
    if table.is_empty() or table_of(table.columns).name not in DRAWINGS:
        return None
    return Figure(spec=painted(spec_of(chart(table), ours=True)), name=None, caption=caption)
