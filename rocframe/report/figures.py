"""Tables → the charts of a page, each with what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.charts.chart import chart
from rocframe.charts.drawings import DRAWINGS
from rocframe.charts.names import legible, spelled
from rocframe.curves.mean import mean_of
from rocframe.frames import column
from rocframe.report.drawn import MOST_PANELS
from rocframe.report.paint import alike, painted
from rocframe.report.spec import said_of, spec_of
from rocframe.report.words import keys_of
from rocframe.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from rocframe.curves.kinds import KindName
    from rocframe.curves.mean import Mean
    from rocframe.report.drawn import Drawn

CAPTIONS = {
    "roc": "Up and left is better. The dashed diagonal is what chance gives.",
    "precision_recall": "Up and right is better. The dashed line is what chance gives: the share "
    "of positives.",
    "det": "Down and left is better. Both axes are stretched to normal deviates.",
    "gain": "The share of positives found by the highest-scored share of all rows.",
    "lift": "How many times as many positives as chance finds among the highest-scored rows.",
    "lift_chart": "How many positives the highest-scored share of all rows holds.",
}
SPREAD = "Bold lines are means, in the bands of their limits where they stand alone; thin ones are "
SPREAD += "the curves that they are of."


def caption_of(kind: KindName, *, averaged: bool) -> str:
    """Say how to read the charts of a kind."""
    return f"{CAPTIONS[kind]} {SPREAD}" if averaged else CAPTIONS[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart as a specification, and what it is called where there are many."""

    spec: Mapping[str, Any]
    name: str | None

    @property
    def alternative(self) -> str:
        """What those are told who do not see it."""
        said = said_of(self.spec)
        return f"{self.name}. {said}" if self.name else said


def curve_figures(
    curves: pl.DataFrame, mean: pl.DataFrame | None, kind: KindName, drawn: Drawn
) -> list[Figure]:
    """Draw the curves of a kind: a figure for each panel, or for each mean and what it is of."""
    figures: list[Figure] = []
    for name, groups in drawn.groups:
        if not groups.height:
            continue
        if mean is None:
            lines = chart(of_groups(curves, groups), kind=kind, color=drawn.color)
            figures.append(_figure(lines, name, drawn))
        elif groups.height > 1:
            thin = chart(_thin(of_groups(mean, groups)), color=drawn.color)
            figures.append(_figure(thin, name, drawn))
        if mean is not None and (groups.height == 1 or drawn.panel is None):
            figures += _spread(curves, mean, kind, drawn, groups)
    # A page without a single curve has its axes all the same.
    return figures or [_figure(chart(curves.clear(), kind=kind, color=None), None, drawn)]


def _spread(
    curves: pl.DataFrame, mean: pl.DataFrame, kind: KindName, drawn: Drawn, groups: pl.DataFrame
) -> Iterator[Figure]:
    """Draw each mean in the band of its limits, before the curves that it is of."""
    keys = keys_of(groups)
    texts = [spelled(groups.get_column(key)) for key in keys]
    for place, group in enumerate(groups.head(MOST_PANELS).iter_slices(1)):
        lines = _spec(
            chart(
                of_groups(curves, group),
                kind=kind,
                color=drawn.color,
                detail=[str(drawn.averaged)],
            )
        )
        bold = _spec(chart(of_groups(mean, group), color=drawn.color))
        named = zip(keys, texts, strict=True)
        name = ", ".join(f"{legible(key)} = {text[place]}" for key, text in named)
        yield _colored(_over(lines, bold), name or None, drawn)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Lay one chart on another, which keeps its title: Altair takes longer than all else here."""
    data = below.pop("datasets", {}) | above.pop("datasets", {})
    layer = {part: above[part] for part in ("data", "transform", "layer")}
    return {**below, "layer": [*below["layer"], layer], "datasets": data}


def of_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of some groups, which may have fewer keys than the table."""
    on = [column(key) for key in keys_of(groups)]
    if not on:
        return table
    return table.join(groups.select(on), on=on, how="semi", nulls_equal=True, maintain_order="left")


def _thin(mean: pl.DataFrame) -> pl.DataFrame:
    """Take the limits away: bands that lie on each other say nothing."""
    kind = cast("Mean", mean_of(mean.columns))
    ends = [f"{axis}_{end}" for axis in kind.averaged for end in ("lower", "upper")]
    return mean.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ends)


def _figure(picture: alt.TopLevelMixin, name: str | None, drawn: Drawn) -> Figure:
    return _colored(_spec(picture), name, drawn)


def _spec(picture: alt.TopLevelMixin) -> dict[str, Any]:
    return spec_of(picture, ours=True)


def _colored(spec: Mapping[str, Any], name: str | None, drawn: Drawn) -> Figure:
    spec = alike(painted(spec), drawn.colors)
    _share_legend(spec, [])
    return Figure(spec=spec, name=name)


def _share_legend(spec: dict[str, Any], first: list[str]) -> None:
    """Give all layers the captions of the first: Vega-Lite has but one legend for them."""
    color = spec.get("encoding", {}).get("color", {})
    if "labelExpr" in (color.get("legend") or {}):
        first.append(color["legend"]["labelExpr"])
        color["legend"]["labelExpr"] = first[0]
    for layer in spec.get("layer", []):
        _share_legend(layer, first)


def table_figure(table: pl.DataFrame) -> Figure | None:
    """Draw a table that is no curve, where there is a drawing for it."""
    if table.is_empty() or table_of(table.columns).name not in DRAWINGS:
        return None
    return Figure(spec=painted(spec_of(chart(table), ours=True)), name=None)
