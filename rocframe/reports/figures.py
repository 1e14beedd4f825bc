"""Charts of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.charts.chart import chart
from rocframe.charts.dashboard.dashboard import dashboard
from rocframe.charts.dashboard.data import MOST
from rocframe.charts.labels import legible, spelled
from rocframe.frames import column
from rocframe.reports.colors import alike, painted
from rocframe.reports.export import said_of, spec_of
from rocframe.reports.report_tables import counted, joined, keys_of
from rocframe.schemas import MODEL, curve_average_of, table_of
from rocframe.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import altair as alt

    from rocframe.kinds import KindName
    from rocframe.schemas import CurveAverage


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
    kind = cast("CurveAverage", curve_average_of(mean.columns))
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
    if table.is_empty() or table_of(table.columns).type.drawing is None:
        return None
    return Figure(spec=painted(spec_of(chart(table), ours=True)), name=None)


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


NONE = "Nothing is shown: no group has both positives and negatives."


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The chart, where there is one, and sentences: which curves it shows, or why none."""

    figure: Figure | None
    said: str


def board_of(curves: pl.DataFrame, drawn: Drawn) -> Board:
    """Draw the curves of as many groups as there is room for.

    `curves` has one for each group that is drawn: where means are, all rows of each.
    """
    groups, which = _chosen(drawn)
    if not groups.height:
        return Board(figure=None, said=NONE)
    shown = of_groups(curves, groups)
    made = dashboard(shown, color=drawn.color, threshold=_start(shown))
    spec = alike(painted(spec_of(made, ours=True)), drawn.colors)
    # The page has a heading, and room for sentences.
    below = spec.pop("title").get("subtitle", [])
    said = [which, *(f"{line}." for line in below)]
    if drawn.averaged is not None:
        said.insert(0, f"All values of {visible(drawn.averaged)} are taken together.")
    return Board(figure=Figure(spec=spec, name=None), said=" ".join(filter(None, said)))


def _start(curves: pl.DataFrame) -> float | None:
    """Return one half where most scores are shares, whatever the others are."""
    scores = curves.get_column("threshold")
    return 0.5 if scores.is_between(0, 1).sum() > scores.is_finite().sum() / 2 else None


def _chosen(drawn: Drawn) -> tuple[pl.DataFrame, str]:
    """Choose whole panels, as long as there is room; of the first as many groups as there are."""
    parts = [
        (name, known)
        for name, part in drawn.groups
        if (known := part.filter(pl.col("auc").is_not_null())).height
    ]
    if not parts:
        return pl.DataFrame(), ""
    taken: list[tuple[str | None, pl.DataFrame]] = []
    room = MOST
    for name, part in parts:
        if part.height > room:
            break
        taken.append((name, part))
        room -= part.height
    whole = drawn.whole
    if not taken:
        name, part = parts[0]
        order = part.select(
            place=pl.int_range(pl.len()), rows=pl.col("n_pos") + pl.col("n_neg")
        ).sort("rows", "place", descending=[True, False])
        first = part[order.get_column("place").head(MOST).sort()]
        among = f" of {name}" if name else ""
        return first, f"{_shown(MOST, whole)}{among} with the most rows."
    groups = pl.concat([part for _, part in taken])
    if len(taken) == len(parts):
        if groups.height == whole:
            return groups, ""
        why = "the most rows" if drawn.height < whole else "an area"
        return groups, f"{_shown(groups.height, whole)} with {why}."
    names = joined([str(name) for name, _ in taken])
    return groups, f"{_shown(groups.height, whole)} of {names}."


def _shown(several: int, whole: int) -> str:
    are, those = ("is", "that") if several == 1 else ("are", "those")
    return f"{counted(several, 'curve')} of {whole:,} {are} shown: {those}"
